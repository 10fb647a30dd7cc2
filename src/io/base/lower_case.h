#pragma once

#include <cctype>
#include <string>

namespace anabranch::io::detail {

/// Of ASCII letters: words of headers and ends of names may be written in either.
inline std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace anabranch::io::detail
