#pragma once

#include <optional>
#include <vector>

#include "plan/plan.h"
#include "rearrange/rearrange.h"
#include "run/context/stage_output.h"
#include "run/sources/sources.h"
#include "scheduler/executor.h"

/// The exact shape of a chunk, which the host knows whichever back end computes it.
namespace anabranch::runtime {

/// Sizes, offsets and extents of one chunk of a stage's group. Those that depend on values become known when their
/// OffsetsStep is reached.
class ChunkGeometry {
 public:
  ChunkGeometry(const plan::StagePlan& stage, const std::vector<std::int64_t>& uniforms,
                bool names_items = true)
      : stage_(stage), names_items_(names_items) {
    shape_.uniforms = uniforms;
  }
  virtual ~ChunkGeometry() = default;
  ChunkGeometry(const ChunkGeometry&) = delete;

  /// Of a domain of the group.
  std::int64_t items(int domain) const { return shape_.items[static_cast<std::size_t>(domain)]; }
  /// Of the domain that a group array or a descriptor belongs to.
  std::int64_t items_of_array(int array) const {
    return items(stage_.group.arrays[static_cast<std::size_t>(array)].domain);
  }
  std::int64_t items_of_descriptor(int descriptor) const {
    return items(stage_.group.descriptors[static_cast<std::size_t>(descriptor)].domain);
  }
  std::int64_t items_of(const plan::KernelStep& step) const { return items(step.positions.domain); }
  /// Elements of a group array.
  std::int64_t elements(int array) const;
  /// The extents of an array's items in one dimension: one value if uniform.
  std::vector<std::int64_t> extents(int array, int dimension) const;
  /// Those in all of its dimensions.
  std::vector<std::vector<std::int64_t>> all_extents(int array) const;
  /// The kernel of the step that fits this chunk: that for equal items where its items are, else null.
  const plan::EqualItems* equal_items(const plan::KernelStep& step);
  /// Of the stage's results in this chunk.
  PartShape shape_of_results() const;

 protected:
  struct Offsets {
    const void* data = nullptr;
    OffsetType type = OffsetType::int64;
    std::vector<std::int64_t> own;  ///< computed ones
    std::int64_t first = 0;         ///< offsets[0], from which positions are counted
    std::int64_t longest = -1;      ///< elements of the longest item; -1: not computed yet
    std::int64_t in_long = -1;      ///< elements of all items longer than a block; -1: not computed yet
  };

  /// Another chunk. What is asked of it later is kept: it shares the chunk's memory until `release_items`.
  void begin(const std::vector<SourceChunk>& chunks, const std::vector<std::vector<ArrayInfo>>& infos);
  /// The items' memory is not looked at any more: nothing of the chunk is asked for after this.
  void release_items() noexcept { item_chunks_.clear(); }
  /// Offsets from the sizes of the items.
  void make_offsets(const plan::OffsetsStep& step);
  /// The same where a device has made the offsets, which stay there.
  void scanned(const plan::OffsetsStep& step, std::int64_t elements, std::int64_t longest);
  void require(const plan::RequireStep& step) const;
  /// Elements of the longest item under a descriptor's offsets. Reads them all, once per chunk.
  std::int64_t longest(int descriptor, scheduler::Executor& executor);
  /// Elements of those items that are longer than a block of the canonical order of folds, together. Reads them all once
  /// more, but only where the longest is so long. -1: the offsets are not in host memory.
  std::int64_t in_long_items(int descriptor, scheduler::Executor& executor);
  /// Values of a computed int64 array with one value an item, in host memory.
  virtual const std::int64_t* values(int array) const = 0;
  /// Are they there?
  virtual bool knows_values(int) const { return true; }
  /// Of an extent that all items of the domain have.
  std::optional<std::int64_t> common(const plan::PlanExtent& extent, int domain);
  /// Of the chunk's items, in the whole stream.
  ir::ItemNumbers numbers() const {
    return names_items_ ? ir::ItemNumbers::from(shape_.first_item) : ir::ItemNumbers::none();
  }
  std::int64_t number_of(std::int64_t item) const { return numbers().of(item); }
  std::vector<std::int64_t> shape_of(const plan::Descriptor& descriptor, std::int64_t item) const;
  /// Positions of a kernel.
  std::int64_t positions(const plan::KernelStep& step) const { return plan::positions_of(step, shape_); }
  /// The item of the chunk that a position of a kernel belongs to. The domain's offsets are in host memory.
  std::int64_t item_at(const plan::KernelStep& step, std::int64_t position) const;
  /// Whether the shapes of a result's items are needed: by its sink, or by whoever takes the items one by one.
  bool shapes_matter(std::size_t result) const;
  /// One extent of an item.
  std::int64_t dim(const plan::PlanExtent& dim, std::int64_t item) const;

  /// The number that an array's first element has: under a source's offsets positions are counted from offsets[0].
  std::int64_t first_of(const plan::PlanArray& array) const {
    return array.form == ir::Form::segmented ? offsets_[static_cast<std::size_t>(array.descriptor)].first : 0;
  }
  /// Where the items of a group array lie, or its rows (for a sort). What it refers to is kept in `offsets`.
  rearrange::Parts parts_of(int array, bool rows, std::vector<std::int64_t>& offsets) const;

  const plan::StagePlan& stage_;
  bool names_items_;  ///< in messages
  plan::ChunkShape shape_;
  std::vector<Offsets> offsets_;         ///< per descriptor
  std::vector<ArrayChunk> item_chunks_;  ///< per item array; its data lies as its descriptor's offsets say
  std::vector<const ArrayInfo*> item_infos_;

  void count_as_descriptor(const plan::PlanArray& array);

  struct Common {
    plan::PlanExtent extent;
    int domain = 0;
    std::optional<std::int64_t> value;
  };
  std::vector<Common> common_;  ///< what has been asked for
};

}  // namespace anabranch::runtime
