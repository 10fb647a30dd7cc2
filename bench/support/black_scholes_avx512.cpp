#include "mathematics_peers.h"

#ifdef __AVX512F__
#include <immintrin.h>

// What <immintrin.h> leaves undefined on purpose, g++ 12 calls uninitialised (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

namespace anabranch::bench {

#ifdef __AVX512F__
namespace {

/// a0 + x (a1 + x (a2 + ...)).
template <class... Coefficients>
__m512 polynomial(__m512 x, float a0, Coefficients... more) {
  if constexpr (sizeof...(more) == 0)
    return _mm512_set1_ps(a0);
  else
    return _mm512_fmadd_ps(x, polynomial(x, more...), _mm512_set1_ps(a0));
}

/// e^x, of an ordinary x: about 1.5 ulp.
__m512 exp_of_16(__m512 x) {
  const __m512 n = _mm512_roundscale_ps(x * _mm512_set1_ps(1.44269504F), _MM_FROUND_TO_NEAREST_INT);
  const __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4F),
                                    _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375F), x));
  return _mm512_scalef_ps(polynomial(r, 1, 1, 0.5F, 1 / 6.0F, 1 / 24.0F, 1 / 120.0F, 1 / 720.0F), n);
}

/// log x, of an ordinary positive x: x = 2^n (1 + f), f from -1/4 to 1/2; the coefficients are those of Cephes.
__m512 log_of_16(__m512 x) {
  const __m512 one = _mm512_set1_ps(1);
  const __m512 m = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src);
  const __m512 exponent = _mm512_getexp_ps(x);
  const __m512 n = _mm512_mask_add_ps(exponent, _mm512_cmp_ps_mask(m, one, _CMP_LT_OQ), exponent, one);
  const __m512 f = m - one, f2 = f * f;
  const __m512 rest =
      polynomial(f, 3.3333331174e-1F, -2.4999993993e-1F, 2.0000714765e-1F, -1.6668057665e-1F,
                 1.4249322787e-1F, -1.2420140846e-1F, 1.1676998740e-1F, -1.1514610310e-1F, 7.0376836292e-2F);
  const __m512 log_m = _mm512_fmadd_ps(f2 * f, rest, _mm512_fnmadd_ps(_mm512_set1_ps(0.5F), f2, f));
  return _mm512_fmadd_ps(n, _mm512_set1_ps(0.693147181F), log_m);
}

__m512 normal_of_16(__m512 x) {
  const __m512 one = _mm512_set1_ps(1);
  const __m512 k = one / _mm512_fmadd_ps(_mm512_set1_ps(0.2316419F), _mm512_abs_ps(x), one);
  const __m512 tail = exp_of_16(_mm512_set1_ps(-0.5F) * x * x) * _mm512_set1_ps(0.3989422804F) *
                      polynomial(k, 0, 0.31938153F, -0.356563782F, 1.781477937F, -1.821255978F, 1.330274429F);
  return _mm512_mask_sub_ps(tail, _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ), one, tail);
}

}  // namespace

bool black_scholes_intrinsics(const float* spot, const float* strike, const float* years, float* price,
                              std::int64_t n, float rate, float volatility) {
  const __m512 drift = _mm512_set1_ps(rate + 0.5F * volatility * volatility);
  for (std::int64_t i = 0; i < n; i += 16) {
    const __mmask16 lanes = n - i >= 16 ? 0xffff : static_cast<__mmask16>((1U << (n - i)) - 1);
    const __m512 one = _mm512_set1_ps(1);
    const __m512 s = _mm512_mask_loadu_ps(one, lanes, spot + i),
                 k = _mm512_mask_loadu_ps(one, lanes, strike + i);
    const __m512 t = _mm512_mask_loadu_ps(one, lanes, years + i);
    const __m512 deviation = _mm512_set1_ps(volatility) * _mm512_sqrt_ps(t);
    const __m512 d1 = _mm512_fmadd_ps(drift, t, log_of_16(s / k)) / deviation;
    const __m512 discounted = k * exp_of_16(_mm512_set1_ps(-rate) * t);
    _mm512_mask_storeu_ps(price + i, lanes, s * normal_of_16(d1) - discounted * normal_of_16(d1 - deviation));
  }
  return true;
}
#else
bool black_scholes_intrinsics(const float*, const float*, const float*, float*, std::int64_t, float, float) {
  return false;
}
#endif

}  // namespace anabranch::bench
