#pragma once

#include <string>
#include <vector>

#include "command.h"

/// What the tests of `anabranch md5` are given, and what they expect.
namespace cli_test {

using Words = std::vector<std::string>;

inline std::string lines(const Words& words, const std::string& end = "\n") {
  std::string text;
  for (const std::string& word : words) text += word + end;
  return text;
}

/// What is found, as the command prints it, from a list of the words.
inline std::string found_lines(const Words& digests, const Words& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) text += digests[i] + "  " + words[i] + "\n";
  return text;
}

inline Outcome md5(const Words& arguments, const Start& start = {}) {
  Words all{"md5"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return command(all, start);
}

struct Files {
  TemporaryDirectory dir;
  std::string digests = dir / "digests", list = dir / "list";
  Files(const std::string& of_digests, const std::string& of_words) {
    io_test::write_file(digests, of_digests);
    io_test::write_file(list, of_words);
  }
  Outcome run(const Words& more = {}, const Start& start = {}) const {
    Words arguments{digests, list};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return md5(arguments, start);
  }
};

// RFC 1321, A.5, but for what is longer than 55 bytes.
inline const Words suite{"", "a", "abc", "message digest", "abcdefghijklmnopqrstuvwxyz"};
inline const Words suite_digests{"d41d8cd98f00b204e9800998ecf8427e", "0cc175b9c0f1b6a831c399e269772661",
                                 "900150983cd24fb0d6963f7d28e17f72", "f96b697d7cb7938d525a2f31aaf161d0",
                                 "c3fcd3d76192e4007dfb496cca67e13b"};

}  // namespace cli_test
