#pragma once

#include <span>

#include "run/sinks/collector.h"

namespace anabranch::runtime {

/// `tabulate`: the items stacked, each of their extents trimmed to its minimum over the stream.
class TabulateSink final : public Collector {
 public:
  explicit TabulateSink(const SinkWork& work);
  void commit(std::int64_t items, const PartShape::Result& part) override;
  HostArray finish() override;

 private:
  /// The extents of a part's items, one vector per dimension (or one value, if uniform).
  void add_extents(std::int64_t items, const std::vector<std::vector<std::int64_t>>& extents);
  HostArray finish_trimmed(std::vector<std::int64_t> extents);
  /// Moves the elements of every item into the common, smallest shape.
  void trim_items(std::span<const std::int64_t> trimmed, std::int64_t size);

  std::int64_t items_ = 0;
  /// Per dimension: one value while all agree, else one per item.
  std::vector<std::vector<std::int64_t>> extents_;
};

}  // namespace anabranch::runtime
