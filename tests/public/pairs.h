#pragma once

#include <limits>

#include "agree.h"

/// Rows of pairs of numbers, for tests of binary operations.
namespace anabranch::testing {

template <class T>
using Pairs = Vector<std::tuple<T, T>>;

template <class T>
std::vector<T> borders() {
  using L = std::numeric_limits<T>;
  if constexpr (detail::FloatValue<T>)
    return {T(0),     T(-0.0),         T(1),          T(-2.5),           L::max(),      L::lowest(),
            L::min(), L::denorm_min(), L::infinity(), T(-L::infinity()), L::quiet_NaN()};
  else
    return {T(0), T(1), T(2), T(7), T(-1), T(-7), L::max(), L::min(), T(L::max() / 2), T(L::min() + 1)};
}

/// All pairs of borders, nothing, one pair, and rows of ordinary numbers.
template <class T, class Admit>
std::vector<Pairs<T>> rows_of_pairs(Admit admit) {
  std::vector<std::tuple<T, T>> pairs;
  for (T x : borders<T>())
    for (T y : borders<T>())
      if (admit(x, y)) pairs.emplace_back(x, y);
  std::vector<Pairs<T>> rows{Pairs<T>(pairs), Pairs<T>{}, Pairs<T>{{T(6), T(3)}}};
  for (std::int64_t n : {33, 64, 130})
    rows.push_back(vector_of(n, [&](std::int64_t i) {
      const auto at = static_cast<std::uint64_t>(i);
      const T x = number<T>(2 * at), y = number<T>(2 * at + 1);
      return admit(x, y) ? std::tuple(x, y) : std::tuple(x, T(3));
    }));
  return rows;
}

}  // namespace anabranch::testing
