#include "audio_peers.h"

#include <algorithm>
#include <cmath>

#if defined(__AVX512F__)
#include <immintrin.h>
extern "C" __m512 _ZGVeN16v_cosf(__m512);  // glibc's libmvec
#endif

namespace anabranch::bench {

namespace {

constexpr float two_pi = 6.2831853F;

/// The coefficients that predict a sample from those before it.
template <class T>
std::array<float, audio_order> predicted(const std::array<T, audio_order + 1>& r) {
  std::array<T, audio_order> a{};
  T error = r[0];
  for (int i = 0; i < audio_order; ++i) {
    T sum = r[static_cast<std::size_t>(i) + 1];
    for (int j = 0; j < i; ++j) sum -= a[static_cast<std::size_t>(j)] * r[static_cast<std::size_t>(i - j)];
    const T k = error > 0 ? sum / error : 0;
    const std::array<T, audio_order> before = a;
    for (int j = 0; j < i; ++j)
      a[static_cast<std::size_t>(j)] =
          before[static_cast<std::size_t>(j)] - k * before[static_cast<std::size_t>(i - 1 - j)];
    a[static_cast<std::size_t>(i)] = k;
    error *= 1 - k * k;
  }
  std::array<float, audio_order> out;
  std::copy(a.begin(), a.end(), out.begin());
  return out;
}

template <class T>
void in_loops(const float* samples, std::span<const AudioWindow> windows, AudioFeatures* out) {
  std::array<T, longest_window> h;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    const auto n = static_cast<int>(windows[w].length);
    const float* x = samples + windows[w].start;
    AudioFeatures f;
    T sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i];
    f.mean = static_cast<float>(sum / static_cast<T>(n));
    int crossings = 0;
    for (int i = 1; i < n; ++i) crossings += (x[i] < 0) != (x[i - 1] < 0);
    f.crossings = static_cast<float>(crossings);
    const T step = static_cast<T>(two_pi) / static_cast<T>(n - 1);
    for (int i = 0; i < n; ++i)
      h[static_cast<std::size_t>(i)] = x[i] * (T(0.5) - T(0.5) * std::cos(step * static_cast<T>(i)));
    T energy = 0;
    for (int i = 0; i < n; ++i) energy += h[static_cast<std::size_t>(i)] * h[static_cast<std::size_t>(i)];
    f.energy = static_cast<float>(energy);
    std::array<T, audio_order + 1> autocorrelation;
    for (int lag = 0; lag <= audio_order; ++lag) {
      T r = 0;
      for (int i = 0; i + lag < n; ++i)
        r += h[static_cast<std::size_t>(i)] * h[static_cast<std::size_t>(i + lag)];
      autocorrelation[static_cast<std::size_t>(lag)] = r;
    }
    std::copy(autocorrelation.begin(), autocorrelation.end(), f.autocorrelation.begin());
    f.prediction = predicted(autocorrelation);
    out[w] = f;
  }
}

}  // namespace

void audio_in_loops(const float* samples, std::span<const AudioWindow> windows, AudioFeatures* out) {
  in_loops<float>(samples, windows, out);
}
void audio_in_doubles(const float* samples, std::span<const AudioWindow> windows, AudioFeatures* out) {
  in_loops<double>(samples, windows, out);
}

#if defined(__AVX512F__)

bool has_audio_in_vectors() { return true; }

void audio_in_vectors(const float* samples, std::span<const AudioWindow> windows, AudioFeatures* out) {
  // Samples behind a window are 0 under it, so that lags read on.
  alignas(64) std::array<float, longest_window + 64> h;
  const __m512 lanes = _mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  for (std::size_t w = 0; w < windows.size(); ++w) {
    const auto n = static_cast<int>(windows[w].length);
    const float* x = samples + windows[w].start;
    AudioFeatures f;
    __m512 sum = _mm512_setzero_ps(), energy = _mm512_setzero_ps();
    int crossings = 0;
    const __m512 step = _mm512_set1_ps(two_pi / static_cast<float>(n - 1));
    const __m512 half = _mm512_set1_ps(0.5F);
    for (int i = 0; i < n; i += 16) {
      const auto mask = static_cast<__mmask16>(n - i >= 16 ? 0xffff : (1 << (n - i)) - 1);
      const __m512 v = _mm512_maskz_loadu_ps(mask, x + i);
      sum = _mm512_add_ps(sum, v);
      const auto inner = static_cast<__mmask16>(i == 0 ? mask & 0xfffe : mask);
      const __m512 before = _mm512_maskz_loadu_ps(inner, x + i - 1);
      const __mmask16 negative = _mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_LT_OQ);
      const __mmask16 was = _mm512_cmp_ps_mask(before, _mm512_setzero_ps(), _CMP_LT_OQ);
      crossings += __builtin_popcount((negative ^ was) & inner);
      const __m512 at = _mm512_add_ps(lanes, _mm512_set1_ps(static_cast<float>(i)));
      const __m512 hann = _mm512_fnmadd_ps(half, _ZGVeN16v_cosf(_mm512_mul_ps(step, at)), half);
      const __m512 under = _mm512_maskz_mul_ps(mask, v, hann);
      energy = _mm512_fmadd_ps(under, under, energy);
      _mm512_store_ps(h.data() + i, under);
    }
    const int padded = (n + 15) / 16 * 16;
    _mm512_store_ps(h.data() + padded, _mm512_setzero_ps());
    _mm512_store_ps(h.data() + padded + 16, _mm512_setzero_ps());
    f.mean = _mm512_reduce_add_ps(sum) / static_cast<float>(n);
    f.energy = _mm512_reduce_add_ps(energy);
    f.crossings = static_cast<float>(crossings);
    __m512 r[audio_order + 1];  // NOLINT(*-avoid-c-arrays): g++ warns of vectors as template arguments
    for (__m512& sums : r) sums = _mm512_setzero_ps();
    for (int i = 0; i < n; i += 16) {
      const __m512 v = _mm512_load_ps(h.data() + i);
#pragma GCC unroll 17
      for (int lag = 0; lag <= audio_order; ++lag)
        r[lag] = _mm512_fmadd_ps(v, _mm512_loadu_ps(h.data() + i + lag), r[lag]);
    }
    for (int lag = 0; lag <= audio_order; ++lag)
      f.autocorrelation[static_cast<std::size_t>(lag)] = _mm512_reduce_add_ps(r[lag]);
    f.prediction = predicted(f.autocorrelation);
    out[w] = f;
  }
}

#else

bool has_audio_in_vectors() { return false; }
void audio_in_vectors(const float* samples, std::span<const AudioWindow> windows, AudioFeatures* out) {
  audio_in_loops(samples, windows, out);
}

#endif

}  // namespace anabranch::bench
