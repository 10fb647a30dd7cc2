#include "cuda/scalar_text.h"

#include <bit>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "cuda/in_order.h"
#include "ir/views.h"
#include "kernel/check_error.h"
#include "kernel/primitive_recipe.h"

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
  for (const char* c = place.file.c_str(); *c; ++c) {
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

const char* type_text(ScalarType type) { return ir::scalar_info(type).cuda; }

const char* memory_type_text(ScalarType type) { return type == ScalarType::boolean ? "u8" : type_text(type); }

std::string literal_text(std::int64_t value) {
  if (value == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807ll - 1)";
  return value < 0 ? fmt::format("({}ll)", value) : fmt::format("{}ll", value);
}

const char* header_of(Primitive primitive) {
  using enum Primitive;
  static const std::map<Primitive, const char*> headers{{exp, "exponential.h"},
                                                        {exp2, "exponential.h"},
                                                        {log, "logarithm.h"},
                                                        {log2, "logarithm.h"},
                                                        {log10, "logarithm.h"},
                                                        {sin, "trigonometric.h"},
                                                        {cos, "trigonometric.h"},
                                                        {tan, "trigonometric.h"},
                                                        {asin, "inverse_trigonometric.h"},
                                                        {acos, "inverse_trigonometric.h"},
                                                        {atan, "inverse_trigonometric.h"},
                                                        {atan2, "inverse_trigonometric.h"},
                                                        {sinh, "hyperbolic.h"},
                                                        {cosh, "hyperbolic.h"},
                                                        {tanh, "hyperbolic.h"},
                                                        {asinh, "hyperbolic.h"},
                                                        {acosh, "hyperbolic.h"},
                                                        {atanh, "hyperbolic.h"},
                                                        {erf, "error_function.h"},
                                                        {cbrt, "roots.h"},
                                                        {rsqrt, "roots.h"},
                                                        {hypot, "roots.h"},
                                                        {pow, "power.h"}};
  const auto found = headers.find(primitive);
  return found == headers.end() ? nullptr : found->second;
}

namespace {

template <class T>
std::string float_text(T value, ScalarType type) {
  if (!std::isfinite(value))
    return fmt::format("from_bits<{}>(0x{:x}ull)", type_text(type), anabranch::detail::bits_of(value));
  std::string text = fmt::format("{}", value);  // the shortest that reads back as the same
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  if (type == ScalarType::float32) text += "f";
  return std::signbit(value) ? "(" + text + ")" : text;
}

/// C++ has no literals of integers narrower than int, and none that is negative.
template <class T>
std::string integer_text(T value, ScalarType type) {
  if constexpr (sizeof(T) < sizeof(int))
    return fmt::format("{}({})", type_text(type), value);
  else if constexpr (!std::is_signed_v<T>)
    return fmt::format("{}({}ull)", type_text(type), value);
  else if constexpr (sizeof(T) == sizeof(std::int64_t))
    return literal_text(value);
  else if (value == std::numeric_limits<T>::min())
    return fmt::format("({} - 1)", value + 1);
  else
    return value < 0 ? fmt::format("({})", value) : fmt::format("{}", value);
}

}  // namespace

std::string literal_text(ScalarType type, std::uint64_t bits) {
  return anabranch::detail::with_scalar(type, [&]<class T>(std::type_identity<T>) -> std::string {
    const T value = anabranch::detail::value_of<T>(bits);
    if constexpr (std::same_as<T, bool>)
      return value ? "true" : "false";
    else if constexpr (std::same_as<T, half>)
      return fmt::format("from_bits<{}>(0x{:x}ull)", type_text(type), bits);
    else if constexpr (anabranch::detail::FloatValue<T>)
      return float_text(value, type);
    else
      return integer_text(value, type);
  });
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

// Names -----------------------------------------------------------------------------------------------------

const ExprTexts& ScalarText::words(const ir::Node& node) const {
  const auto found = environment_.find(&node);
  if (found == environment_.end())
    throw InternalError(std::string("kernel text: ") + node.label() + " is used before it is computed");
  return found->second;
}

void ScalarText::bind(const ir::Node& node, ExprTexts words) {
  const auto found = environment_.find(&node);
  log_.emplace_back(&node, found == environment_.end() ? ExprTexts{"?"} : found->second);
  environment_[&node] = std::move(words);
}

void ScalarText::undo(std::size_t mark) {
  while (log_.size() > mark) {
    auto& [node, hidden] = log_.back();
    if (hidden == ExprTexts{"?"})
      environment_.erase(node);
    else
      environment_[node] = std::move(hidden);
    log_.pop_back();
  }
}

/// From what the user wrote, where that is known.
std::string ScalarText::name(const ir::Node& node) {
  const bool plain = node.op() == ir::Op::primitive && !node.payload().label;
  return fmt::format(
      "{}_{}", identifier(plain ? ir::info(node.payload().primitive).name : std::string_view(node.label())),
      ++names_);
}

int ScalarText::check_of(const ir::Node& node) const {
  const auto found = checks_.find(&node);
  if (found == checks_.end()) throw InternalError(std::string("kernel: no check for ") + node.label());
  return found->second;
}

ExprTexts ScalarText::results(const std::vector<ir::Ref>& roots) const {
  ExprTexts out;
  for (const auto& root : roots)
    for (const auto& word : words(*root)) out.push_back(word);
  return out;
}

// Statements ------------------------------------------------------------------------------------------------

void ScalarText::emit_region(const kernel::Regions& regions, int region,
                             const std::function<bool(const ir::Node&)>& wanted) {
  for (const ir::Node* node : regions[region].nodes)
    if (!knows(*node) && (!wanted || wanted(*node))) emit(regions, region, *node);
}

void ScalarText::emit(const kernel::Regions& regions, int region, const ir::Node& node) {
  switch (node.op().as<ir::ScalarOp>()) {
    case ir::Op::constant:
      return bind(node, {literal_text(node.type().scalars[0], node.payload().bits)});
    case ir::Op::primitive:
      return bind(node, primitive(node));
    case ir::Op::tuple: {
      ExprTexts all;
      for (const auto& child : node.children())
        for (const auto& word : words(*child)) all.push_back(word);
      return bind(node, std::move(all));
    }
    case ir::Op::project: {
      const ExprTexts& all = words(*ir::Project(node).value());
      const auto first = all.begin() + node.payload().first;
      return bind(node, ExprTexts(first, first + node.payload().count));
    }
    case ir::Op::cond:
      return bind(node, cond(regions, region, node));
    case ir::Op::while_loop:
      return bind(node, loop(regions, region, node));
    case ir::Op::index:
    case ir::Op::linear_index:
      return bind(node, read(node));
    case ir::Op::shape:
      break;
  }
  throw InternalError(std::string("kernel body: ") + name_of(node.op()) + " is not a scalar operation");
}

/// The abstract machine of the primitives' recipes: operations become expressions, checks become statements.
class ScalarText::PrimitiveBuilder {
 public:
  struct Scalar {
    std::string text;
    ScalarType type;
    bool compound = false;  ///< needs parentheses as an operand
  };

  PrimitiveBuilder(ScalarText& scalars, const ir::Node& node, const std::string& result)
      : scalars_(scalars), node_(node), result_(result) {}

  Scalar constant(ScalarType type, std::uint64_t bits) const { return {literal_text(type, bits), type}; }

  Scalar add(const Scalar& x, const Scalar& y) const { return wrapping("+", "add", x, y); }
  Scalar subtract(const Scalar& x, const Scalar& y) const { return wrapping("-", "subtract", x, y); }
  Scalar multiply(const Scalar& x, const Scalar& y) const { return wrapping("*", "multiply", x, y); }
  Scalar divide(const Scalar& x, const Scalar& y) const { return infix("/", x, y); }
  Scalar checked_divisor(const Scalar& x, const Scalar& y) const {
    if (!ir::can_fail(node_)) return y;
    Text& out = scalars_.out_;
    out.line(fmt::format("const bool {}_ok = has_quotient({}, {});", result_, x.text, y.text));
    scalars_.check(
        node_, result_ + "_ok", fmt::format("i64({})", x.text),
        fmt::format("{} == 0 ? {} : {}", y.text, kernel::no_divisor(y.type), kernel::division_overflow));
    out.line(fmt::format("const {} {}_by = {}_ok ? {} : {};", type_text(y.type), result_, result_, operand(y),
                         literal_text(y.type, 1)));
    return {result_ + "_by", y.type};
  }

  Scalar float_negate(const Scalar& x) const {
    return x.type == ScalarType::float16 ? to_float(prefix("-", x), x.type) : prefix("-", x);
  }
  Scalar float_absolute(const Scalar& x) const { return of_library("fabs", {x}); }
  Scalar float_remainder(const Scalar& x, const Scalar& y) const { return of_library("fmod", {x, y}); }
  Scalar multiply_add(const Scalar& x, const Scalar& y, const Scalar& z) const {
    if (x.type != ScalarType::float16) return of_library("fma", {x, y, z});
    const auto wide = [&](const Scalar& v) { return to_float(v, ScalarType::float64); };
    return to_float(of_library("fma", {wide(x), wide(y), wide(z)}), x.type);
  }
  Scalar square_root(const Scalar& x) const { return of_library("sqrt", {x}); }
  Scalar mathematical(Primitive primitive, const Scalar& x, const Scalar& y) const {
    const auto& facts = ir::info(primitive);
    return {fmt::format("math::{}({}{})", facts.name, x.text, facts.arity == 2 ? ", " + y.text : ""), x.type};
  }

  Scalar equal(const Scalar& x, const Scalar& y) const { return compare("==", x, y); }
  Scalar not_equal(const Scalar& x, const Scalar& y) const { return compare("!=", x, y); }
  Scalar less(const Scalar& x, const Scalar& y) const { return compare("<", x, y); }
  Scalar less_equal(const Scalar& x, const Scalar& y) const { return compare("<=", x, y); }
  Scalar unordered(const Scalar& x) const { return compare("!=", x, x); }
  Scalar select(const Scalar& condition, const Scalar& x, const Scalar& y) const {
    return {fmt::format("{} ? {} : {}", operand(condition), operand(x), operand(y)), x.type, true};
  }

  Scalar bit_and(const Scalar& x, const Scalar& y) const { return infix("&", x, y); }
  Scalar bit_or(const Scalar& x, const Scalar& y) const { return infix("|", x, y); }
  Scalar bit_xor(const Scalar& x, const Scalar& y) const { return infix("^", x, y); }
  Scalar logical_not(const Scalar& x) const { return prefix("!", x); }

  Scalar shift_left(const Scalar& x, const Scalar& by) const { return of_integers("shift_left", {x, by}); }
  Scalar shift_right(const Scalar& x, const Scalar& by) const { return infix(">>", x, by); }
  Scalar shift_right_unsigned(const Scalar& x, const Scalar& by) const {
    return of_integers("shift_right_unsigned", {x, by});
  }
  Scalar count_ones(const Scalar& x) const { return of_integers("count_ones", {x}); }
  Scalar leading_zeros(const Scalar& x) const { return of_integers("leading_zeros", {x}); }
  Scalar trailing_zeros(const Scalar& x) const { return of_integers("trailing_zeros", {x}); }
  Scalar floor(const Scalar& x) const { return of_library("floor", {x}); }
  Scalar ceiling(const Scalar& x) const { return of_library("ceil", {x}); }
  Scalar truncate(const Scalar& x) const { return of_library("trunc", {x}); }
  Scalar copy_sign(const Scalar& x, const Scalar& sign) const { return of_library("copysign", {x, sign}); }
  Scalar reinterpret(const Scalar& x, ScalarType to) const {
    return convert(fmt::format("reinterpreted<{}>", type_text(to)), x, to);
  }

  Scalar to_integer(const Scalar& x, ScalarType to) const { return convert(type_text(to), x, to); }
  Scalar to_float(const Scalar& x, ScalarType to) const { return convert(type_text(to), x, to); }
  Scalar saturate(const Scalar& x, ScalarType to) const {
    const Scalar number = x.type == ScalarType::float16 ? to_float(x, ScalarType::float32) : x;
    return convert(fmt::format("saturate<{}>", type_text(to)), number, to);
  }

 private:
  static std::string operand(const Scalar& x) { return x.compound ? "(" + x.text + ")" : x.text; }
  static Scalar prefix(const char* op, const Scalar& x) { return {op + operand(x), x.type, true}; }
  static Scalar compare(const char* op, const Scalar& x, const Scalar& y) {
    return {fmt::format("{} {} {}", operand(x), op, operand(y)), ScalarType::boolean, true};
  }
  static Scalar convert(const std::string& function, const Scalar& x, ScalarType to) {
    return {fmt::format("{}({})", function, x.text), to};
  }
  static Scalar infix(const char* op, const Scalar& x, const Scalar& y) {
    const Scalar plain{fmt::format("{} {} {}", operand(x), op, operand(y)), x.type, true};
    // What is smaller than int, C++ computes in int.
    return size_of(x.type) < 4 ? convert(type_text(x.type), plain, x.type) : plain;
  }
  static Scalar wrapping(const char* op, const char* function, const Scalar& x, const Scalar& y) {
    // Halves are added as floats and rounded to a half.
    return ir::is_float(x.type) ? infix(op, x, y) : of_integers(function, {x, y});
  }
  /// A function of kernels/cuda/scalar.cuh.
  static Scalar of_integers(std::string_view function, std::initializer_list<Scalar> x) {
    return {fmt::format("{}({})", function, joined(x)), x.begin()->type};
  }
  /// A function of the C library: those of floats are called sqrtf.
  static Scalar of_library(std::string_view name, std::initializer_list<Scalar> x) {
    const ScalarType type = x.begin()->type;
    const Scalar result{fmt::format("{}{}({})", name, type == ScalarType::float64 ? "" : "f", joined(x)),
                        type};
    return type == ScalarType::float16 ? convert(type_text(type), result, type) : result;
  }
  static std::string joined(std::initializer_list<Scalar> x) {
    std::string operands;
    for (const Scalar& each : x) operands += (operands.empty() ? "" : ", ") + each.text;
    return operands;
  }

  ScalarText& scalars_;
  const ir::Node& node_;
  const std::string& result_;
};

ExprTexts ScalarText::primitive(const ir::Node& node) {
  const ScalarType type = ir::PrimitiveTerm(node).operand_type();
  const ScalarType result_type = node.type().scalars[0];
  std::vector<PrimitiveBuilder::Scalar> x;
  for (const auto& child : node.children()) x.push_back({words(*child)[0], type});
  const auto& facts = ir::info(node.payload().primitive);
  if (facts.mathematical || (facts.can_fail && ir::is_integer(type))) out_.place(node.place());
  const std::string result = name(node);
  PrimitiveBuilder builder(*this, node, result);
  const auto value =
      kernel::build_primitive(builder, node.payload().primitive, result_type, std::span(std::as_const(x)));
  out_.line(fmt::format("const {} {} = {};", type_text(result_type), result, value.text));
  return {result};
}

void ScalarText::check(const ir::Node& node, const std::string& good, const std::string& value,
                       const std::string& bound) {
  if (brief)
    out_.line(fmt::format("good = good && {};", good));
  else
    out_.line(
        fmt::format("failure.unless({}, {}, {}, {}, {});", good, check_of(node), element, value, bound));
}

ExprTexts ScalarText::read(const ir::Node& node) {
  const ir::Node& parameter = *ir::Read(node).array();
  const ArrayText& array = arrays_.at(&parameter);
  const auto& scalars = parameter.type().scalars;
  const bool own = is_pointwise && is_pointwise(node);
  if (own && !array.fetched.empty()) {
    ExprTexts out;
    for (std::size_t c = 0; c < scalars.size(); ++c)
      out.push_back(!use_.of_node(node, c)              ? literal_text(scalars[c], 0)
                    : scalars[c] == ScalarType::boolean ? "(" + array.fetched[c] + " != 0)"
                                                        : array.fetched[c]);
    return out;
  }
  const std::string result = name(node);
  const bool is_only_element = node.op() == ir::Op::index && parameter.type().rank == 0;
  const bool checked = !own && !node.payload().in_bounds && !is_only_element;
  std::string at = own_position;
  out_.place(node.place());
  if (!own) {
    const ExprTexts& index = words(*ir::Read(node).at());
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
        check(node, tests.size() == 1 ? result + "_ok" : fmt::format("in_range({}, {})", i, extent), i,
              extent);
    }
    if (array.base.empty())
      at = linear.empty() ? "0" : linear;
    else
      at = linear.empty() ? array.base : fmt::format("add({}, {})", array.base, linear);
  }
  ExprTexts out;
  for (std::size_t c = 0; c < scalars.size(); ++c) {
    const std::string part = scalars.size() == 1 ? result : fmt::format("{}_{}", result, c);
    out.push_back(part);
    if (!use_.of_node(node, c)) {
      out_.line(fmt::format("const {} {} = {};  // not read: nobody uses it", type_text(scalars[c]), part,
                            literal_text(scalars[c], 0)));
      continue;
    }
    const char* function = scalars[c] == ScalarType::boolean ? "load_bool" : "load";
    const std::string place = fmt::format("{}, {}", array.buffers[c], at);
    out_.line(fmt::format(
        "const {} {} = {}{};", type_text(scalars[c]), part, function,
        checked ? fmt::format("_if({}_ok, {}, &a.error->zero)", result, place) : "(" + place + ")"));
  }
  return out;
}

// Conditionals and loops ------------------------------------------------------------------------------------

ExprTexts ScalarText::cond(const kernel::Regions& regions, int region, const ir::Node& node) {
  const int inner = regions.inner(region, node);
  const ir::Cond sides(node);
  const std::string condition = words(*sides.condition())[0];
  const std::string result = name(node);
  const auto& scalars = node.type().scalars;
  ExprTexts out;
  for (std::size_t c = 0; c < scalars.size(); ++c)
    out.push_back(scalars.size() == 1 ? result : fmt::format("{}_{}", result, c));
  if (regions[inner].nodes.empty() && regions[inner + 1].nodes.empty()) {
    const ExprTexts &x = words(*sides.then()), &y = words(*sides.otherwise());
    for (std::size_t c = 0; c < out.size(); ++c)
      out_.line(
          fmt::format("const {} {} = {} ? {} : {};", type_text(scalars[c]), out[c], condition, x[c], y[c]));
    return out;
  }
  for (std::size_t c = 0; c < out.size(); ++c)
    out_.line(fmt::format("{} {};", type_text(scalars[c]), out[c]));
  out_.place(node.place());
  out_.open(fmt::format("if ({}) {{", condition));
  side(regions, inner, *sides.then(), out);
  out_.reopen("} else {");
  side(regions, inner + 1, *sides.otherwise(), out);
  out_.close();
  return out;
}

void ScalarText::side(const kernel::Regions& regions, int region, const ir::Node& result,
                      const ExprTexts& into) {
  const auto here = mark();
  emit_region(regions, region);
  const ExprTexts& values = words(result);
  for (std::size_t c = 0; c < into.size(); ++c) out_.line(fmt::format("{} = {};", into[c], values[c]));
  undo(here);
}

ExprTexts ScalarText::loop(const kernel::Regions& regions, int region, const ir::Node& node) {
  const int inner = regions.inner(region, node);
  const ir::Node& predicate = *ir::WhileLoop(node).predicate();
  const ir::Node& body = *ir::WhileLoop(node).body();
  const ExprTexts initial = words(*ir::WhileLoop(node).initial());
  const std::string result = name(node);
  const auto& scalars = node.type().scalars;
  ExprTexts state, next;
  for (std::size_t c = 0; c < scalars.size(); ++c) {
    state.push_back(scalars.size() == 1 ? result : fmt::format("{}_{}", result, c));
    next.push_back(state.back() + "_next");
    out_.line(fmt::format("{} {} = {};", type_text(scalars[c]), state[c], initial[c]));
  }
  out_.place(node.place());
  // The rounds between two reads of the stop word are an inner loop, unrolled with one counter.
  const std::string rounds = result + "_rounds", more = result + "_more";
  out_.line(fmt::format("u32 {} = 0;", rounds));
  out_.open(fmt::format("for (bool {0} = !stop.raised; {0};) {{", more));
  const bool is_large = regions[inner].cost + regions[inner + 1].cost > unroll_cost;
  out_.line(is_large ? "#pragma unroll 1" : "#pragma unroll 4");
  out_.open(fmt::format("for ({0} = 0; {0} < rounds_between_looks; ++{0}) {{", rounds));
  const auto end_if = [&](const std::string& condition) {
    out_.open(fmt::format("if ({}) {{", condition));
    out_.line(more + " = false;");
    out_.line("break;");
    out_.close();
  };
  end_if("!good || failure.any()");  // after a failure the loop may not terminate
  const auto here = mark();
  bind(*predicate.parameters()[0], state);
  emit_region(regions, inner);
  end_if("!" + words(*predicate.result())[0]);
  bind(*body.parameters()[0], state);
  emit_region(regions, inner + 1);
  const ExprTexts& values = words(*body.result());
  for (std::size_t c = 0; c < state.size(); ++c)
    out_.line(fmt::format("const {} {} = {};", type_text(scalars[c]), next[c], values[c]));
  for (std::size_t c = 0; c < state.size(); ++c) out_.line(fmt::format("{} = {};", state[c], next[c]));
  undo(here);
  out_.close();
  out_.line(fmt::format("stop.count({});", rounds));
  out_.line(fmt::format("{0} = {0} && !stop.raised;", more));
  out_.close();
  return state;
}

}  // namespace anabranch::cuda
