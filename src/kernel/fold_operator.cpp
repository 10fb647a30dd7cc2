#include "kernel/fold_operator.h"

namespace anabranch::kernel {

Operators::Operators(const Kernel& kernel) {
  const auto append = [](std::vector<ir::Ref>& to, const std::vector<ir::Ref>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  for (const Reduction& r : reduce_of(kernel).reductions) {
    append(left, r.left);
    append(right, r.right);
    append(combine, r.combine);
    append(seed, r.seed);
    seeded.resize(combine.size(), !r.seed.empty());
    if (!r.seed.empty()) append(seeded_combine, r.combine);
  }
}

namespace {

ir::Primitive operator_of(const ir::Ref& combined) {
  const ir::Node* node = combined.get();
  // A tuple of one part, and a projection of one component, are the part itself.
  const auto is_whole = [](const ir::Node& part) {
    return (part.op() == ir::Op::tuple || part.op() == ir::Op::project) && part.children().size() == 1 &&
           part.children().front()->type().components() == 1;
  };
  while (is_whole(*node)) node = node->children().front().get();
  if (node->op() != ir::Op::primitive) throw InternalError("fold kernel: the operator is not commutative");
  return node->payload().primitive;
}

}  // namespace

ir::Primitive operator_of(const Kernel& kernel, std::size_t c) {
  for (const Reduction& r : reduce_of(kernel).reductions) {
    if (c < r.combine.size()) return operator_of(r.combine[c]);
    c -= r.combine.size();
  }
  throw InternalError("fold kernel: no such component");
}

std::uint64_t identity_of(ir::Primitive primitive, ScalarType type) {
  using enum ir::Primitive;
  const auto& identities = ir::scalar_info(type).identities;
  switch (primitive) {
    case add:
      return identities.add;
    case multiply:
      return identities.multiply;
    case minimum:
      return identities.minimum;
    case maximum:
      return identities.maximum;
    case bit_and:
      return identities.bit_and;
    case bit_or:
      return identities.bit_or;
    case bit_xor:
      return identities.bit_xor;
    case subtract:
    case divide:
    case remainder:
    case negate:
    case absolute:
    case fma:
    case equal:
    case not_equal:
    case less:
    case less_equal:
    case logical_not:
    case square_root:
    case exponential:
    case logarithm:
    case sine:
    case cosine:
    case cast:
      break;
  }
  throw InternalError("fold kernel: the operator is not commutative");
}

}  // namespace anabranch::kernel
