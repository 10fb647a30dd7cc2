// Deals a stream to a device, which has a queue, and to a host, which computes at once, by what both have cost so
// far: the device is asked first, and what the host takes meanwhile is done before the queue runs dry.
#pragma once

#include <cstdint>
#include <deque>

#include "scheduler/cost_model.h"

namespace anabranch::scheduler {

/// Not thread-safe.
class Dealer {
 public:
  /// So much work is behind what the device had already.
  void queued(int slot, double work, std::int64_t now_ns);
  /// It is done, or given up.
  void done(int slot, std::int64_t now_ns);
  void host_took(double work, double ns);

  /// For how long the device has still to do, as far as is known.
  double rest_ns(std::int64_t now_ns) const;
  /// How much the host should take of a chunk of which `left` is left, while the queue is full.
  double host_piece(double whole, double left, std::int64_t now_ns) const;

 private:
  struct Queued {
    int slot = 0;
    double work = 0;
    std::int64_t since_ns = 0;
  };
  double expected_ns(double work) const { return work * device_.cost_near(work); }

  std::deque<Queued> queue_;
  std::int64_t free_ns_ = 0;  ///< when the device was done with what it did last
  CostModel device_, host_;
};

}  // namespace anabranch::scheduler
