#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/simplify.h"
#include "ir/staged.h"
#include "ir/walk.h"
#include "plan/expand.h"
#include "plan/plan.h"

/// Internal to plan::build: what is being built.
namespace anabranch::plan {

class KernelBuilder;

/// What all groups of one plan share.
struct Context {
  const ir::Staged& staged;
  Expander expand;
  ir::Simplifier simplify;  ///< not into arrays: facts and the manifest set know arrays by address
  std::unordered_map<const ir::Node*, std::pair<int, int>> stream_results;  ///< consume -> stage, sink
  std::unordered_map<const ir::Node*, int> controls;                        ///< loop or branch -> its number
  std::unordered_map<const ir::Node*, std::vector<ir::Ref>> together;  ///< reduction -> all of its kernel
  /// Operation that gives several arrays -> those that are stored.
  std::unordered_map<const ir::Node*, std::vector<ir::Ref>> results_of;
};

/// Whether the items of this array may lie over each other: windows that are long, of which only kernels read. Flat
/// loops over all items have none.
bool may_overlap(const ir::Stage& stage, const ir::Ref& item);

/// Are all but the outermost known to be above 0? Then that one follows from the number of elements.
bool inner_extents_are_positive(std::span<const ir::Ref> extents);

/// Builds the arrays, uniforms, descriptors and steps of one group.
class GroupBuilder {
 public:
  /// `global` and `stage` are null for the global group itself.
  GroupBuilder(Context& context, Group& group, GroupBuilder* global, const ir::Stage* stage)
      : context_(context), group_(group), global_(global), stage_(stage) {
    if (stage) group_.domains.emplace_back();
  }

  /// Extents that are computed and must not be negative, of arrays of this group: asked for when `provide`
  /// meets the array, and of the rest by `require_rest`, when all else is planned.
  void check(std::span<const ir::ExtentCheck> checks);
  void require_rest(std::span<const ir::ExtentCheck> checks);
  /// Plans every manifest array of this group that these terms read, in order of dependence.
  void provide(std::span<const ir::Ref> roots);
  /// Number of the plan array for a manifest array of this group; makes it, and its kernel, if it is new.
  int array_of(const ir::Ref& node);
  /// A stage result: an array of this group, written by a kernel of this group.
  int result_of(const ir::Ref& node, int result);
  int uniform_of(const ir::Ref& e);
  ir::Ref uniform(int number) const { return group_.uniforms[static_cast<std::size_t>(number)]; }
  PlanExtent extent_of(const ir::Ref& extent);
  /// That an array can be reshaped so, though nothing is read of what that gives.
  void require_size(const ir::Ref& reshape);
  /// Descriptor of arrays with these extents, in any order; some depend on the item.
  int descriptor_of(const std::vector<ir::Ref>& extents, const ir::Node& what);
  OffsetType offset_type(int descriptor) const;

  const PlanArray& array(int number) const { return group_.arrays[static_cast<std::size_t>(number)]; }
  const std::vector<ir::Ref>& item_extents(int item) const;
  /// Is the array given by the stage's source ragged (outermost extent from offsets)?
  bool ragged_item(int item) const;
  /// Does this array belong to the global group, though this group is a chunk's?
  bool is_global(const ir::Ref& array) const {
    return stage_ && context_.staged.facts_of(array).form == ir::Form::avoided;
  }
  /// Is this array one of the stage's items?
  bool is_item(const ir::Ref& array) const { return item_number(array.get()) >= 0; }
  /// Is it the item's number, of which nothing need be stored?
  bool is_number(const ir::Ref& array) const;
  /// Or what a program inside of the stage gives?
  bool is_of_items(const ir::Ref& array) const {
    return is_item(array) || (stage_ && ir::is_nested(*stage_, *array));
  }
  bool over_items() const { return stage_ != nullptr; }
  Context& context() { return context_; }
  GroupBuilder* global() { return global_; }

