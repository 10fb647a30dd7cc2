#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "plan/group_builder.h"

/// Internal to plan::build: binds what the bodies of one kernel mention (arrays, extents, shapes) to slots.
namespace anabranch::plan {

class KernelBuilder {
 public:
  KernelBuilder(GroupBuilder& group, KernelStep& step) : group_(group), step_(step), kernel_(step.kernel) {
    kernel_.domain.over_items = group.over_items();
  }

  /// An array of the group, or of the global one, as this kernel sees it.
  KernelArray array(int number, bool global);
  /// The positions that the kernel computes.
  void domain(const PlanLayout& layout);
  /// The kernel writes this array of the group: the results' components from `first` on.
  void write(int number, std::size_t first,
             kernel::KernelOutput::Write how = kernel::KernelOutput::Write::position);
  /// One of several results for each position that the array holds, as its innermost dimension.
  void write_one_of(int number, std::size_t first, std::int64_t which, std::int64_t of);
  KernelExtent extent_of(const ir::Ref& e) { return bound(group_.extent_of(e), false); }
  /// The length of a vector of an item, which this extent tells as well.
  KernelExtent length_in(int descriptor, const KernelExtent& extent);
  int offsets_slot(int descriptor) { return buffer({BufferRef::Kind::offsets, false, descriptor, 0}); }
  /// Binds every body at once, so that what they share stays shared, and lists what can fail in them.
  void bind(const std::vector<std::vector<ir::Ref>*>& bodies);
  void finish();

 private:
  kernel::Layout layout(const PlanLayout& plan, bool global);
  int buffer(const BufferRef& ref);
  int scalar(int uniform);
  KernelExtent bound(const PlanExtent& extent, bool global);
  KernelExtent bound_to_offsets(int item);
  ir::Ref rule(const ir::Ref& original, const ir::Ref& rebuilt);
  ir::Ref scalar_for(const ir::Ref& e);
  ir::Ref whole_shape(const ir::Node& shape);
  ir::Ref number_of_item();
  ir::Ref array_parameter(const ir::Ref& node);
  void unshare_functions(const std::vector<std::vector<ir::Ref>*>& bodies);
  void find_checks(const std::vector<ir::Ref>& body);
  void drop_needless_checks();

  GroupBuilder& group_;
  KernelStep& step_;
  Kernel& kernel_;
  std::unordered_map<const ir::Node*, ir::Ref> arrays_;
  std::unordered_map<const ir::Node*, ir::Ref> scalars_;
  ir::Ref number_;  ///< of the item in its stream; null: nothing mentions it
  std::vector<ir::Ref> kept_;
};

}  // namespace anabranch::plan
