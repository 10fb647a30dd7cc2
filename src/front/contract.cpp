#include "front/contract.h"

#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::front {

using namespace ir;

namespace {
bool is(const Ref& node, Primitive op) {
  return node->op() == Op::primitive && node->payload().primitive == op;
}

/// Which functions terms belong to: the innermost on whose parameters they depend.
class Functions {
 public:
  void add(const Node& lambda) {
    for (const Ref& parameter : lambda.parameters()) of_[parameter.get()] = &lambda;
  }
  /// `node` is not closed. Null: the program, which has parameters of its own.
  const Node* of(const Node& node) const {
    // An inner function is called while the outer one is, and has its parameters later.
    const Node* innermost = nullptr;
    for (const Node* parameter : node.free())
      if (!innermost || parameter->id() > innermost->id()) innermost = parameter;
    const auto found = of_.find(innermost);
    return found != of_.end() ? found->second : nullptr;
  }

 private:
  NodeMap<const Node*> of_;
};
}  // namespace

std::vector<Ref> contract(std::span<const Ref> roots) {
  NodeMap<int> uses;
  Functions functions;
  for (const Node* node : topological(roots)) {
    for (const Ref& child : node->children()) ++uses[child.get()];
    if (node->op() == Op::lambda) functions.add(*node);
  }

  Rewriter rewriter([&](const Ref& original, const Ref& rebuilt) -> Ref {
    if (!is(rebuilt, Primitive::add) || !is_float(rebuilt->type().scalars[0])) return rebuilt;
    // A term without free parameters is no part of a function's body.
    if (original->closed()) return rebuilt;
    for (std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const auto summands = PrimitiveTerm(rebuilt).operands();
      if (!is(summands[side], Primitive::multiply)) continue;
      const Ref product = PrimitiveTerm(original).operands()[side];
      if (uses[product.get()] != 1 || product->closed() || functions.of(*product) != functions.of(*original))
        continue;
      const auto factors = PrimitiveTerm(summands[side]).operands();
      return primitive(Primitive::fma, {factors[0], factors[1], summands[1 - side]}, rebuilt->place());
    }
    return rebuilt;
  });
  std::vector<Ref> contracted;
  for (const Ref& root : roots) contracted.push_back(rewriter(root));
  return contracted;
}

}  // namespace anabranch::front
