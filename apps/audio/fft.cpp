#include "apps/audio/fft.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

// Stockham's order of Cooley and Tukey's algorithm (Van Loan 1992, section 1.7), which needs no bit reversal: with x seen as
// radix x m x done, a step of radix r makes an array of m x r x done,
//
//   y[p, c, q] = w(p c, r m) * sum of x[k, p, q] w(k c, r) over k < r,    where w(j, n) = exp(-2 pi i j / n).
//
// Neighbours along the innermost dimension are a vector of the machine. It has one element in the first step, which
// therefore takes the larger radix and has the r results of a sum side by side.
// Expressions are handles, which are copied as numbers are.
// NOLINTBEGIN(performance-unnecessary-value-param)
namespace anabranch::apps {

namespace {

using Complex = std::complex<float>;

Complex root(std::int64_t j, std::int64_t n) {
  const double angle = -2 * std::numbers::pi * static_cast<double>(j % n) / static_cast<double>(n);
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

/// w(i j, n) at (i, j).
Acc<Matrix<Complex>> roots(std::int64_t rows, std::int64_t columns, std::int64_t n) {
  std::vector<Complex> table;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) table.push_back(root(i * j, n));
  return reshape(Index{rows, columns}, use(std::move(table)));
}

Acc<Vector<Complex>> first_step(std::int64_t n, std::int64_t radix, const Acc<Vector<Complex>>& x) {
  const auto rows = reshape(Index{radix, n / radix}, x);
  const auto of_sum = roots(radix, radix, radix), turn = roots(n / radix, radix, n);
  return flatten(generate(Index{n / radix, radix}, [=](auto at) {
    const Exp<std::int64_t> p = at[0], c = at[1];
    Exp<float> au = 0.0F, bv = 0.0F, av = 0.0F, bu = 0.0F;  // sums that do not wait for each other
    for (std::int64_t k = 0; k < radix; ++k) {
      const auto [a, b] = rows[index_of(Exp<std::int64_t>(k), p)];
      const auto [u, v] = of_sum[index_of(Exp<std::int64_t>(k), c)];
      au = au + a * u;
      bv = bv + b * v;
      av = av + a * v;
      bu = bu + b * u;
    }
    return complex(au - bv, av + bu) * turn[at];
  }));
}

/// Multiplied by -i.
Exp<Complex> quarter_turn(const Exp<Complex>& z) { return complex(imag(z), -real(z)); }

Acc<Vector<Complex>> step(std::int64_t n, std::int64_t radix, std::int64_t done,
                          const Acc<Vector<Complex>>& x) {
  const std::int64_t m = n / done / radix;
  const auto parts = reshape(Index{radix, m, done}, x);
  const auto turn = roots(m, radix, radix * m);
  return flatten(generate(Index{m, radix, done}, [=](auto at) {
    const Exp<std::int64_t> p = at[0], c = at[1], q = at[2];
    const auto part = [&](std::int64_t k) { return parts[index_of(Exp<std::int64_t>(k), p, q)]; };
    const auto odd = c % 2 == 1;
    if (radix == 2) return (part(0) + cond(odd, -1.0F, 1.0F) * part(1)) * turn[index_of(p, c)];
    const auto even = part(0) + cond(odd, -1.0F, 1.0F) * part(2);
    const auto rest = part(1) + cond(odd, -1.0F, 1.0F) * part(3);
    const auto turned = cond(odd, quarter_turn(rest), rest);
    return (even + cond(c < 2, 1.0F, -1.0F) * turned) * turn[index_of(p, c)];
  }));
}

}  // namespace

Acc<Vector<Complex>> fft(std::int64_t n, Acc<Vector<Complex>> x) {
  std::int64_t done = std::min<std::int64_t>(n, 16);
  x = first_step(n, done, x);
  while (done < n) {
    const std::int64_t radix = n / done % 4 == 0 ? 4 : 2;
    x = step(n, radix, done, x);
    done *= radix;
  }
  return x;
}

// The even elements as real, the odd ones as imaginary parts z; the parts of the transform Z that are conjugate to their
// mirror image, and those that are opposite, are the transforms of the two halves.
Acc<Vector<float>> power_spectrum(std::int64_t n, const Acc<Vector<float>>& x) {
  const std::int64_t half = n / 2;
  const auto z = fft(half, generate(half, [=](auto i) { return complex(x[2 * i], x[2 * i + 1]); }));
  std::vector<Complex> table;
  for (std::int64_t k = 0; k <= half; ++k) table.push_back(root(k, n));
  const auto turn = use(table);
  return generate(half + 1, [=](auto k) {
    const auto here = z[cond(k < half, k, Exp<std::int64_t>(0))];
    const auto mirrored = conj(z[cond(k > 0, half - k, Exp<std::int64_t>(0))]);
    const auto even = here + mirrored, odd = quarter_turn(here - mirrored);
    return norm(even + odd * turn[k]) * 0.25F;
  });
}

}  // namespace anabranch::apps
// NOLINTEND(performance-unnecessary-value-param)
