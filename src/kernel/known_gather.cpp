#include "kernel/known_gather.h"

#include "ir/views.h"
#include "kernel/pointwise.h"
#include "kernel/regions.h"

namespace anabranch::kernel {

namespace {

/// What is converted to int64, without that.
const ir::Node& without_cast(const ir::Node& node) {
  const bool casts = node.op() == ir::Op::primitive && node.payload().primitive == ir::Primitive::cast;
  return casts ? *ir::PrimitiveTerm(node).operands()[0] : node;
}

}  // namespace

std::optional<KnownGather> known_gather(const Kernel& kernel) {
  if (!row_of(kernel)) return std::nullopt;
  for (const ir::Node* node : reachable(kernel.body)) {
    if (!ir::is_read(node->op())) continue;
    const KernelArray* const from = array_of(kernel, *node);
    if (!from || from->form != Form::avoided || from->extents.size() != 1) continue;
    const ir::Node* at = &without_cast(*ir::Read(*node).at());
    int component = 0;
    if (at->op() == ir::Op::project) {
      component = ir::Project(*at).first();
      at = ir::Project(*at).value().get();
    }
    if (!ir::is_read(at->op()) || !at_own_element(kernel, *at)) continue;
    const KernelArray* const positions = array_of(kernel, *at);
    const ScalarType type = positions->type.scalars[static_cast<std::size_t>(component)];
    if (positions->form == Form::segmented && (type == ScalarType::int32 || type == ScalarType::int64))
      return KnownGather{node, from, positions, component};
  }
  return std::nullopt;
}

}  // namespace anabranch::kernel
