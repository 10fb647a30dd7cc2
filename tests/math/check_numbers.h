#pragma once

#include <string>
#include <vector>

#include "math/check.h"

namespace anabranch::test {

/// A function's name with its type's.
template <class F>
std::string named(const char* function) {
  return std::string(function) + (sizeof(F) == 4 ? " of float" : " of double");
}

/// At these arguments.
template <class F>
void check_numbers(const MathFunction<F>& f, const std::vector<F>& numbers) {
  const Measured<F> measured = measure_at(f, numbers);
  INFO(f.name << ": " << measured.text());
  CHECK(measured.ulp <= f.bound);
}

}  // namespace anabranch::test
