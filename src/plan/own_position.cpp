#include "plan/own_position.h"

#include "plan/regions.h"

namespace anabranch::plan {

bool at_own_position(const Kernel& kernel, const ir::Node& node) {
  if (node.op() != ir::Op::index) return false;
  for (const auto& array : kernel.arrays) {
    if (array.parameter != node.child(0)) continue;
    if (array.form != kernel.output.form || array.extents != kernel.output.extents) return false;
    if (array.form == Form::segmented &&
        (array.offsets != kernel.output.offsets || array.offset_type != kernel.output.offset_type))
      return false;
    // The index must be the domain's own: (i0, i1, ...), or i0 alone.
    const ir::Node& index = *node.child(1);
    if (kernel.index.size() == 1 && &index == kernel.index[0].get()) return true;
    if (index.op() != ir::Op::tuple || index.children().size() != kernel.index.size()) return false;
    for (std::size_t d = 0; d < kernel.index.size(); ++d)
      if (index.child(d) != kernel.index[d]) return false;
    return true;
  }
  return false;
}

bool is_flat(const Kernel& kernel) {
  if (kernel.output.extents.empty()) return false;
  const auto nodes =
      reachable(kernel.body, [&](const ir::Node& node) { return at_own_position(kernel, node); });
  for (const ir::Node* node : nodes) {
    if (at_own_position(kernel, *node)) continue;
    if (node->op() == ir::Op::parameter) {
      for (const auto& index : kernel.index)
        if (index.get() == node) return false;
      for (const auto& scalar : kernel.scalars)
        if (scalar.parameter.get() == node && scalar.value.kind != Extent::Kind::constant &&
            scalar.value.kind != Extent::Kind::uniform)
          return false;
    }
    if (node->op() != ir::Op::index && node->op() != ir::Op::linear_index) continue;
    for (const auto& array : kernel.arrays)
      if (array.parameter == node->child(0) && array.form != Form::avoided) return false;
  }
  return true;
}

}  // namespace anabranch::plan
