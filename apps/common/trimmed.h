#pragma once

#include <string_view>

namespace anabranch::apps {

/// Without the blanks, and what counts as such, at both ends.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view white = " \t\r\v\f";
  const std::size_t begin = text.find_first_not_of(white);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(white) - begin + 1);
}

}  // namespace anabranch::apps
