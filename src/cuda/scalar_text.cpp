#include "cuda/scalar_text.h"

#include <bit>
#include <cctype>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "plan/check_error.h"

namespace anabranch::cuda {

using ir::Primitive;

void Text::line(std::string_view text) {
  if (!text.empty() && text.front() != '#') text_.append(static_cast<std::size_t>(2 * depth_), ' ');
  text_ += text;
  text_ += '\n';
  ++lines_;
}

void Text::open(std::string_view text) {
  line(text);
  ++depth_;
}

void Text::close(std::string_view text) {
  --depth_;
  line(text);
}

void Text::reopen(std::string_view text) {
  --depth_;
  open(text);
}

void Text::place(const Place& place) {
  if (!place.known()) return;
  std::string file;
  for (const char* c = place.file; *c; ++c) {
    if (*c == '\\' || *c == '"') file += '\\';
    file += *c == '\n' ? ' ' : *c;
  }
  line(fmt::format("#line {} \"{}\"", place.line, file));
  foreign_ = true;
}

void Text::own_lines(std::string_view name) {
  if (!foreign_) return;
  line(fmt::format("#line {} \"{}\"", lines_ + 2, name));
  foreign_ = false;
}

const char* type_text(ScalarType type) {
  switch (type) {
    case ScalarType::boolean:
      return "bool";
    case ScalarType::uint8:
      return "u8";
    case ScalarType::int32:
      return "i32";
    case ScalarType::int64:
      return "i64";
    case ScalarType::float32:
      return "float";
    case ScalarType::float64:
      return "double";
  }
  throw InternalError("unknown scalar type");
}

const char* memory_type_text(ScalarType type) { return type == ScalarType::boolean ? "u8" : type_text(type); }

std::string literal_text(std::int64_t value) {
  if (value == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807ll - 1)";
  return value < 0 ? fmt::format("({}ll)", value) : fmt::format("{}ll", value);
}

namespace {

template <class T>
std::string float_text(T value, std::uint64_t bits, const char* type, const char* suffix) {
  if (!std::isfinite(value)) return fmt::format("from_bits<{}>(0x{:x}ull)", type, bits);
  std::string text = fmt::format("{}", value);  // the shortest that reads back as the same
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  text += suffix;
  return std::signbit(value) ? "(" + text + ")" : text;
}

}  // namespace

std::string literal_text(ScalarType type, std::uint64_t bits) {
  switch (type) {
    case ScalarType::boolean:
      return bits & 0xff ? "true" : "false";
    case ScalarType::uint8:
      return fmt::format("u8({})", static_cast<unsigned>(bits & 0xff));
    case ScalarType::int32: {
      const auto value = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
      if (value == std::numeric_limits<std::int32_t>::min()) return "(-2147483647 - 1)";
      return value < 0 ? fmt::format("({})", value) : fmt::format("{}", value);
    }
    case ScalarType::int64:
      return literal_text(static_cast<std::int64_t>(bits));
    case ScalarType::float32:
      return float_text(std::bit_cast<float>(static_cast<std::uint32_t>(bits)), bits & 0xffffffffu, "float",
                        "f");
    case ScalarType::float64:
      return float_text(std::bit_cast<double>(bits), bits, "double", "");
  }
  throw InternalError("unknown scalar type");
}

std::string identifier(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      out += c;
    else if (!out.empty() && out.back() != '_')
      out += '_';
  }
  while (!out.empty() && out.back() == '_') out.pop_back();
  if (out.empty() || std::isdigit(static_cast<unsigned char>(out.front()))) out.insert(0, "v");
  return out.substr(0, 60);
}

// Names
// -----------------------------------------------------------------------------------------------------------

const Words& ScalarText::words(const ir::Node& node) const {
  const auto found = environment_.find(&node);
  if (found == environment_.end())
    throw InternalError(std::string("kernel text: ") + node.label() + " is used before it is computed");
  return found->second;
}

void ScalarText::bind(const ir::Node& node, Words words) {
  const auto found = environment_.find(&node);
  log_.emplace_back(&node, found == environment_.end() ? Words{"?"} : found->second);
  environment_[&node] = std::move(words);
}

