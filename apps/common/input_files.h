#pragma once

#include <string>

/// Files that a command is to read, as they are given on the command line.
namespace anabranch::apps {

/// DataError where a file begins as one that is compressed does: its bytes would be taken for something else.
void refuse_compressed(const std::string& file);

/// The same of a file that is read at any position, and UsageError for "-"; an empty name is no file. `name`: "MATRIX".
void check_input(const char* name, const std::string& file);

}  // namespace anabranch::apps
