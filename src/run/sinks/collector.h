#pragma once

#include <vector>

#include "run/sinks/sink.h"

namespace anabranch::runtime {

/// A sink that keeps the elements of all parts, one after the other.
class Collector : public Sink {
 public:
  /// `directly`: parts are written to the memory that the caller gives; else only what `finish` makes of them.
  Collector(const SinkWork& work, bool directly);
  bool order_matters() const final { return true; }
  std::vector<void*> room(std::int64_t elements) override;
  std::vector<void*> place(std::int64_t first, std::int64_t elements) const final;
  std::int64_t elements() const final { return elements_; }
  scheduler::Reservation take_reservation() final { return std::move(reservation_); }

 protected:
  /// The room holds so many more.
  void keep(std::int64_t elements);
  /// Only the first elements are kept. Their memory counts as before: it is not given back before the end.
  void cut(std::int64_t elements);
  /// What has been kept, in this shape.
  HostArray array_of(std::vector<std::int64_t> extents);

  const RunContext& context_;
  const plan::PlanArray& array_;
  const HostArray into_;
  const bool directly_;
  const std::int64_t placed_;           ///< so many elements have a place before they are computed
  std::vector<GrowingBuffer> buffers_;  ///< per component
  scheduler::Reservation reservation_;

 private:
  std::int64_t elements_ = 0;
};

}  // namespace anabranch::runtime
