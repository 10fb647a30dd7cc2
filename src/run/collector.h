#pragma once

#include <vector>

#include "run/execute.h"

/// Results of a stage, gathered over its chunks.
namespace anabranch {

/// Bytes of one element.
std::int64_t width_of(const ir::ArrayType& type);

/// Collects one result over all chunks: flat values and, where items differ in shape, their extents.
class ResultCollector {
 public:
  ResultCollector(RunContext& context, const plan::PlanArray& array, ir::Op terminal,
                  std::int64_t expected_elements);
  /// Addresses for `elements` more, one per component.
  std::vector<void*> room(std::int64_t elements);
  void commit(std::int64_t elements);
  /// tabulate: the extents of the items of a chunk, one vector per dimension (or one value, if uniform).
  void add_items(std::int64_t items, const std::vector<std::vector<std::int64_t>>& extents);
  HostArray finish();
  std::int64_t elements() const { return elements_; }

 private:
  HostArray finish_elements();
  HostArray finish_tabulate();

  const plan::PlanArray& array_;
  ir::Op terminal_;
  std::vector<GrowingBuffer> buffers_;
  scheduler::Reservation reservation_;
  std::int64_t elements_ = 0;
  std::int64_t items_ = 0;
  std::vector<std::vector<std::int64_t>>
      extents_;  ///< per dimension: one value while all agree, else one per item
};

}  // namespace anabranch