 private:
  bool depends_on_item(const ir::Node& node) const;
  int item_number(const ir::Node* p) const;
  std::vector<const ir::Node*> size_key(const std::vector<ir::Ref>& extents);
  int item_with(const std::vector<const ir::Node*>& key);
  const ArrayInfo* source_info(int item) const;
  int size_array(const ir::Ref& e);
  int first_of_chunk(const ir::Ref& e);
  int add_size(const ir::Ref& e, int domain);
  int make_array(const ir::Ref& node);
  int enter_array(const ir::Ref& node, PlanArray array);
  void make_together(const std::vector<ir::Ref>& arrays);
  void make_results(const std::vector<ir::Ref>& results);
  bool make_nested(const ir::Ref& wanted);
  int make_view(const ir::Ref& part);
  RearrangeStep::Input whole_input(const ir::Ref& array, bool once);
  int copy_of(const ir::Ref& node);
  void shape_of(PlanArray& array, const ir::Facts& facts, const ir::Node& node);
  void add_definition(int output, const ir::Ref& node);
  void add_map(int output, const ir::Ref& body, std::span<const ir::Ref> index, const std::string& name,
               const Place& place);
  void add_maps(std::span<const int> outputs, std::span<const ir::Ref> arrays);
  void begin_rows(Kernel& kernel, kernel::Row& row, const ir::Ref& array, const ir::Node& first);
  void add_element(Kernel& kernel, const kernel::Row& row, const ir::Ref& array, int axis);
  void measure_rows(KernelBuilder& builder, kernel::Row& row, const ir::Ref& array, int axis);
  void measure_rows(KernelBuilder& builder, kernel::Row& row, const std::vector<ir::Ref>& extents, int axis,
                    const ir::Node& of);
  std::vector<ir::Ref> rows_index(kernel::Row& row, const ir::Ref& array, const Place& place);
  /// What a kernel with rows gives: its results, of which those that are not stored have number -1, and its epilogues.
  struct Made {
    std::span<const int> outputs;
    std::span<const ir::Ref> results;
    std::span<const int> of_epilogues;
    std::span<const ir::Ref> epilogues;
  };
  static int number_stored(const Made& made);
  std::vector<ir::Ref> position_in(const Kernel& kernel, const kernel::Row& row, int axis);
  void add_rows(std::span<const int> outputs, std::span<const ir::Ref> arrays);
  void add_epilogues(KernelBuilder& builder, Kernel& kernel, const Made& made,
                     const std::function<std::optional<std::size_t>(const ir::Ref&)>& result_at,
                     const std::vector<ir::Ref>& position, kernel::KernelOutput::Write write);
  void add_reduce(const Made& made);
  /// False where the rows of a fold are no such ones (unrolled_folds.cpp).
  bool add_unrolled(int output, const ir::Ref& fold);
  void finish_reduce(KernelBuilder& builder, KernelStep& step, kernel::Reduce reduce,
                     std::span<const ir::Ref> folds);
  void add_scan(const Made& made);
  void add_recurrence(const Made& made);
  void add_rearrange(std::span<const int> outputs, std::span<const ir::Ref> results);
  PlanLayout rows_of(const ir::Ref& array, int axis, bool once);
  void require_extents(const ir::Ref& array);
  void require_within(const ir::Ref& extent);
  void require_now(const ir::Ref& extent);
  void compare(const ir::Node& extent);
  struct Unchecked;
  void compare(const Unchecked& unchecked, const ir::Node& array);
  void compare_items(const ir::Node& array);
  bool is_counted(const ir::Node& extent, const ir::Node& array) const;
  bool makes_offsets_of(const ir::Node& extent) const;
  void require_reshape(const ir::Ref& node);
  void require(RequireStep::Kind kind, const ir::Node& array, const ir::Ref& value);

  Context& context_;
  Group& group_;
  GroupBuilder* global_;
  const ir::Stage* stage_;
  std::unordered_map<const ir::Node*, int> arrays_;
  std::unordered_map<const ir::Node*, int> uniforms_;
  std::unordered_map<const ir::Node*, int> sizes_;
  std::unordered_map<const ir::Node*, int> firsts_;  ///< of a chunk's first item, in a domain of its own
  int first_domain_ = 0;
  std::map<std::pair<const ir::Node*, int>, int> nested_extents_;  ///< consume node, dimension -> its sizes
  std::map<std::vector<const ir::Node*>, int> descriptors_;
  struct Unchecked {
    const ir::Node* extent;
    const ir::Node* items;  ///< ExtentCheck::items
  };
  std::unordered_map<const ir::Node*, std::vector<Unchecked>> unchecked_;  ///< array -> extents
  std::unordered_map<const ir::Node*, const ir::Node*> of_extent_;         ///< extent -> array
  ir::NodeSet counts_compared_;                                            ///< numbers of items
  ir::NodeSet required_;  ///< arrays before which all that is to be compared has been
  ir::NodeSet in_work_;   ///< that a kernel for several arrays gives
  ir::NodeSet reshaped_;  ///< whose sizes are required to agree
  std::vector<ir::Ref> kept_;
};

/// The operator of a fold or scan, its parameters fresh, and its seed.
template <class Rows>
kernel::Reduction reduction_of(const Rows& rows, const Place& place, Expander& expand);

}  // namespace anabranch::plan
