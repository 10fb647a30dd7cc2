#pragma once

#include <cstdint>

/// How much the rest of the machine is in the way.
namespace anabranch::bench {

/// Waits until no other process wants a processor, `patience` seconds at most; says whether that was reached.
bool wait_for_quiet(double patience);

/// Between construction and `disturbed`: whether the system
/// took a processor away from this process or a child of it.
class Watch {
 public:
  Watch();
  bool disturbed() const;

 private:
  std::int64_t switches_;
};

}  // namespace anabranch::bench
