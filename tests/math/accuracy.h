#pragma once

/// Asserting the bounds of a table of functions. `test_math -s` shows the errors measured.

#include <vector>

#include "math/measure.h"
#include "support/catch.h"

namespace anabranch::test {

template <class F>
void check_measured(const MathFunction<F>& f, const Measured<F>& measured) {
  INFO(f.name << (sizeof(F) == 4 ? " of float: " : " of double: ") << measured.text());
  CHECK(measured.ulp <= f.bound);
}

/// The special numbers, and `count` drawn from every range.
template <class F>
void check_accuracy(const std::vector<MathFunction<F>>& functions, std::uint64_t count) {
  for (const MathFunction<F>& f : functions) {
    check_measured(f, measure_specials(f));
    check_measured(f, measure_drawn(f, count));
  }
}

/// All floats.
inline void check_all(const std::vector<MathFunction<float>>& functions) {
  for (const MathFunction<float>& f : functions) check_measured(f, measure_all(f));
}

}  // namespace anabranch::test
