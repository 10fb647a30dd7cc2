#include "ir/print.h"

#include <bit>

#include <fmt/format.h>

#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::ir {

namespace {

const char* infix(Primitive op) {
  switch (op) {
    case Primitive::add:
      return "+";
    case Primitive::subtract:
      return "-";
    case Primitive::multiply:
      return "*";
    case Primitive::divide:
      return "/";
    case Primitive::remainder:
      return "%";
    case Primitive::equal:
      return "==";
    case Primitive::not_equal:
      return "!=";
    case Primitive::less:
      return "<";
    case Primitive::less_equal:
      return "<=";
    case Primitive::bit_and:
      return "&";
    case Primitive::bit_or:
      return "|";
    case Primitive::bit_xor:
      return "^";
    case Primitive::shift_left:
      return "<<";
    case Primitive::shift_right:
      return ">>";
    case Primitive::negate:
    case Primitive::absolute:
    case Primitive::minimum:
    case Primitive::maximum:
    case Primitive::fma:
    case Primitive::logical_not:
    case Primitive::rotate_left:
    case Primitive::count_ones:
    case Primitive::leading_zeros:
    case Primitive::trailing_zeros:
    case Primitive::floor:
    case Primitive::ceiling:
    case Primitive::round:
    case Primitive::truncate:
    case Primitive::copy_sign:
    case Primitive::bitcast:
    case Primitive::square_root:
    case Primitive::exp:
    case Primitive::exp2:
    case Primitive::log:
    case Primitive::log2:
    case Primitive::log10:
    case Primitive::sin:
    case Primitive::cos:
    case Primitive::tan:
    case Primitive::asin:
    case Primitive::acos:
    case Primitive::atan:
    case Primitive::sinh:
    case Primitive::cosh:
    case Primitive::tanh:
    case Primitive::asinh:
    case Primitive::acosh:
    case Primitive::atanh:
    case Primitive::erf:
    case Primitive::cbrt:
    case Primitive::rsqrt:
    case Primitive::pow:
    case Primitive::atan2:
    case Primitive::hypot:
    case Primitive::cast:
      return nullptr;
  }
  return nullptr;
}

std::string joined(const std::vector<std::string>& parts) {
  return fmt::format("{}", fmt::join(parts, ", "));
}

constexpr std::size_t longest_inline = 60;

}  // namespace

std::string constant_text(const Node& c) {
  const ScalarType type = c.type().scalars[0];
  return anabranch::detail::with_scalar(type, [&]<class T>(std::type_identity<T>) -> std::string {
    const T value = anabranch::detail::value_of<T>(c.payload().bits);
    if constexpr (std::same_as<T, half>) return fmt::format("{}h", static_cast<float>(value));
    return fmt::format("{}{}", value, type == ScalarType::float32 ? "f" : "");
  });
}

std::string Printer::name(const Node& node) {
  auto [it, fresh] = names_.try_emplace(&node);
  if (!fresh) return it->second;
  std::string invented;
  if (node.op() == Op::parameter && node.type().is_element())
    invented = fmt::format("x{}", parameters_++);
  else if (node.type().is_array() || node.type().is_several())
    invented = fmt::format("a{}", arrays_++);
  else if (node.type().is_sequence())
    invented = fmt::format("s{}", sequences_++);
  else
    invented = fmt::format("t{}", scalars_++);
  return names_[&node] = invented;
}

std::string Printer::text(const Node& node, const std::unordered_map<const Node*, std::string>& done,
                          const std::string& indent) {
  const auto of = [&](const Ref& operand) {
    if (operand->op() == Op::lambda) return lambda(*operand, indent);
    const auto it = done.find(operand.get());
    return it != done.end() ? it->second : name(*operand);
  };
  if (node.op() == Op::lambda) return lambda(node, indent);
  if (!node.op().is_a<ScalarOp>()) return name(node);
  std::vector<std::string> parts;
  switch (node.op().as<ScalarOp>()) {
    case Op::constant:
      return constant_text(node);
    case Op::primitive: {
      const Primitive primitive = node.payload().primitive;
      const auto operands = PrimitiveTerm(node).operands();
      if (primitive == Primitive::cast)
        return fmt::format("{}({})", name_of(node.type().scalars[0]), of(operands[0]));
      if (primitive == Primitive::bitcast)
        return fmt::format("bitcast<{}>({})", name_of(node.type().scalars[0]), of(operands[0]));
      if (const char* sign = infix(primitive))
        return fmt::format("({} {} {})", of(operands[0]), sign, of(operands[1]));
      for (const Ref& operand : operands) parts.push_back(of(operand));
      return fmt::format("{}({})", info(primitive).name, joined(parts));
    }
    case Op::tuple:
      for (const Ref& part : node.children()) parts.push_back(of(part));
      return fmt::format("({})", joined(parts));
    case Op::project: {
      const Project part(node);
      if (part.count() == 1) return fmt::format("{}.{}", of(part.value()), part.first());
      return fmt::format("{}.[{}..{}]", of(part.value()), part.first(), part.first() + part.count() - 1);
    }
    case Op::cond: {
      const Cond cond(node);
      return fmt::format("(if {} then {} else {})", of(cond.condition()), of(cond.then()),
                         of(cond.otherwise()));
    }
    case Op::while_loop: {
      const WhileLoop loop(node);
      for (const Ref& part : {loop.predicate(), loop.body(), loop.initial()}) parts.push_back(of(part));
      return fmt::format("while({})", joined(parts));
    }
    case Op::index:
      return fmt::format("{}{}[{}]", of(Read(node).array()), node.payload().in_bounds ? "" : "?",
                         of(Read(node).at()));
    case Op::linear_index:
      return fmt::format("{}{}.linear[{}]", of(Read(node).array()), node.payload().in_bounds ? "" : "?",
                         of(Read(node).at()));
    case Op::shape:
      return fmt::format("shape({})", of(ShapeOf(node).array()));
  }
  return "?";
}

