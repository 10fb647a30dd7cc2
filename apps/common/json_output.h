#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <nlohmann/json_fwd.hpp>

/// The objects that --json prints: docs/command.md.
namespace anabranch::apps {

/// File names are bytes; JSON is UTF-8.
std::string dump(const nlohmann::ordered_json& object);

/// An object that is printed member by member, with the layout of `dump`: for long arrays, of which `dump` needs all of the elements
/// at once (290 MiB for a million nodes and their ranks).
class JsonPrinter {
 public:
  /// Those of an object, in their order.
  void members(const nlohmann::ordered_json& object);
  /// A member that is an array of `element(0)`, ..., of which one exists at a time.
  void array(const std::string& name, std::int64_t count,
             const std::function<nlohmann::ordered_json(std::int64_t)>& element);
  /// The end of the object, and a newline.
  void end();

 private:
  void name(const std::string& of_member);
  /// At a depth of nesting; nothing is printed until there is a piece of a megabyte.
  void value(const nlohmann::ordered_json& value, int depth);

  std::string text_;
  bool any_ = false;
};

}  // namespace anabranch::apps
