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

}  // namespace anabranch::kernel
