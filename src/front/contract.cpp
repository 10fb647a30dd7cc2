#include "front/contract.h"

#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::front {

using namespace ir;

namespace {
bool is(const Ref& node, Primitive op) {
  return node->op() == Op::primitive && node->payload().primitive == op;
}
}  // namespace

std::vector<Ref> contract(std::span<const Ref> roots) {
  NodeMap<int> uses;
  for (const Node* node : topological(roots))
    for (const Ref& child : node->children()) ++uses[child.get()];

  Rewriter rewriter([&](const Ref& original, const Ref& rebuilt) -> Ref {
    if (!is(rebuilt, Primitive::add) || !is_float(rebuilt->type().scalars[0])) return rebuilt;
    // A term without free parameters is no part of a function's body.
    if (original->closed()) return rebuilt;
    for (std::size_t side : {std::size_t{0}, std::size_t{1}}) {
      const auto summands = PrimitiveTerm(rebuilt).operands();
      if (!is(summands[side], Primitive::multiply)) continue;
      if (uses[PrimitiveTerm(original).operands()[side].get()] != 1) continue;
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
