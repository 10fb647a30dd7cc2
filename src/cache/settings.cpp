#include "cache/settings.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

namespace anabranch::cache {
namespace {

/// Empty where it is not set, and in programs that run with more rights than their user.
std::string variable(const char* name) {
  const char* value = ::secure_getenv(name);
  return value ? value : "";
}

bool is_one_of(const std::string& text, std::initializer_list<std::string_view> words) {
  std::string lower;
  for (const char c : text) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(words.begin(), words.end(), lower) != words.end();
}

/// 0: not a size.
std::int64_t size_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return 0;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.empty()) return number;
  const auto power =
      std::string_view("KMGT").find(static_cast<char>(std::toupper(static_cast<unsigned char>(unit[0]))));
  if (unit.size() > 1 || power == std::string_view::npos) return 0;
  const int shift = 10 * (static_cast<int>(power) + 1);
  return number > INT64_MAX >> shift ? 0 : number << shift;
}

std::string folder() {
  if (std::string own = variable("ANABRANCH_CACHE_DIR"); !own.empty()) return own;
  // The specification of this variable says to ignore relative paths.
  if (const std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg + "/anabranch";
  if (const std::string home = variable("HOME"); !home.empty()) return home + "/.cache/anabranch";
  return {};
}

}  // namespace

Settings settings_from_environment() {
  Settings out;
  const auto none = [&](std::string why_not) {
    out.why_not = std::move(why_not);
    return out;
  };
  const std::string wanted = variable("ANABRANCH_CACHE");
  if (is_one_of(wanted, {"off", "0", "no", "false"})) return none("switched off by ANABRANCH_CACHE");
  if (!is_one_of(wanted, {"", "on", "1", "yes", "true"}))
    return none("ANABRANCH_CACHE is neither on nor off: " + wanted);
  out.folder = folder();
  if (out.folder.empty()) return none("neither ANABRANCH_CACHE_DIR nor HOME is set");
  if (!out.folder.starts_with('/')) return none("not an absolute path: " + out.folder);
  // With a slash at its end, a symbolic link would be followed.
  while (out.folder.size() > 1 && out.folder.ends_with('/')) out.folder.pop_back();
  if (const std::string size = variable("ANABRANCH_CACHE_SIZE"); !size.empty()) {
    out.bound = size_of(size);
    if (out.bound == 0) return none("ANABRANCH_CACHE_SIZE is no size (like 64M): " + size);
  }
  return out;
}

}  // namespace anabranch::cache
