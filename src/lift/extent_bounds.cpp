#include "lift/extent_bounds.h"

#include <algorithm>

#include "ir/run_error.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::lift {

using namespace ir;

namespace {

constexpr int most_nodes = 1000;  ///< of a term that are looked at

bool is_number(const Node& node) { return node.type() == Type::element(ScalarType::int64); }

Bounds of_type(ScalarType type) {
  if (type == ScalarType::boolean) return {0, 1};
  if (!is_integer(type) || size_of(type) == 8) return {};
  const std::int64_t half = std::int64_t{1} << (8 * size_of(type) - 1);
  return is_signed(type) ? Bounds{-half, half - 1} : Bounds{0, 2 * half - 1};
}

/// The least and the largest of an operation's results at the ends; nothing if one of them overflows.
template <class Overflows>
Bounds at_ends(Bounds x, Bounds y, Overflows&& operation) {
  Bounds out{INT64_MAX, INT64_MIN};
  for (const std::int64_t a : {x.least, x.most})
    for (const std::int64_t b : {y.least, y.most}) {
      std::int64_t result = 0;
      if (operation(a, b, &result)) return {};
      out = {std::min(out.least, result), std::max(out.most, result)};
    }
  return out;
}

/// The factors of a product.
void factors_of(const Node& node, std::vector<const Node*>& factors) {
  if (node.op() == Op::primitive && node.payload().primitive == Primitive::multiply && factors.size() < 8)
    for (const Ref& operand : PrimitiveTerm(node).operands()) factors_of(*operand, factors);
  else
    factors.push_back(&node);
}

/// Is the product that of all extents of one array, which has so many elements?
bool is_size(const Node& product) {
  std::vector<const Node*> factors;
  factors_of(product, factors);
  const Node* array = nullptr;
  std::vector<int> dimensions;
  for (const Node* factor : factors) {
    const auto extent = as_extent(*factor);
    if (!extent || (array && extent->array.get() != array)) return false;
    array = extent->array.get();
    dimensions.push_back(extent->dimension);
  }
  std::sort(dimensions.begin(), dimensions.end());
  for (std::size_t d = 0; d < dimensions.size(); ++d)
    if (dimensions[d] != static_cast<int>(d)) return false;
  return static_cast<int>(dimensions.size()) == array->type().rank;
}

Bounds of_primitive(const Node& node, const NodeMap<Bounds>& known) {
  const auto operands = PrimitiveTerm(node).operands();
  const Primitive p = node.payload().primitive;
  if (p == Primitive::cast) return of_type(PrimitiveTerm(node).operand_type());
  if (!std::all_of(operands.begin(), operands.end(), [](const Ref& o) { return is_number(*o); })) return {};
  const auto operand = [&](std::size_t i) { return known.at(operands[i].get()); };
  const auto of_ends = [&](auto operation) { return at_ends(operand(0), operand(1), operation); };
  if (p == Primitive::multiply && is_size(node)) return {0, most_in_memory};
  if (p == Primitive::add)
    return of_ends([](auto x, auto y, auto* out) { return __builtin_add_overflow(x, y, out); });
  if (p == Primitive::subtract)
    return of_ends([](auto x, auto y, auto* out) { return __builtin_sub_overflow(x, y, out); });
  if (p == Primitive::multiply)
    return of_ends([](auto x, auto y, auto* out) { return __builtin_mul_overflow(x, y, out); });
  if (p == Primitive::minimum)
    return of_ends([](auto x, auto y, auto* out) { return *out = std::min(x, y), false; });
  if (p == Primitive::maximum)
    return of_ends([](auto x, auto y, auto* out) { return *out = std::max(x, y), false; });
  const bool quotient = p == Primitive::divide;
  if ((!quotient && p != Primitive::remainder) || operand(0).least < 0 || operand(1).least < 1) return {};
  return {0, quotient ? operand(0).most / operand(1).least : std::min(operand(0).most, operand(1).most - 1)};
}

}  // namespace

Bounds bounds_of(const Ref& term, const std::function<bool(const Node&)>& is_extent) {
  const auto is_known = [&](const Node& node) { return as_extent(node).has_value() || is_extent(node); };
  const auto enter = [&](const Node& node) {
    return (node.op() == Op::primitive || node.op() == Op::cond) &&
           node.payload().primitive != Primitive::cast && !is_known(node);
  };
  const std::vector<const Node*> nodes = topological({&term, 1}, enter);
  if (nodes.size() > most_nodes) return {};
  NodeMap<Bounds> known;
  for (const Node* node : nodes) {
    Bounds bounds;
    if (is_known(*node)) {
      const auto extent = as_extent(*node);
      bounds = {0, extent && extent->array->type().rank == 1 ? most_in_memory : most_extent};
    } else if (node->op() == Op::constant && is_number(*node)) {
      const auto value = static_cast<std::int64_t>(node->payload().bits);
      bounds = {value, value};
    } else if (node->op() == Op::primitive && is_number(*node)) {
      bounds = of_primitive(*node, known);
    } else if (node->op() == Op::cond && is_number(*node)) {
      const Bounds then = known.at(Cond(*node).then().get()),
                   otherwise = known.at(Cond(*node).otherwise().get());
      bounds = {std::min(then.least, otherwise.least), std::max(then.most, otherwise.most)};
    }
    known[node] = bounds;
  }
  return known.at(term.get());
}

}  // namespace anabranch::lift
