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
  while ((node->op() == ir::Op::tuple && node->children().size() == 1) ||
         (node->op() == ir::Op::project && node->child(0)->type().components() == 1))
    node = node->child(0).get();
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
  const bool f32 = type == ScalarType::float32;
  const bool f64 = type == ScalarType::float64;
  switch (primitive) {
    case add:
      return f32 ? 0x80000000u : f64 ? std::uint64_t{1} << 63 : 0;
    case multiply:
      return f32 ? 0x3f800000u : f64 ? 0x3ff0000000000000u : 1;
    case minimum:
      if (f32) return 0x7f800000u;
      if (f64) return 0x7ff0000000000000u;
      return type == ScalarType::uint8 ? 0xff : type == ScalarType::int32 ? 0x7fffffffu : INT64_MAX;
    case maximum:
      if (f32) return 0xff800000u;
      if (f64) return 0xfff0000000000000u;
      return type == ScalarType::uint8 ? 0 : type == ScalarType::int32 ? 0x80000000u : std::uint64_t{1} << 63;
    case bit_and:
      return type == ScalarType::boolean ? 1 : ~std::uint64_t{0};
    case bit_or:
    case bit_xor:
      return 0;
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

bool seed_may_go_first(const Kernel& kernel) {
  const Reduce& reduce = reduce_of(kernel);
  if (!all_seeded(reduce) || reduce.order != ir::fold_order::OperatorClass::commutative) return false;
  for (const Reduction& r : reduce.reductions)
    for (std::size_t c = 0; c < r.combine.size(); ++c) {
      const ScalarType type = r.combine[c]->type().scalars[0];
      const ir::Primitive primitive = operator_of(r.combine[c]);
      if (!ir::is_float(type) || primitive == ir::Primitive::minimum || primitive == ir::Primitive::maximum)
        continue;
      const ir::Node& seed = *r.seed[c];
      if (seed.op() != ir::Op::constant) return false;
      if (seed.payload().bits != identity_of(primitive, type) &&
          !(primitive == ir::Primitive::add && seed.payload().bits == 0))
        return false;
    }
  return true;
}

}  // namespace anabranch::kernel
