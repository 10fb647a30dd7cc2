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

}  // namespace anabranch::ir
