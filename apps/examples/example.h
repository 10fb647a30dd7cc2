#pragma once

#include <anabranch/anabranch.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

/// What the programs of this folder have in common: sizes from the command line, numbers to work on, checks.
namespace anabranch::examples {

/// The first argument of the program as a number; `otherwise`, if it has none. 0 where it is negative or no number.
inline std::int64_t size_from(int argc, char** argv, std::int64_t otherwise) {
  return argc > 1 ? std::max<std::int64_t>(0, std::strtoll(argv[1], nullptr, 10)) : otherwise;
}

/// Numbers from 0 up to 1, the same in every run.
class Numbers {
 public:
  float next() { return static_cast<float>(bits() >> 8) * 0x1p-24F; }
  std::uint32_t bits() { return state_ = state_ * 1664525U + 1013904223U; }
  Vector<float> vector(std::int64_t n, float least = 0, float most = 1) {
    Vector<float> v(Index{n});
    for (std::int64_t i = 0; i < n; ++i) v.set(i, least + next() * (most - least));
    return v;
  }

 private:
  std::uint32_t state_ = 1;
};

inline bool close(double a, double b, double tolerance) {
  return std::abs(a - b) <= tolerance * (1 + std::abs(b));
}

/// What main returns, after a line that says so.
inline int verdict(bool right) {
  std::puts(right ? "right: a plain loop gives the same" : "WRONG: a plain loop gives something else");
  return right ? 0 : 1;
}

}  // namespace anabranch::examples
