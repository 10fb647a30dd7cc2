#include "apps/common/numbers.h"

#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace anabranch::apps {

namespace {

/// Digits behind a sign or none: too many of them are a number all the same.
bool is_whole(const std::string& text) {
  const std::size_t digits = text.find_first_of("+-") == 0 ? 1 : 0;
  return digits < text.size() && text.find_first_not_of("0123456789", digits) == std::string::npos;
}

}  // namespace

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  return {[=](const std::string& text) {
            std::int64_t value = 0;
            const bool is_number = CLI::detail::lexical_cast(text, value);
            if (!is_number && !is_whole(text)) return fmt::format("'{}' is no whole number", text);
            if (is_number && value >= least && value <= most) return std::string();
            return fmt::format("'{}' is not from {} to {}", text, least, most);
          },
          ""};
}

CLI::Validator number_between(double least, double most) {
  return {[=](const std::string& text) {
            double value = 0;
            const bool fits = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
            return fits ? std::string() : fmt::format("'{}' is not from {} to {}", text, least, most);
          },
          ""};
}

}  // namespace anabranch::apps
