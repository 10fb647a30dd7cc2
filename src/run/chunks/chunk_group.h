#pragma once

#include <vector>

#include "run/chunks/chunk_geometry.h"

/// One chunk of a stage while its group's steps are executed, on whichever back end.
namespace anabranch::runtime {

/// Goes through the steps; a back end says what each of them does.
class ChunkGroup : public ChunkGeometry {
 public:
  using ChunkGeometry::ChunkGeometry;

 protected:
  void run_steps();
  virtual void run_step(const plan::KernelStep& step, std::size_t number) = 0;
  virtual void run_step(const plan::OffsetsStep& step, std::size_t number) = 0;
  virtual void run_step(const plan::RequireStep& step, std::size_t number) = 0;
  virtual void run_step(const plan::RearrangeStep& step, std::size_t number) = 0;
  virtual void run_step(const plan::NestedStep& step, std::size_t number) = 0;
  /// A kernel for equal items computes a part of the chunk.
  void took_equal_items() { took_equal_items_ = true; }
  bool has_equal_items() const { return took_equal_items_; }
  /// What no later step reads may be given back.
  virtual void give_back_after(std::size_t number) = 0;

  /// Values of a kernel's scalar slots; of that for equal items where it is given.
  std::vector<std::int64_t> scalars_of(const plan::KernelStep& step, const plan::EqualItems* equal);
  /// Where the kernel takes an array's first element to be, counted from where it has its place: for equal items arrays
  /// are regular; of what is read by a consecutive view the chunk has a part.
  std::int64_t bias_of(const plan::BufferRef& ref, const plan::EqualItems* equal) const {
    if (ref.view >= 0) {
      const plan::PlanArray& view = stage_.group.arrays[static_cast<std::size_t>(ref.view)];
      if (items_of_array(ref.view) == 0) return 0;
      return values(view.part)[0] - (equal ? 0 : first_of(view));
    }
    return equal && !ref.global ? first_of(stage_.group.arrays[static_cast<std::size_t>(ref.index)]) : 0;
  }
  std::int64_t bytes_per_element(const plan::BufferRef& ref) const {
    if (ref.global && ref.view < 0) return 0;  // not counted from elsewhere
    const auto array = static_cast<std::size_t>(ref.view >= 0 ? ref.view : ref.index);
    const ScalarType type = stage_.group.arrays[array].type.scalars[static_cast<std::size_t>(ref.component)];
    return static_cast<std::int64_t>(size_of(type));
  }
  /// Addresses for a kernel's buffer slots, of a back end's type: `array(ref)`, `offsets(descriptor)` and
  /// `item_extents(item array, dimension)` know where things are.
  template <class Address, class Array, class Offsets, class ItemExtents>
  static std::vector<Address> bind_buffers(const plan::KernelStep& step, Array&& array, Offsets&& offsets,
                                           ItemExtents&& item_extents) {
    std::vector<Address> buffers;
    buffers.reserve(step.buffers.size());
    for (const plan::BufferRef& ref : step.buffers) {
      switch (ref.kind) {
        case plan::BufferRef::Kind::array:
          buffers.push_back(array(ref));
          break;
        case plan::BufferRef::Kind::offsets:
          buffers.push_back(offsets(ref.index));
          break;
        case plan::BufferRef::Kind::item_extents:
          buffers.push_back(
              item_extents(static_cast<std::size_t>(ref.index), static_cast<std::size_t>(ref.component)));
          break;
      }
    }
    return buffers;
  }

 private:
  bool took_equal_items_ = false;
};

}  // namespace anabranch::runtime
