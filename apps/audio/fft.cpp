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
// Neighbours along the innermost dimension are a vector of the machine. It has one element in the first step, where those
// along p are one; that step takes the larger radix, so that the next one has vectors.
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

/// Multiplied by -i.
Exp<Complex> quarter_turn(const Exp<Complex>& z) { return complex(imag(z), -real(z)); }

/// The sum of part(k) w(k c, radix) over k < radix, where that is 1, 2 or 4. Sums that several c need are the same expressions
/// for all of them.
template <class Part>
Exp<Complex> butterfly(std::int64_t radix, Part part, const Exp<std::int64_t>& c) {
  if (radix == 1) return part(0);
  const auto odd = c % 2 == 1;
  const auto sign = cond(odd, -1.0F, 1.0F);
  if (radix == 2) return part(0) + sign * part(1);
  const auto even = part(0) + sign * part(2), rest = part(1) + sign * part(3);
  return even + cond(c < 2, 1.0F, -1.0F) * cond(odd, quarter_turn(rest), rest);
}

/// Of radix 2 to 16: more than 4 are sums of 4 each, and butterflies of these.
Acc<Vector<Complex>> first_step(std::int64_t n, std::int64_t radix, const Acc<Vector<Complex>>& x) {
  const std::int64_t m = n / radix, sums = std::max<std::int64_t>(radix / 4, 1);
  const auto rows = reshape(Index{radix, m}, x);
  const auto of_sums = roots(sums, 4, radix), turn = roots(radix, m, n);
  return flatten(generate(Index{m, radix}, [=](auto at) {
    const Exp<std::int64_t> p = at[0], c = at[1];
    const auto part = [&](std::int64_t k) { return rows[index_of(Exp<std::int64_t>(k), p)]; };
    const auto of_part = [&](std::int64_t k) {
      const auto sum = butterfly(4, [&](std::int64_t j) { return part(k + sums * j); }, c % 4);
      return k == 0 ? sum : sum * of_sums[index_of(Exp<std::int64_t>(k), c % 4)];
    };
    const auto sum = radix <= 4 ? butterfly(radix, part, c) : butterfly(sums, of_part, c / 4);
    return sum * turn[index_of(c, p)];
  }));
}

Acc<Vector<Complex>> step(std::int64_t n, std::int64_t radix, std::int64_t done,
                          const Acc<Vector<Complex>>& x) {
  const std::int64_t m = n / done / radix;
  const auto parts = reshape(Index{radix, m, done}, x);
  const auto turn = roots(m, radix, radix * m);
  return flatten(generate(Index{m, radix, done}, [=](auto at) {
    const Exp<std::int64_t> p = at[0], c = at[1], q = at[2];
    const auto part = [&](std::int64_t k) { return parts[index_of(Exp<std::int64_t>(k), p, q)]; };
    return butterfly(radix, part, c) * turn[index_of(p, c)];
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
Acc<Vector<float>> power_spectrum(std::int64_t n,
                                  const std::function<Exp<float>(const Exp<std::int64_t>&)>& sample) {
  const std::int64_t half = n / 2;
  const auto z = fft(half, generate(half, [=](auto i) { return complex(sample(2 * i), sample(2 * i + 1)); }));
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
