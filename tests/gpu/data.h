#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <type_traits>
#include <vector>

#include <anabranch/anabranch.h>
#include <anabranch/io.h>

/// What the programs of these tests compute on.
namespace anabranch::testing {

inline std::mt19937_64 engine;

template <class T>
Vector<T> random_numbers(std::int64_t n) {
  Vector<T> v(Index{n});
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = std::ldexp(static_cast<double>(engine() >> 11), -53) - 0.5;
    v.set(i, anabranch::detail::FloatValue<T> ? static_cast<T>(x) : static_cast<T>(x * 2000));
  }
  return v;
}

/// Sparse, with columns anywhere and values in [-1/2, 1/2).
struct Matrix {
  std::int64_t cols;
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int32_t> columns;
  std::vector<double> values;

  template <class Length>
  Matrix(std::int64_t rows, std::int64_t width, Length&& length) : cols(width) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::int64_t n = length(i);
      for (std::int64_t k = 0; k < n; ++k) {
        columns.push_back(static_cast<std::int32_t>(engine() % static_cast<std::uint64_t>(cols)));
        values.push_back(std::ldexp(static_cast<double>(engine() >> 11), -53) - 0.5);
      }
      offsets.push_back(offsets.back() + n);
    }
  }
  auto source() const {
    return io::csr_view(static_cast<std::int64_t>(offsets.size()) - 1, cols, std::span(offsets),
                        std::span(columns), std::span(values));
  }
};

/// Lengths with P(length >= n) = 1 / n, up to 50,000.
inline std::int64_t power_law(std::int64_t /*row*/) {
  return std::min<std::int64_t>(50'000, (1 << 20) / static_cast<std::int64_t>(engine() % (1 << 20) + 1));
}

/// A row of it times x.
inline auto times_row(const Vector<double>& x) {
  return [x = use(x)](auto row) {
    auto [columns, values] = unzip(row);
    return fold(plus, 0.0, zip_with(times, values, gather(columns, x)));
  };
}

}  // namespace anabranch::testing
