// What the next read is told, and what happens after one that did not fit: half of it is tried, down to one
// item; one item that needs more than a slot's part of the memory waits until the ring is empty and is then
// the only one, with all of it. Not thread-safe.
#pragma once

#include <memory>

#include "scheduler/controller.h"

namespace anabranch::scheduler {

class ReadPlan {
 public:
  ReadPlan(std::unique_ptr<Controller> controller, const ControllerConfig& config);

  /// Whether another chunk may be in flight beside those that are.
  bool has_room(int in_flight) const noexcept;
  /// The next read is for a chunk that is the only one in flight.
  bool alone() const noexcept { return lone_ == Lone::wanted; }
  Decision next() { return next(wish()); }
  /// The two parts of it. What the controller asks for: beside any other call but `succeeded`, if the controller bears that.
  Decision wish() const { return controller_->next(so_far_); }
  /// What becomes of it.
  Decision next(Decision decision);

  void succeeded(const ChunkSize& size) noexcept;
  /// False if nothing smaller can be tried, or the source went beyond its target: then the error is final.
  bool try_smaller(const Target& target, const ChunkSize& tried);
  /// A chunk that had been read successfully has left the ring.
  void left() noexcept;
  /// A chunk was cut after it had been read.
  void too_big(const ChunkSize& tried) { controller_->too_big(tried); }
  /// Beside any other call, if the controller bears that.
  void observe(const Observation& observation) { controller_->observe(observation); }
  std::shared_ptr<const Learned> learned() const { return controller_->learned(); }

 private:
  enum class Lone { no, wanted, in_flight };

  const std::unique_ptr<Controller> controller_;
  const int64_t memory_limit_;
  const int slots_;
  int ring_;
  Lone lone_ = Lone::no;
  Target retry_;
  ChunkSize so_far_;
};

}  // namespace anabranch::scheduler