void ScalarText::undo(std::size_t mark) {
  while (log_.size() > mark) {
    auto& [node, hidden] = log_.back();
    if (hidden == Words{"?"})
      environment_.erase(node);
    else
      environment_[node] = std::move(hidden);
    log_.pop_back();
  }
}

/// From what the user wrote, where that is known.
std::string ScalarText::name(const ir::Node& node) {
  const bool plain = node.op() == ir::Op::primitive && !node.payload().label;
  return fmt::format("{}_{}",
                     identifier(plain ? info(node.payload().primitive).name : std::string_view(node.label())),
                     ++names_);
}

int ScalarText::check_of(const ir::Node& node) const {
  const auto found = checks_.find(&node);
  if (found == checks_.end()) throw InternalError(std::string("kernel: no check for ") + node.label());
  return found->second;
}

Words ScalarText::results(const std::vector<ir::Ref>& roots) const {
  Words out;
  for (const auto& root : roots)
    for (const auto& word : words(*root)) out.push_back(word);
  return out;
}

// Statements
// -----------------------------------------------------------------------------------------------------------

void ScalarText::emit_region(const plan::Regions& regions, int region,
                             const std::function<bool(const ir::Node&)>& wanted) {
  for (const ir::Node* node : regions[region].nodes)
    if (!knows(*node) && (!wanted || wanted(*node))) emit(regions, region, *node);
}

void ScalarText::emit(const plan::Regions& regions, int region, const ir::Node& node) {
  switch (node.op()) {
    case ir::Op::constant:
      return bind(node, {literal_text(node.type().scalars[0], node.payload().bits)});
    case ir::Op::primitive:
      return bind(node, primitive(node));
    case ir::Op::tuple: {
      Words all;
      for (const auto& child : node.children())
        for (const auto& word : words(*child)) all.push_back(word);
      return bind(node, std::move(all));
    }
    case ir::Op::project: {
      const Words& all = words(*node.child(0));
      const auto first = all.begin() + node.payload().first;
      return bind(node, Words(first, first + node.payload().count));
    }
    case ir::Op::cond:
      return bind(node, cond(regions, region, node));
    case ir::Op::while_loop:
      return bind(node, loop(regions, region, node));
    case ir::Op::index:
    case ir::Op::linear_index:
      return bind(node, read(node));
    case ir::Op::parameter:
    case ir::Op::shape:
    case ir::Op::lambda:
    case ir::Op::use:
    case ir::Op::unit:
    case ir::Op::generate:
    case ir::Op::map:
    case ir::Op::fold:
    case ir::Op::backpermute:
    case ir::Op::reshape:
    case ir::Op::consume:
    case ir::Op::stream_in:
    case ir::Op::produce:
    case ir::Op::rows:
    case ir::Op::map_seq:
    case ir::Op::project_seq:
    case ir::Op::elements:
    case ir::Op::tabulate:
      break;
  }
  throw InternalError(std::string("kernel body: ") + name_of(node.op()) + " is not a scalar operation");
}

Words ScalarText::primitive(const ir::Node& node) {
  Words x;
  for (const auto& child : node.children()) x.push_back(words(*child)[0]);
  const ScalarType type = node.child(0)->type().scalars[0];
  const auto& facts = info(node.payload().primitive);
  if (facts.can_fail && ir::is_integer(type)) return divide(node, x);
  if (facts.transcendental) out_.place(node.place());
  const std::string result = name(node);
  out_.line(fmt::format("const {} {} = {};", type_text(node.type().scalars[0]), result, expression(node, x)));
  return {result};
}

