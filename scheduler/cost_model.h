// What a phase costs as a function of the chunk's size, learned from chunks that were timed.
//
// Two things are kept apart. The *shape*: the cost per unit of work of each size relative to the others, in
// half-octave classes. And the *level*: one factor common to all sizes, which follows the machine when it
// becomes slower or faster as a whole. Without the split a drift of the level would look like a difference
// between the size used before and the size used now. All in logarithms, because errors of time measurements
// are relative.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace anabranch::scheduler {

class CostModel {
 public:
  /// t(w) = fixed_ns + ns_per_work * w
  struct Line {
    double fixed_ns = 0;
    double ns_per_work = 0;
  };
  /// One class of sizes.
  struct Size {
    double work = 0;        ///< geometric mean of the sizes seen
    double cost = 0;        ///< ns per unit of work, at today's level
    double confidence = 0;  ///< effective number of observations; fades with age
  };

  /// `importance` < 1 for what is known to be distorted, such as a first, cold chunk. Returns true when this
  /// observation completes evidence that the level has jumped: all other sizes are then forgotten.
  bool add(double work, double ns, double importance = 1);

  /// So many surprises in a row, in one direction, are a jump.
  void believe_after(int surprises) noexcept { surprises_believed_ = surprises; }

  bool empty() const noexcept { return last_ < 0; }
  /// Two sizes, at least a factor 3 apart, are known well enough for a line through them.
  bool determined() const noexcept;
  /// Least squares of the relative error over sizes up to `largest`, with neither term negative.
  Line fit(double largest) const;
  /// The class that `work` falls into, if it has been seen.
  std::optional<Size> at(double work) const;
  /// Cost per unit at the size nearest to `work`.
  double cost_near(double work) const;
  /// The class of lowest cost, uncertainty counted against it; nullopt if nothing is known.
  std::optional<Size> best() const;
  /// The smallest class above `than` whose cost is higher by more than chance explains.
  std::optional<Size> worse_above(const Size& than) const;
  /// The known class next below.
  std::optional<Size> below(const Size& size) const;
  bool worse(const Size& than, const Size& size) const;
  double largest() const noexcept;
  double smallest() const noexcept;

  /// Typical relative error of one observation.
  double noise() const noexcept { return noise_; }
  /// Logarithm of the level.
  double level() const noexcept { return level_; }
  /// Forgets all sizes but the last one.
  void forget_others();

 private:
  static constexpr int classes = 128;  ///< half octaves of 64 bits
  struct Class {
    double log_work = 0;
    double shape = 0;
    double confidence = 0;
  };

  static int class_of(double work) noexcept;
  Size view(const Class& c) const noexcept;

  std::array<Class, classes> classes_{};
  double level_ = 0;
  double noise_ = 0.1;
  int last_ = -1;
  int surprises_believed_ = 3;
  int streak_ = 0;       ///< consecutive surprises in one direction (its sign)
  double surprise_ = 0;  ///< the smallest of them
};

}  // namespace anabranch::scheduler
