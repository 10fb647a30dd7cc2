#pragma once

#include <string>
#include <string_view>

namespace anabranch::io::detail {

/// Of what stands in a file, as shown in a message: short and printable.
inline std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) out += c < ' ' || c > '~' ? '?' : c;
  return out + (text.size() > 40 ? "..." : "");
}

/// The same, whole and in any script, without what terminals act on.
inline std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if ((c >= 0 && c < ' ') || c == '\x7f') c = '?';
  return out;
}

}  // namespace anabranch::io::detail