std::string ScalarText::expression(const ir::Node& node, const Words& x) const {
  const ScalarType type = node.child(0)->type().scalars[0];
  const auto infix = [&](const char* op) { return fmt::format("{} {} {}", x[0], op, x[1]); };
  const auto call = [&](const char* function) { return fmt::format("{}({})", function, fmt::join(x, ", ")); };
  const bool floating = ir::is_float(type);
  switch (node.payload().primitive) {
    case Primitive::add:
      return floating ? infix("+") : call("add");
    case Primitive::subtract:
      return floating ? infix("-") : call("subtract");
    case Primitive::multiply:
      return floating ? infix("*") : call("multiply");
    case Primitive::divide:
      return infix("/");
    case Primitive::remainder:
      return call("remainder");
    case Primitive::negate:
      return floating ? "-" + x[0] : call("negate");
    case Primitive::absolute:
      return call("absolute");
    case Primitive::minimum:
      return call("minimum");
    case Primitive::maximum:
      return call("maximum");
    case Primitive::fma:
      return call("multiply_add");
    case Primitive::equal:
      return infix("==");
    case Primitive::not_equal:
      return infix("!=");
    case Primitive::less:
      return infix("<");
    case Primitive::less_equal:
      return infix("<=");
    case Primitive::logical_not:
      return "!" + x[0];
    case Primitive::bit_and:
      return fmt::format("{}({} & {})", type_text(type), x[0], x[1]);
    case Primitive::bit_or:
      return fmt::format("{}({} | {})", type_text(type), x[0], x[1]);
    case Primitive::bit_xor:
      return fmt::format("{}({} ^ {})", type_text(type), x[0], x[1]);
    case Primitive::square_root:
      return call("square_root");
    case Primitive::exponential:
      return call("exponential");
    case Primitive::logarithm:
      return call("logarithm");
    case Primitive::sine:
      return call("sine");
    case Primitive::cosine:
      return call("cosine");
    case Primitive::cast:
      return fmt::format("cast<{}>({})", type_text(node.type().scalars[0]), x[0]);
  }
  throw InternalError("unknown primitive");
}

Words ScalarText::divide(const ir::Node& node, const Words& x) {
  const std::string result = name(node);
  out_.place(node.place());
  out_.line(fmt::format("const bool {}_ok = has_quotient({}, {});", result, x[0], x[1]));
  out_.line(fmt::format("failure.unless({}_ok, {}, {}, i64({}), {} == 0 ? {} : {});", result, check_of(node),
                        element, x[0], x[1], plan::division_by_zero, plan::division_overflow));
  out_.line(fmt::format("const {} {} = {}({}_ok, {}, {});", type_text(node.type().scalars[0]), result,
                        node.payload().primitive == Primitive::divide ? "divide" : "remainder", result, x[0],
                        x[1]));
  return {result};
}

Words ScalarText::read(const ir::Node& node) {
  const ir::Node& parameter = *node.child(0);
  const ArrayText& array = arrays_.at(&parameter);
  const auto& scalars = parameter.type().scalars;
  const std::string result = name(node);
  const bool own = at_own_position && at_own_position(node);
  const bool checked =
      !own && !node.payload().proved && !(node.op() == ir::Op::index && words(*node.child(1)).empty());
  std::string at = own_position;
  out_.place(node.place());
  if (!own) {
    const Words& index = words(*node.child(1));
    std::string linear;
    std::vector<std::pair<std::string, std::string>> tests;
    if (node.op() == ir::Op::linear_index) {
      std::string size;
      for (const auto& extent : array.extents)
        size = size.empty() ? extent : fmt::format("multiply({}, {})", size, extent);
      linear = index[0];
      tests.emplace_back(index[0], size.empty() ? "1ll" : size);
    } else {
      for (std::size_t d = 0; d < index.size(); ++d) {
        linear = d == 0 ? index[0] : fmt::format("row_major({}, {}, {})", linear, array.extents[d], index[d]);
        tests.emplace_back(index[d], array.extents[d]);
      }
    }
    if (checked) {
      std::string good;
      for (const auto& [i, extent] : tests)
        good += fmt::format("{}in_range({}, {})", good.empty() ? "" : " && ", i, extent);
      out_.line(fmt::format("const bool {}_ok = {};", result, good));
      for (const auto& [i, extent] : tests)
        out_.line(fmt::format("failure.unless({}, {}, {}, {}, {});",
                              tests.size() == 1 ? result + "_ok" : fmt::format("in_range({}, {})", i, extent),
                              check_of(node), element, i, extent));
    }
    if (array.base.empty())
      at = linear.empty() ? "0" : linear;
    else
      at = linear.empty() ? array.base : fmt::format("add({}, {})", array.base, linear);
  }
  Words out;
  for (std::size_t c = 0; c < scalars.size(); ++c) {
    const std::string part = scalars.size() == 1 ? result : fmt::format("{}_{}", result, c);
    const char* function = scalars[c] == ScalarType::boolean ? "load_bool" : "load";
    const std::string place = fmt::format("{}, {}", array.buffers[c], at);
    out_.line(
        fmt::format("const {} {} = {}{};", type_text(scalars[c]), part, function,
                    checked ? fmt::format("_if({}_ok, {}, a.error)", result, place) : "(" + place + ")"));
    out.push_back(part);
  }
  return out;
}

