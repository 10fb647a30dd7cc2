#pragma once

#include <cstdint>
#include <string_view>

/// What bench_mathematics is compared with: loops that the C++ compiler vectorises with glibc's libmvec.
namespace anabranch::bench {

/// out[i] = f(a x[i]) + f(b x[i]) + f(c x[i]) + f(d x[i]), (a, b, c, d) = 1, 0.75, 0.5, 0.25; functions of two have
/// y[i] as the second operand. Null: not known.
template <class T>
using MathLoop = void (*)(const T* x, const T* y, T* out, std::int64_t n);
template <class T>
MathLoop<T> math_loop(std::string_view function);

/// Prices of European call options: spot, strike and years of each.
void black_scholes_loop(const float* spot, const float* strike, const float* years, float* price,
                        std::int64_t n, float rate, float volatility);
/// The same by hand: vectors of 16, logarithm and exponentials inline, right within some ulp and for ordinary operands
/// only. False: the processor has no AVX-512.
bool black_scholes_intrinsics(const float* spot, const float* strike, const float* years, float* price,
                              std::int64_t n, float rate, float volatility);

}  // namespace anabranch::bench
