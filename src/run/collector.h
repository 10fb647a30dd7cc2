#pragma once

#include <vector>

#include "run/context.h"

/// Results of a stage, gathered over its chunks.
namespace anabranch::runtime {

/// What is known of a result's size before the first chunk, in elements.
struct ResultSize {
  std::int64_t certain = 0;  ///< reserved at once
  /// A guess: so much address space is taken, where it is larger, but only what is written counts.
  std::int64_t likely = 0;
};

/// Collects one result over all chunks: flat values and, where items differ in shape, their extents.
class ResultCollector {
 public:
  /// `into`: memory of the caller for the result, or null.
  ResultCollector(RunContext& context, const plan::PlanArray& array, ir::Op terminal, const ResultSize& size,
                  HostArray into);
  /// Addresses for `elements` more, one per component.
  std::vector<void*> room(std::int64_t elements);
  void commit(std::int64_t elements);
  /// tabulate: the extents of the items of a chunk, one vector per dimension (or one value, if uniform).
  void add_items(std::int64_t items, const std::vector<std::vector<std::int64_t>>& extents);
  HostArray finish();
  std::int64_t elements() const { return elements_; }
  /// The result's part of the memory bound, for as long as the result lives.
  scheduler::Reservation take_reservation() { return std::move(reservation_); }

 private:
  HostArray finish_tabulate();
  /// Moves the elements of every item into the common, smallest shape.
  void trim_items(const std::vector<std::int64_t>& trimmed, std::int64_t size);
  HostArray array_of(std::vector<std::int64_t> extents);

  const plan::PlanArray& array_;
  ir::Op terminal_;
  HostArray into_;
  bool directly_ = false;  ///< results are written to `into_` as they come
  std::vector<GrowingBuffer> buffers_;
  scheduler::Reservation reservation_;
  std::int64_t elements_ = 0;
  std::int64_t items_ = 0;
  std::vector<std::vector<std::int64_t>>
      extents_;  ///< per dimension: one value while all agree, else one per item
};

}  // namespace anabranch::runtime
