#pragma once

/// What every mathematical function's tests check.

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <thread>
#include <vector>

#include "math/machine.h"
#include "math/measure.h"
#include "support/catch.h"

namespace anabranch::test {

/// For the doubles that exponentials of floats are compared with: where floats overflow or vanish doubles
/// need not, and their routines are slow there.
inline double beyond_floats(double x) { return std::clamp(x, -300.0, 300.0); }

/// A sample of 2^20 floats or 2^18 doubles of the ranges, and all special numbers: no error above the bound.
template <class F>
void check_sample(const MathFunction<F>& f) {
  const Measured<F> drawn = measure_drawn(f, sizeof(F) == 4 ? 1 << 20 : 1 << 18);
  INFO(f.name << ": " << drawn.text());
  CHECK(drawn.ulp <= f.bound);
  const Measured<F> special = measure_specials(f);
  INFO(f.name << ": " << special.text());
  CHECK(special.ulp <= f.bound);
}

/// All floats of a function of one argument; else 10^8 arguments. Prints the largest error, which
/// docs/mathematics.md names.
template <class F>
void check_whole(const MathFunction<F>& f) {
  Measured<F> all;
  if constexpr (sizeof(F) == 4) {
    all = f.y.empty() ? measure_all(f) : measure_drawn(f, 100'000'000);
  } else {
    all = measure_drawn(f, 100'000'000);
  }
  fmt::print("{}: {}\n", f.name, all.text());
  std::fflush(stdout);
  CHECK(all.ulp <= f.bound);
}

template <class F>
bool same_bits(F a, F b) {
  using Bits = math::BitsOf<F>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

/// Where the fast path holds, the full path gives the same bits: at special numbers and at `count` of each
/// range.
template <class F, class FastPath, class FullPath>
void check_fast(const MathFunction<F>& f, FastPath fast_path, FullPath full_path, int count = 1 << 20) {
  int held = 0;
  int differing = 0;
  F where = 0;
  const auto check = [&](F x) {
    const math::Fast<F> fast = fast_path(x);
    if (!fast.holds) return;
    ++held;
    if (same_bits(fast.value, full_path(x))) return;
    ++differing;
    where = x;
  };
  for (const F x : special_numbers<F>()) check(x);
  Draw draw(7);
  for (const Range& range : f.x) {
    for (int i = 0; i < count; ++i) check(draw.number<F>(range));
  }
  INFO(f.name << ": " << differing << " of " << held << " differ, one at " << where);
  CHECK(differing == 0);
  CHECK(held > count / 2);
}

/// Where the fast path holds, the full path gives the same bits: at every float.
template <class FastPath, class FullPath>
void check_fast_everywhere(const char* name, FastPath fast_path, FullPath full_path) {
  constexpr std::uint64_t all = std::uint64_t{1} << 32, block = 1 << 16;
  std::atomic<std::uint64_t> next{0}, held{0}, differing{0};
  const auto work = [&] {
    for (std::uint64_t from = next.fetch_add(block); from < all; from = next.fetch_add(block)) {
      std::uint64_t held_here = 0, differing_here = 0;
      for (std::uint64_t bits = from; bits < from + block; ++bits) {
        const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
        const math::Fast<float> fast = fast_path(x);
        held_here += fast.holds;
        differing_here += fast.holds && !same_bits(fast.value, full_path(x));
      }
      held += held_here;
      differing += differing_here;
    }
  };
  std::vector<std::jthread> threads(std::max(1U, std::thread::hardware_concurrency()) - 1);
  for (std::jthread& thread : threads) thread = std::jthread(work);
  work();
  threads.clear();
  fmt::print("the fast path of {} holds for {} floats, {} differ\n", name, held.load(), differing.load());
  std::fflush(stdout);
  CHECK(differing == 0);
  CHECK(held > all / 8);
}

}  // namespace anabranch::test
