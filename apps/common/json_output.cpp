#include "apps/common/json_output.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "apps/common/terminal.h"

namespace anabranch::apps {

namespace {

constexpr int indent = 2;

std::string without_newline(const nlohmann::ordered_json& value) {
  return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string new_line(int depth) { return "\n" + std::string(static_cast<std::size_t>(indent * depth), ' '); }

}  // namespace

std::string dump(const nlohmann::ordered_json& object) { return without_newline(object) + "\n"; }

void JsonPrinter::members(const nlohmann::ordered_json& object) {
  for (const auto& [key, member] : object.items()) {
    name(key);
    value(member, 1);
  }
}

void JsonPrinter::array(const std::string& name_of_array, std::int64_t count,
                        const std::function<nlohmann::ordered_json(std::int64_t)>& element) {
  name(name_of_array);
  text_ += "[";
  for (std::int64_t i = 0; i < count; ++i) {
    text_ += (i > 0 ? "," : "") + new_line(2);
    value(element(i), 2);
  }
  text_ += count > 0 ? new_line(1) + "]" : "]";
}

void JsonPrinter::end() { print(std::exchange(text_, "") + (any_ ? "\n}\n" : "{}\n")); }

void JsonPrinter::name(const std::string& of_member) {
  text_ += (any_ ? "," : "{") + new_line(1) + without_newline(of_member) + ": ";
  any_ = true;
}

void JsonPrinter::value(const nlohmann::ordered_json& value, int depth) {
  constexpr std::size_t piece_bytes = 1 << 20;
  for (const char c : without_newline(value)) {  // in strings newlines are escaped
    if (c == '\n')
      text_ += new_line(depth);
    else
      text_ += c;
  }
  if (text_.size() >= piece_bytes) print(std::exchange(text_, ""));
}

}  // namespace anabranch::apps
