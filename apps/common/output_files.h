#pragma once

#include <initializer_list>
#include <string>
#include <vector>

/// Files that a command is to write.
namespace anabranch::apps {

/// A file on the command line; `file` is empty where none is given.
struct NamedFile {
  std::string name;  ///< of an output the option: "--out"; of an input what it is: "the matrix"
  std::string file;
};

/// Throws UsageError where an output is an input, or the same file as another output, whatever the names, or "-"; IoError
/// where a place cannot be written to, which is better known before the work than after it.
void check_outputs(const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& outputs);

/// ".npz" of "a/B.NPZ": in small letters; empty where there is none.
std::string extension_of(const std::string& file);

/// A file is written in one of these formats (".npz"), which its name's end says, in letters of either case: a name that promises
/// another is a slip, a UsageError. Where there is one format a name without an end passes. `what`: "y is written".
void check_extension(const char* option, const std::string& file, std::initializer_list<const char*> formats,
                     const char* what);

}  // namespace anabranch::apps
