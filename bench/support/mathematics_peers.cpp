#include "mathematics_peers.h"

#include <cmath>

#include "option_price.h"

// Compiled with -ffast-math, without which g++ does not call libmvec.
namespace anabranch::bench {

namespace {

#define ANABRANCH_LOOP(name)                                                                                \
  template <class T>                                                                                        \
  void loop_##name(const T* __restrict x, const T*, T* __restrict out, std::int64_t n) {                    \
    _Pragma("omp simd") for (std::int64_t i = 0; i < n; ++i) out[i] =                                       \
        std::name(x[i]) + std::name(T(0.75) * x[i]) + std::name(T(0.5) * x[i]) + std::name(T(0.25) * x[i]); \
  }
#define ANABRANCH_EACH(X) \
  X(exp)                  \
  X(exp2)                 \
  X(log)                  \
  X(log2)                 \
  X(log10)                \
  X(sin)                  \
  X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(cbrt)
ANABRANCH_EACH(ANABRANCH_LOOP)

#define ANABRANCH_LOOP_OF_TWO(name)                                                                   \
  template <class T>                                                                                  \
  void loop_##name(const T* __restrict x, const T* __restrict y, T* __restrict out, std::int64_t n) { \
    _Pragma("omp simd") for (std::int64_t i = 0; i < n; ++i) out[i] =                                 \
        std::name(x[i], y[i]) + std::name(T(0.75) * x[i], y[i]) + std::name(T(0.5) * x[i], y[i]) +    \
        std::name(T(0.25) * x[i], y[i]);                                                              \
  }
#define ANABRANCH_EACH_OF_TWO(X) X(pow) X(atan2) X(hypot)
ANABRANCH_EACH_OF_TWO(ANABRANCH_LOOP_OF_TWO)

}  // namespace

template <class T>
MathLoop<T> math_loop(std::string_view function) {
#define ANABRANCH_NAMED(name) \
  if (function == #name) return loop_##name<T>;
  ANABRANCH_EACH(ANABRANCH_NAMED)
  ANABRANCH_EACH_OF_TWO(ANABRANCH_NAMED)
  return nullptr;
}
template MathLoop<float> math_loop<float>(std::string_view);
template MathLoop<double> math_loop<double>(std::string_view);

void black_scholes_loop(const float* __restrict spot, const float* __restrict strike,
                        const float* __restrict years, float* __restrict price, std::int64_t n, float rate,
                        float volatility) {
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i)
    price[i] = option_price(spot[i], strike[i], years[i], rate, volatility);
}

}  // namespace anabranch::bench
