#include "apps/common/byte_size.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "apps/common/quantities.h"
#include "apps/common/usage_error.h"

namespace anabranch::apps {

namespace {

constexpr std::string_view prefixes = "kmgt";

/// 0 where the text is no unit.
double unit_of(std::string_view text) {
  std::string unit;
  for (char c : text) unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (unit.empty() || unit == "b") return 1;
  const auto power = prefixes.find(unit[0]);
  if (power == std::string_view::npos) return 0;
  const std::string_view rest = std::string_view(unit).substr(1);
  if (!rest.empty() && rest != "ib" && rest != "b") return 0;
  double out = 1;
  for (std::size_t i = 0; i <= power; ++i) out *= rest == "b" ? 1000 : 1024;
  return out;
}

std::string scaled(std::int64_t bytes, double step, const std::array<const char*, 4>& units) {
  auto value = static_cast<double>(bytes);
  if (value < step) return counted(bytes, "byte");
  std::size_t unit = 0;
  for (value /= step; value >= step && unit + 1 < units.size(); ++unit) value /= step;
  return fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace

std::int64_t parse_byte_size(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const double unit = unit_of(text.substr(static_cast<std::size_t>(end - text.data())));
  const double bytes = number * unit;
  const bool is_size = error == std::errc{} && std::isfinite(number) && unit != 0;  // "inf" is read, too
  if (is_size && bytes >= 0x1p62) throw UsageError(fmt::format("'{}' is more than there can be", text));
  if (!is_size || bytes < 1)
    throw UsageError(fmt::format("'{}' is not a size; sizes are written like 4096, 64KiB, 256M, 1.5G", text));
  return static_cast<std::int64_t>(bytes);
}

std::string decimal_bytes(std::int64_t bytes) { return scaled(bytes, 1000, {"kB", "MB", "GB", "TB"}); }
std::string binary_bytes(std::int64_t bytes) { return scaled(bytes, 1024, {"KiB", "MiB", "GiB", "TiB"}); }

}  // namespace anabranch::apps
