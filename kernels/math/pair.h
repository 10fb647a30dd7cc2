#pragma once

namespace anabranch::math {

/// high + low: a number and what it lacks.
template <class F>
struct Pair {
  F high;
  F low;
};

}  // namespace anabranch::math
