#pragma once

#include <cstdint>
#include <vector>

#include "run/sinks/collector.h"

namespace anabranch::runtime {

/// `tabulate`: the items stacked, each of their extents trimmed to its minimum over the stream. Items are kept one after the
/// other, each in its own shape; some at a time, thousands or megabytes, are trimmed to what
/// is the minimum by then; so no more is held than about two results of the items so far, and a chunk.
class TabulateSink final : public Collector {
 public:
  explicit TabulateSink(const SinkWork& work);
  std::vector<void*> room(std::int64_t elements) override;
  void commit(std::int64_t items, const PartShape::Result& part) override;
  HostArray finish() override;

 private:
  /// Items that lie one after the other. Per dimension one extent while all agree, else one per item.
  struct Stretch {
    std::int64_t items = 0;
    std::vector<std::vector<std::int64_t>> extents;
  };

  void add_extents(std::int64_t items, const std::vector<std::vector<std::int64_t>>& extents);
  /// The open stretch is trimmed, and joined to those before it, which have been.
  void close();
  bool is_trimmed(const Stretch& stretch) const;
  void trim_closed(const HostArray& into);
  /// Moves the elements of items from element `from` on into the smallest shape, to element `to`: in place, or where the caller
  /// wants the result.
  void trim(const Stretch& stretch, std::int64_t from, std::int64_t to, const HostArray& into);

  std::int64_t items_ = 0;
  std::vector<std::int64_t> smallest_;  ///< per dimension, of all items of closed stretches
  std::vector<Stretch> closed_;         ///< each in one shape
  std::int64_t closed_elements_ = 0;
  Stretch open_;
};

}  // namespace anabranch::runtime
