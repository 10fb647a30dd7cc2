#pragma once

#include <array>
#include <cstdint>
#include <vector>

/// How much of two kinds of work was done at the same time.
namespace anabranch::timeline {

/// From `begin` to before `end`, in ns of any one clock.
struct Interval {
  std::int64_t begin = 0, end = 0;
};

/// Measures of the times at which some copy, some kernel, or both at once were running: several of one kind
/// at the same time count once.
struct OverlapTimes {
  std::int64_t copy_ns = 0, kernel_ns = 0, both_ns = 0;
  /// What could have overlapped is the shorter of the two. 0 where there was none of one kind.
  double share() const;
};

/// Takes intervals in any order and forgets what is long past, so that a stream of any length needs little
/// memory: of an interval that comes more than some thousand others late, what lies in the forgotten past
/// does not count.
class Overlap {
 public:
  void add_copy(Interval interval) { add(copies, interval); }
  void add_kernel(Interval interval) { add(kernels, interval); }
  OverlapTimes times() const;

 private:
  static constexpr std::size_t copies = 0, kernels = 1, kept_at_most = 8192;
  void add(std::size_t kind, Interval interval);
  /// Adds up all before `horizon` and forgets it.
  void settle(std::int64_t horizon);

  std::array<std::vector<Interval>, 2> kept_;
  std::int64_t horizon_ = INT64_MIN;
  OverlapTimes settled_;
};

}  // namespace anabranch::timeline