std::vector<std::string> Printer::scalars(std::span<const Ref> expressions, std::string& lets,
                                          const std::string& indent) {
  const auto scalar_only = [](const Node& n) { return !n.type().is_array() && n.op() != Op::lambda; };
  const auto order = topological(expressions, scalar_only);
  std::unordered_map<const Node*, int> uses;
  for (const Node* node : order)
    if (scalar_only(*node))
      for (const Ref& child : node->children()) ++uses[child.get()];
  std::unordered_map<const Node*, std::string> done;
  for (const Node* node : order) {
    if (!scalar_only(*node) || names_.contains(node)) continue;
    std::string line = text(*node, done, indent);
    const bool atom = node->op() == Op::parameter || node->op() == Op::constant;
    if (!atom && (uses[node] > 1 || line.size() > longest_inline)) {
      const std::string bound = name(*node);
      lets += fmt::format("{}{} = {}\n", indent, bound, line);
      line = bound;
    }
    done[node] = std::move(line);
  }
  std::vector<std::string> results;
  for (const Ref& e : expressions) {
    const auto it = done.find(e.get());
    results.push_back(it != done.end() ? it->second : name(*e));
  }
  return results;
}

std::string Printer::scalar(const Ref& expression, std::string& lets, const std::string& indent) {
  return scalars({&expression, 1}, lets, indent)[0];
}

std::string Printer::lambda(const Node& function, const std::string& indent) {
  std::vector<std::string> parameters;
  for (const Ref& p : function.parameters()) parameters.push_back(name(*p));
  const std::string deeper = indent + "    ";
  std::string lets;
  const auto results = scalars(function.results(), lets, deeper);
  const std::string head = fmt::format("\\{} -> ", fmt::join(parameters, " "));
  const std::string body = results.size() == 1 ? results[0] : fmt::format("({})", joined(results));
  if (lets.empty()) return head + body;
  return fmt::format("{}\n{}{}{}", head, lets, deeper, body);
}

std::string Printer::program(std::span<const Ref> roots) {
  std::string out;
  for (const Node* node : topological(roots)) {
    if (node->type().is_element() || node->op() == Op::lambda) continue;
    if (node->op() == Op::parameter && !node->closed() && !named(*node)) name(*node);
    std::string lets;
    std::vector<std::string> operands;
    for (const Ref& child : node->children()) {
      if (child->op() != Op::lambda)
        operands.push_back(child->type().is_element() ? scalar(child, lets, "  ") : name(*child));
      else if (child->result()->type().is_element())
        operands.push_back("(" + lambda(*child, "  ") + ")");
      else {
        std::vector<std::string> parameters, results;
        for (const Ref& p : child->parameters()) parameters.push_back(name(*p));
        for (const Ref& r : child->results()) results.push_back(name(*r));
        operands.push_back(fmt::format("(\\{} -> {})", fmt::join(parameters, " "), joined(results)));
      }
    }
    if (node->op() == Op::parameter) operands.clear();
    if (node->op() == Op::project_array) operands[0] += fmt::format(".{}", ProjectArray(*node).which());
    std::string op =
        node->op() == Op::map && node->payload().label ? node->payload().label.c_str() : name_of(node->op());
    if (node->op() == Op::scan) {
      const Scan scan(*node);
      if (scan.kind() != ScanKind{}) op += " " + to_string(scan.kind());
      if (scan.axis() != scan.array()->type().rank - 1) op += fmt::format(" along {}", scan.axis());
    }
    if (node->op() == Op::accumulate) op += fmt::format(" by {}", info(node->payload().primitive).name);
    if (node->op() == Op::trace) op += fmt::format(" \"{}\"", node->payload().text.view());
    const std::string what = node->payload().label && node->op() != Op::map
                                 ? fmt::format("{} [{}]", op, node->payload().label.view())
                                 : op;
    out += lets;
    out += fmt::format("{} : {} = {}{}{}{}\n", name(*node), to_string(node->type()), what,
                       operands.empty() ? "" : " ", fmt::join(operands, " "),
                       node->place().known() ? "    -- " + to_string(node->place()) : std::string());
  }
  return out;
}

std::string to_string(const ScanKind& kind) {
  const auto prefixes = [](Prefixes which) {
    switch (which) {
      case Prefixes::inclusive:
        return "inclusive";
      case Prefixes::exclusive:
        return "exclusive";
      case Prefixes::all:
        return "all";
    }
    throw InternalError("print: unknown prefixes");
  };
  return fmt::format("{}{}", prefixes(kind.prefixes), kind.from_right ? " from the right" : "");
}

std::string indented(const std::string& text, const std::string& indent) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    if (text[begin] != '\n') out += indent;
    out += text.substr(begin, end - begin);
    begin = end;
  }
  return out;
}

std::string title(const Node& node) {
  return node.place().known() ? fmt::format("{}@{}", node.label(), to_string(node.place())) : node.label();
}

std::string to_string(std::span<const Ref> roots) { return Printer().program(roots); }

}  // namespace anabranch::ir
