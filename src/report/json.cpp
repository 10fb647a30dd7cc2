#include <array>
#include <concepts>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/report.h"
#include "timeline/json.h"

/// The report as one JSON object.
namespace anabranch::report {

namespace {

std::string json(const std::string& text) { return timeline::json_string(text); }
std::string json(const char* text) { return timeline::json_string(text); }
std::string json(std::same_as<bool> auto value) { return value ? "true" : "false"; }
std::string json(std::integral auto number)
  requires(!std::same_as<decltype(number), bool>)
{
  return fmt::format("{}", number);
}
std::string json(double number) { return fmt::format("{}", number); }
std::string json(const Place& place) { return place.known() ? json(to_string(place)) : "null"; }

std::string json(const Traffic& traffic);
std::string json(const std::pair<std::string, Traffic>& array);
std::string json(const Operation& operation);
std::string json(const Step& step);
std::string json(const Part& part);
std::string json(const Read& read);
std::string json(const OtherCheck& check);
std::string json(const Kernel& kernel);
std::string json(const Reader& reader);
std::string json(const StoredArray& array);
std::string json(const Source& source);
std::string json(const Pass& pass);

template <class E>
using Name = std::pair<E, const char*>;
template <class E, std::size_t n>
const char* name_in(const std::array<Name<E>, n>& names, E which) {
  for (const auto& [one, name] : names)
    if (one == which) return name;
  return "?";
}

template <class T>
std::string json(const std::vector<T>& values) {
  std::vector<std::string> parts;
  for (const T& value : values) parts.push_back(json(value));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

/// Members of an object, in this order.
class Object {
 public:
  template <class T>
  Object& add(const char* name, const T& value) {
    return add_json(name, json(value));
  }
  /// null where there is nothing to say.
  Object& add_or_null(const char* name, const std::string& text) {
    return add_json(name, text.empty() ? "null" : json(text));
  }
  Object& add_json(const char* name, const std::string& value) {
    text_ += fmt::format("{}{}: {}", text_.empty() ? "" : ", ", json(name), value);
    return *this;
  }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

std::string json(const Traffic& traffic) {
  return Object()
      .add("each", traffic.each)
      .add("times", traffic.times)
      .add("at_most", traffic.at_most)
      .text();
}

std::string json(const std::pair<std::string, Traffic>& array) {
  return Object()
      .add("array", array.first)
      .add("each", array.second.each)
      .add("times", array.second.times)
      .add("at_most", array.second.at_most)
      .text();
}

std::string json(const Operation& o) {
  return Object()
      .add("name", o.name)
      .add("operation", o.label)
      .add("type", o.type)
      .add("form", name_of(o.form))
      .add("reason", o.reason)
      .add_or_null("stored", o.stored)
      .add("kernels", o.kernels)
      .add("reads", o.reads)
      .add("place", o.place)
      .text();
}

const char* name_of(Step::Kind which) {
  return name_in(std::to_array<Name<Step::Kind>>({
                     {Step::Kind::kernel, "kernel"},
                     {Step::Kind::offsets, "offsets"},
                     {Step::Kind::check, "check"},
                     {Step::Kind::routine, "routine"},
                     {Step::Kind::inner, "inner program"},
                 }),
                 which);
}

std::string json(const Step& step) {
  Object out;
  out.add("kind", name_of(step.kind));
  if (step.kind == Step::Kind::kernel)
    out.add("kernel", step.kernel + 1);
  else
    out.add("text", step.text);
  return out.text();
}

std::string json(const Part& part) {
  return Object()
      .add("title", part.title)
      .add_or_null("inside", part.inside)
      .add("operations", part.operations)
      .add("remarks", part.remarks)
      .add("steps", part.steps)
      .text();
}

const char* name_of_access(kernel::AccessPattern which) {
  return name_in(std::to_array<Name<kernel::AccessPattern>>({
                     {kernel::AccessPattern::broadcast, "broadcast"},
                     {kernel::AccessPattern::contiguous, "contiguous"},
                     {kernel::AccessPattern::backwards, "backwards"},
                     {kernel::AccessPattern::strided, "strided"},
                     {kernel::AccessPattern::gathered, "gathered"},
                 }),
                 which);
}

const char* name_of_check(CheckKind which) {
  return name_in(std::to_array<Name<CheckKind>>({
                     {CheckKind::own_element, "none"},
                     {CheckKind::known, "none"},
                     {CheckKind::checked, "always"},
                     {CheckKind::at_borders, "at borders"},
                 }),
                 which);
}

std::string json(const Read& read) {
  return Object()
      .add("array", read.array)
      .add_or_null("operation", read.label)
      .add("place", read.place)
      .add("access", name_of_access(read.pattern))
      .add_or_null("stride", read.stride)
      .add("inside_borders", read.inside_borders)
      .add("where_needed", read.where_needed)
      .add("check", name_of_check(read.check))
      .add("why", read.why)
      .add("bytes", read.bytes)
      .text();
}

std::string json(const OtherCheck& check) {
  return Object().add("operation", check.label).add("for", check.what).add("place", check.place).text();
}

std::string json(const Kernel& k) {
  return Object()
      .add("number", k.number)
      .add("name", k.name)
      .add("form", k.form)
      .add("place", k.place)
      .add("lanes", k.lanes)
      .add("computes", k.computes)
      .add("fused", k.fused)
      .add("reads", k.reads)
      .add("checks", k.checks)
      .add("read_bytes", k.read_bytes)
      .add("written_bytes", k.written_bytes)
      .add("operations", k.operations)
      .add("equal_items", k.equal_items)
      .text();
}

const char* name_of(StoredArray::Maker which) {
  return name_in(std::to_array<Name<StoredArray::Maker>>({
                     {StoredArray::Maker::host, "host"},
                     {StoredArray::Maker::source, "source"},
                     {StoredArray::Maker::kernel, "kernel"},
                     {StoredArray::Maker::routine, "routine"},
                     {StoredArray::Maker::stream, "stream"},
                     {StoredArray::Maker::control, "control"},
                     {StoredArray::Maker::inner, "inner program"},
                     {StoredArray::Maker::view, "view"},
                 }),
                 which);
}

std::string json(const Reader& reader) {
  return Object()
      .add("reader", reader.what)
      .add("place", reader.place)
      .add("each_round", reader.each_round)
      .text();
}

std::string json(const StoredArray& array) {
  return Object()
      .add("name", array.name)
      .add("operation", array.label)
      .add("type", array.type)
      .add("place", array.place)
      .add("why", array.why)
      .add("maker", name_of(array.maker))
      .add_or_null("made_by", array.made_by)
      .add("bytes", array.bytes)
      .add("in_place_of", array.in_place_of)
      .add("extents", array.of_extents)
      .add("decides_shapes", array.decides_shapes)
      .add("decides_branches", array.decides_branches)
      .add("result", array.is_result)
      .add("read_by", array.read_by)
      .text();
}

std::string json(const Source& source) {
  return Object()
      .add("operation", source.label)
      .add("place", source.place)
      .add("read_by", source.read_by)
      .text();
}

std::string json(const Pass& pass) {
  return Object().add("name", pass.name).add("seconds", pass.seconds).text();
}

/// One element a line.
template <class T>
std::string lines(const std::vector<T>& values) {
  std::vector<std::string> parts;
  for (const T& value : values) parts.push_back("\n    " + json(value));
  return fmt::format("[{}]", fmt::join(parts, ","));
}

}  // namespace

std::string to_json(const Report& report) {
  std::string out = "{";
  const auto member = [&](const char* name, const std::string& value) {
    out += fmt::format("{}\n  {}: {}", out.size() == 1 ? "" : ",", json(name), value);
  };
  member("program", lines(report.program));
  member("parts", lines(report.parts));
  member("kernels", lines(report.kernels));
  member("arrays", lines(report.stored));
  member("sources", lines(report.sources));
  member("passes", lines(report.passes));
  return out + "\n}\n";
}

}  // namespace anabranch::report
