#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include "random.h"

namespace anabranch::bench {

/// Links between 2^scale nodes at places that R-MAT gives (a = 0.57, b = c = 0.19), some of them several times; nodes are
/// renumbered at random, so that those with many links do not lie side by side.
class RmatLinks {
 public:
  RmatLinks(int scale, std::uint64_t seed)
      : scale_(scale), random_(seed), number_(std::size_t{1} << static_cast<unsigned>(scale)) {
    std::iota(number_.begin(), number_.end(), 0);
    shuffle(number_, random_);
  }

  /// The usual number: 16 a node.
  std::int64_t usual_count() const { return 16 * static_cast<std::int64_t>(number_.size()); }

  /// From, to.
  std::array<std::int32_t, 2> next() {
    constexpr std::uint32_t unit = 1U << 16, a = unit * 57 / 100, a_and_b = unit * 76 / 100,
                            all_but_d = unit * 95 / 100;
    std::size_t from = 0, to = 0;
    for (int bit = 0; bit < scale_; ++bit) {
      const auto r = static_cast<std::uint32_t>(random_() & (unit - 1));
      from = 2 * from + (r >= a_and_b ? 1 : 0);
      to = 2 * to + ((r >= a && r < a_and_b) || r >= all_but_d ? 1 : 0);
    }
    return {number_[from], number_[to]};
  }

 private:
  int scale_;
  Random random_;
  std::vector<std::int32_t> number_;
};

}  // namespace anabranch::bench
