#include "plan/equal_items.h"

#include <algorithm>
#include <optional>

#include "kernel/pointwise.h"

namespace anabranch::plan {

namespace {

using kernel::KernelExtent;
using kernel::KernelOutput;
using kernel::Layout;

/// Rows up to such lengths, one for each item, are computed several at a time only where their lengths are in offsets
/// (row_group.h, short_scans.h in src/cpu/llvm), which is faster.
constexpr std::int64_t short_row = 12, short_scan = 40;

class Builder {
 public:
  Builder(const KernelStep& step, const Group& group) : step_(step), group_(group) {
    out_.kernel = step.kernel;
  }

  std::shared_ptr<const EqualItems> build() {
    Kernel& kernel = out_.kernel;
    if (!kernel.domain.over_items) return nullptr;
    if (const kernel::Row* row = kernel::row_of(kernel)) {
      out_.from_length = least_length();
      out_.length = kernel::row_of(kernel)->length.same_for_all() ? -1 : number_of(row->length);
    }
    regular(kernel.domain);
    for (kernel::KernelArray& array : kernel.arrays) regular(array);
    for (KernelOutput& output : kernel.outputs) regular(output.array);
    for (kernel::KernelScalar& scalar : kernel.scalars) uniform(scalar.value);
    std::visit(kernel::overloaded{[](kernel::Map&) {}, [&](auto& form) { rows(form.row); }}, kernel.form);
    kernel.scalar_slots += static_cast<int>(out_.extents.size());
    if (!possible_ || !changed_) return nullptr;
    return std::make_shared<const EqualItems>(std::move(out_));
  }

 private:
  std::int64_t least_length() const {
    const Kernel& kernel = step_.kernel;
    const kernel::Row& row = *kernel::row_of(kernel);
    if (!kernel.domain.extents.empty() || row.length.kind != KernelExtent::Kind::ragged) return 0;
    if (std::holds_alternative<kernel::Scan>(kernel.form)) return short_scan;
    const auto* reduce = std::get_if<kernel::Reduce>(&kernel.form);
    const bool in_groups = reduce && reduce->order == ir::fold_order::OperatorClass::commutative;
    return in_groups && kernel::is_flat_fold(kernel) ? short_row : 0;
  }

  const BufferRef& buffer(int slot) const { return step_.buffers[static_cast<std::size_t>(slot)]; }

  /// What an extent that differs from item to item is to the plan.
  std::optional<PlanExtent> planned(const KernelExtent& extent) const {
    const BufferRef& ref = buffer(extent.slot);
    PlanExtent out;
    out.kind = PlanExtent::Kind::item_extent;
    if (extent.kind == KernelExtent::Kind::ragged) {
      if (ref.kind != BufferRef::Kind::offsets) return std::nullopt;
      const Descriptor& descriptor = group_.descriptors[static_cast<std::size_t>(ref.index)];
      if (descriptor.item < 0) return descriptor.extents[0];  // of a vector
      out.index = descriptor.item;
      return out;
    }
    out.index = ref.index;
    out.dimension = ref.component;
    if (ref.kind == BufferRef::Kind::array) {
      out.kind = PlanExtent::Kind::per_item;
      if (ref.global) return std::nullopt;
    }
    return out;
  }

  /// Its number among `extents`.
  int number_of(const KernelExtent& extent) {
    const std::optional<PlanExtent> known = planned(extent);
    if (!known) {
      possible_ = false;
      return 0;
    }
    const auto found = std::find(out_.extents.begin(), out_.extents.end(), *known);
    if (found == out_.extents.end()) {
      out_.extents.push_back(*known);
      return static_cast<int>(out_.extents.size()) - 1;
    }
    return static_cast<int>(found - out_.extents.begin());
  }

  void uniform(KernelExtent& extent) {
    if (extent.same_for_all() || extent.kind == KernelExtent::Kind::number) return;
    KernelExtent same;
    same.kind = KernelExtent::Kind::uniform;
    same.slot = step_.kernel.scalar_slots + number_of(extent);
    extent = same;
  }

  void regular(Layout& layout) {
    for (KernelExtent& extent : layout.extents) uniform(extent);
    if (layout.form != ir::Form::segmented) return;
    // Items of a view that are not consecutive lie anywhere.
    if (buffer(layout.offsets).kind != BufferRef::Kind::offsets) possible_ = false;
    changed_ = true;
    layout.form = ir::Form::regular;
    layout.offsets = -1;
    layout.offset_type = OffsetType::int64;
  }

  void rows(kernel::Row& row) {
    changed_ = changed_ || !row.length.same_for_all();
    uniform(row.length);
    row.work_offsets = -1;
    row.work_offset_type = OffsetType::int64;
  }

  const KernelStep& step_;
  const Group& group_;
  EqualItems out_;
  bool possible_ = true;
  bool changed_ = false;  ///< more than numbers that the bodies mention
};

}  // namespace

std::shared_ptr<const EqualItems> equal_items(const KernelStep& step, const Group& group) {
  return Builder(step, group).build();
}

}  // namespace anabranch::plan
