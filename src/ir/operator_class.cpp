#include "ir/operator_class.h"

#include "ir/views.h"

namespace anabranch::ir {

namespace {

struct Component {
  const Node* node;
  int c;
};

/// The node that makes component c of an element, seen through tuples and projections.
Component maker_of(const Node* node, int c) {
  for (;;) {
    if (node->op() == Op::project) {
      c += Project(*node).first();
      node = Project(*node).value().get();
    } else if (node->op() == Op::tuple) {
      for (const Ref& part : node->children()) {
        if (c < part->type().components()) {
          node = part.get();
          break;
        }
        c -= part->type().components();
      }
    } else {
      return {node, c};
    }
  }
}

}  // namespace

fold_order::OperatorClass fold_order_class(const Node& lambda) {
  using fold_order::OperatorClass;
  const Node* left = lambda.parameters()[0].get();
  const Node* right = lambda.parameters()[1].get();
  const int components = lambda.result()->type().components();
  for (int c = 0; c < components; ++c) {
    const Component maker = maker_of(lambda.result().get(), c);
    if (maker.node->op() != Op::primitive || !info(maker.node->payload().primitive).identity)
      return OperatorClass::ordered;
    const auto operands = PrimitiveTerm(*maker.node).operands();
    const Component a = maker_of(operands[0].get(), 0);
    const Component b = maker_of(operands[1].get(), 0);
    if (a.node != left || a.c != c || b.node != right || b.c != c) return OperatorClass::ordered;
  }
  return components > 0 ? OperatorClass::commutative : OperatorClass::ordered;
}

std::optional<Primitive> primitive_in_any_order(const Node& lambda) {
  const Node& result = *lambda.result();
  if (result.type().components() != 1) return {};
  const auto of_parameters = [&](const Ref& a, const Ref& b) {
    const Ref &left = lambda.parameters()[0], &right = lambda.parameters()[1];
    return (a == left && b == right) || (a == right && b == left);
  };
  const auto is = [](const Ref& term, bool value) {
    return term->op() == Op::constant && (term->payload().bits != 0) == value;
  };
  if (result.op() == Op::cond && result.type().scalars[0] == ScalarType::boolean) {
    const Cond cond(result);
    if (is(cond.then(), true) && of_parameters(cond.condition(), cond.otherwise())) return Primitive::bit_or;
    if (is(cond.otherwise(), false) && of_parameters(cond.condition(), cond.then()))
      return Primitive::bit_and;
  }
  if (result.op() != Op::primitive ||
      !joins_in_any_order(result.payload().primitive, result.type().scalars[0]))
    return {};
  const auto operands = PrimitiveTerm(result).operands();
  return of_parameters(operands[0], operands[1]) ? std::optional(result.payload().primitive) : std::nullopt;
}

}  // namespace anabranch::ir