// Conditionals and loops
// -----------------------------------------------------------------------------------------------------------

Words ScalarText::cond(const plan::Regions& regions, int region, const ir::Node& node) {
  const int inner = regions.inner(region, node);
  const std::string condition = words(*node.child(0))[0];
  const std::string result = name(node);
  const auto& scalars = node.type().scalars;
  Words out;
  for (std::size_t c = 0; c < scalars.size(); ++c)
    out.push_back(scalars.size() == 1 ? result : fmt::format("{}_{}", result, c));
  if (regions[inner].nodes.empty() && regions[inner + 1].nodes.empty()) {
    const Words &x = words(*node.child(1)), &y = words(*node.child(2));
    for (std::size_t c = 0; c < out.size(); ++c)
      out_.line(
          fmt::format("const {} {} = {} ? {} : {};", type_text(scalars[c]), out[c], condition, x[c], y[c]));
    return out;
  }
  for (std::size_t c = 0; c < out.size(); ++c)
    out_.line(fmt::format("{} {};", type_text(scalars[c]), out[c]));
  out_.place(node.place());
  out_.open(fmt::format("if ({}) {{", condition));
  side(regions, inner, *node.child(1), out);
  out_.reopen("} else {");
  side(regions, inner + 1, *node.child(2), out);
  out_.close();
  return out;
}

void ScalarText::side(const plan::Regions& regions, int region, const ir::Node& result, const Words& into) {
  const auto here = mark();
  emit_region(regions, region);
  const Words& values = words(result);
  for (std::size_t c = 0; c < into.size(); ++c) out_.line(fmt::format("{} = {};", into[c], values[c]));
  undo(here);
}

Words ScalarText::loop(const plan::Regions& regions, int region, const ir::Node& node) {
  const int inner = regions.inner(region, node);
  const ir::Node& predicate = *node.child(0);
  const ir::Node& body = *node.child(1);
  const Words initial = words(*node.child(2));
  const std::string result = name(node);
  const auto& scalars = node.type().scalars;
  Words state, next;
  for (std::size_t c = 0; c < scalars.size(); ++c) {
    state.push_back(scalars.size() == 1 ? result : fmt::format("{}_{}", result, c));
    next.push_back(state.back() + "_next");
    out_.line(fmt::format("{} {} = {};", type_text(scalars[c]), state[c], initial[c]));
  }
  out_.place(node.place());
  out_.open("while (!failure.any()) {");
  const auto here = mark();
  bind(*predicate.parameters()[0], state);
  emit_region(regions, inner);
  out_.line(fmt::format("if (!{}) break;", words(*predicate.result())[0]));
  bind(*body.parameters()[0], state);
  emit_region(regions, inner + 1);
  const Words& values = words(*body.result());
  for (std::size_t c = 0; c < state.size(); ++c)
    out_.line(fmt::format("const {} {} = {};", type_text(scalars[c]), next[c], values[c]));
  for (std::size_t c = 0; c < state.size(); ++c) out_.line(fmt::format("{} = {};", state[c], next[c]));
  undo(here);
  out_.close();
  return state;
}

}  // namespace anabranch::cuda
