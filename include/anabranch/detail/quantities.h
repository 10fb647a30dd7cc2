#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

/// Counts and rates as people read them: in messages of the library, and of the command, which sees the public headers only.
namespace anabranch::detail {

/// "nodes", "entries".
inline std::string plural(std::string_view noun) {
  const bool ies =
      noun.size() > 1 && noun.back() == 'y' && std::string_view("aeiou").find(noun[noun.size() - 2]) > 4;
  return ies ? std::string(noun.substr(0, noun.size() - 1)) + "ies" : std::string(noun) + "s";
}

/// "node" where there is one, else "nodes".
inline std::string noun_for(std::int64_t count, std::string_view noun) {
  return count == 1 ? std::string(noun) : plural(noun);
}

/// "1 node", "2 nodes", "0 entries".
inline std::string counted(std::int64_t count, std::string_view noun) {
  return std::to_string(count) + " " + noun_for(count, noun);
}

/// Three significant digits and the power of 1000 that they need: "12.3 k", "0.25 ", "1.5 G".
inline std::string with_prefix(double number) {
  constexpr std::array prefixes{"", "k", "M", "G", "T", "P", "E"};
  std::size_t prefix = 0;
  for (; number >= 999.5 && prefix + 1 < prefixes.size(); ++prefix) number /= 1000;
  std::array<char, 32> digits{};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), number, std::chars_format::general, 3).ptr;
  return std::string(digits.data(), end) + " " + prefixes[prefix];
}

/// "12.3 k links/s", "0.25 links/s".
inline std::string rate_text(double per_second, std::string_view noun) {
  const std::string number = with_prefix(per_second);
  return number + (number.ends_with(' ') ? "" : " ") + plural(noun) + "/s";
}

/// "2.48 GB/s", "312 B/s".
inline std::string byte_rate_text(double per_second) { return with_prefix(per_second) + "B/s"; }

}  // namespace anabranch::detail
