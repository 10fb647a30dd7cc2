#include "apps/common/numbers.h"

#include <charconv>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace anabranch::apps {

namespace {

/// Decimal digits behind a minus or nothing: too many of them are a number all the same.
bool is_whole(const std::string& text) {
  const std::size_t digits = text.starts_with('-') ? 1 : 0;
  return digits < text.size() && text.find_first_not_of("0123456789", digits) == std::string::npos;
}

template <class T>
std::errc read(const std::string& text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && at != end ? std::errc::invalid_argument : error;
}

/// Empty, or what is wrong.
std::string read_number(const std::string& text, double& value) {
  const std::errc error = read(text, value);
  if (error == std::errc::result_out_of_range)
    return fmt::format("'{}' is too large or too close to 0 for a double", text);
  return error == std::errc() ? std::string() : fmt::format("'{}' is no number", text);
}

}  // namespace

template <class T>
CLI::Validator whole_number(std::type_identity_t<T> least, std::type_identity_t<T> most) {
  return {[=](std::string& text) {
            if (!is_whole(text)) return fmt::format("'{}' is no whole number", text);
            T value = 0;
            if (read(text, value) != std::errc() || value < least || value > most)
              return fmt::format("'{}' is not from {} to {}", text, least, most);
            text = std::to_string(value);
            return std::string();
          },
          ""};
}
template CLI::Validator whole_number<std::int64_t>(std::int64_t, std::int64_t);
template CLI::Validator whole_number<std::uint64_t>(std::uint64_t, std::uint64_t);

CLI::Validator any_number() {
  return {[](const std::string& text) {
            double value = 0;
            return read_number(text, value);
          },
          ""};
}

CLI::Validator number_between(double least, double most) {
  return {[=](const std::string& text) {
            double value = 0;
            if (std::string wrong = read_number(text, value); !wrong.empty()) return wrong;
            const bool fits = value >= least && value <= most;
            return fits ? std::string() : fmt::format("'{}' is not from {} to {}", text, least, most);
          },
          ""};
}

}  // namespace anabranch::apps
