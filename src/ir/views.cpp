#include "ir/views.h"

#include <algorithm>
#include <concepts>

#include <fmt/format.h>

namespace anabranch::ir {

void wrong_view(const Node& node, std::initializer_list<Op> expected) {
  std::string names;
  for (const Op op : expected) names += fmt::format("{}{}", names.empty() ? "" : " or ", name_of(op));
  throw InternalError(fmt::format("expected {}, not {}", names, name_of(node.op())));
}

namespace {

/// Is it a literal for which that holds?
template <class F>
bool is_literal(const Node& term, F holds) {
  if (term.op() != Op::constant) return false;
  return anabranch::detail::with_scalar(term.type().scalars[0], [&]<class T>(std::type_identity<T>) {
    if constexpr (std::integral<T>) return holds(anabranch::detail::value_of<T>(term.payload().bits));
    return false;
  });
}

}  // namespace

bool can_fail(const Node& primitive) {
  const PrimitiveTerm term(primitive);
  if (!info(primitive.payload().primitive).can_fail || !is_integer(term.operand_type())) return false;
  const Node& divisor = *term.operands()[1];
  const auto not_0_nor_minus_1 = [](auto n) { return n != 0 && n != static_cast<decltype(n)>(-1); };
  if (is_literal(divisor, not_0_nor_minus_1)) return false;
  if (divisor.op() != Op::primitive || divisor.payload().primitive != Primitive::maximum) return true;
  const auto bounds = PrimitiveTerm(divisor).operands();
  return std::none_of(bounds.begin(), bounds.end(),
                      [](const Ref& bound) { return is_literal(*bound, [](auto n) { return n >= 1; }); });
}

std::optional<ExtentOf> as_extent(const Node& term) {
  if (term.op() == Op::shape && term.type().components() == 1) return ExtentOf{ShapeOf(term).array(), 0};
  if (term.op() != Op::project) return std::nullopt;
  const Project part(term);
  if (part.value()->op() != Op::shape || part.count() != 1) return std::nullopt;
  return ExtentOf{ShapeOf(part.value()).array(), part.first()};
}

}  // namespace anabranch::ir
