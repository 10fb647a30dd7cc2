#pragma once

#include <string>
#include <vector>

/// Files that a command is to write.
namespace anabranch::apps {

/// A file on the command line; `file` is empty where none is given.
struct NamedFile {
  std::string name;  ///< of an output the option: "--out"; of an input what it is: "the matrix"
  std::string file;
};

/// Throws UsageError where an output is an input, or the same file as another output, whatever the names; IoError where a
/// place cannot be written to, which is better known before the work than after it.
void check_outputs(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs);

/// Files are written in one format, whatever they are called: a name that promises another is a slip, a UsageError. A name
/// without an extension passes. `what`: "y is written as .npy".
void check_extension(const char* option, const std::string& file, const char* wanted, const char* what);

}  // namespace anabranch::apps
