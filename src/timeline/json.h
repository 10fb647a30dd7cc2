#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// JSON, written as text.
namespace anabranch::timeline {

/// Text as a JSON string, quotes included. What is not UTF-8 in it becomes U+FFFD: names of files are bytes.
std::string json_string(std::string_view text);
/// null where it is no number.
std::string json_number(double value);

/// Members of an object, in this order.
class Members {
 public:
  /// `value`: a bool, an integer, a double, text, or one of them that may be missing: null.
  template <class T>
  Members& add(std::string_view name, const T& value) {
    return add_json(name, json(value));
  }
  Members& add_json(std::string_view name, std::string_view value);
  /// Without braces.
  const std::string& text() const { return text_; }
  std::string object() const { return "{" + text_ + "}"; }

 private:
  static std::string json(bool value) { return value ? "true" : "false"; }
  static std::string json(std::integral auto value) { return std::to_string(value); }
  static std::string json(double value) { return json_number(value); }
  static std::string json(std::string_view value) { return json_string(value); }
  static std::string json(const char* value) { return json_string(value); }  // else a bool
  template <class T>
  static std::string json(const std::optional<T>& value) {
    return value ? json(*value) : "null";
  }

  std::string text_;
};

/// An array of what f makes of the values.
template <class T, class F>
std::string json_array(const std::vector<T>& values, F&& f) {
  std::string out = "[";
  for (const T& value : values) {
    if (out.size() > 1) out += ',';
    out += f(value);
  }
  return out + "]";
}

}  // namespace anabranch::timeline
