#include "segment_peers.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace anabranch::bench {

void segments_in_loops(const float* values, const std::int64_t* offsets, std::int64_t rows, float* out) {
  for (std::int64_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (std::int64_t i = offsets[r]; i < offsets[r + 1]; ++i) sum += values[i];
    out[r] = sum;
  }
}

#if defined(__AVX512F__)

namespace {

/// Lane j: the sum of the lanes of v[j].
__m512 sums_of(const __m512* v) {
  __m512 pairs[8], fours[4];  // NOLINT(*-avoid-c-arrays)
  for (int i = 0; i < 8; ++i)
    pairs[i] =
        _mm512_add_ps(_mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]), _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]));
  for (int i = 0; i < 4; ++i) {
    const __m512d a = _mm512_castps_pd(pairs[2 * i]), b = _mm512_castps_pd(pairs[2 * i + 1]);
    fours[i] =
        _mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(a, b)), _mm512_castpd_ps(_mm512_unpackhi_pd(a, b)));
  }
  const auto halves = [](__m512 a, __m512 b) {
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
  };
  return halves(halves(fours[0], fours[1]), halves(fours[2], fours[3]));
}

__mmask16 first(std::int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : (1 << (count < 0 ? 0 : count)) - 1);
}

}  // namespace

bool has_segments_in_vectors() { return true; }

void segments_in_vectors(const float* values, const std::int64_t* offsets, std::int64_t rows, float* out) {
  std::int64_t r = 0;
  for (; r + 16 <= rows; r += 16) {
    __m512 v[16];  // NOLINT(*-avoid-c-arrays)
    for (int j = 0; j < 16; ++j) {
      const float* row = values + offsets[r + j];
      const std::int64_t length = offsets[r + j + 1] - offsets[r + j];
      __m512 sum = _mm512_maskz_loadu_ps(first(length), row);
      if (__builtin_expect(length > 16, 0)) {
        std::int64_t k = 16;
        __m512 other = _mm512_setzero_ps();
        for (; k + 32 <= length; k += 32) {
          sum = _mm512_add_ps(sum, _mm512_loadu_ps(row + k));
          other = _mm512_add_ps(other, _mm512_loadu_ps(row + k + 16));
        }
        for (; k < length; k += 16)
          sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(first(length - k), row + k));
        sum = _mm512_add_ps(sum, other);
      }
      v[j] = sum;
    }
    _mm512_storeu_ps(out + r, sums_of(v));
  }
  segments_in_loops(values, offsets + r, rows - r, out + r);
}

#else

bool has_segments_in_vectors() { return false; }
void segments_in_vectors(const float* values, const std::int64_t* offsets, std::int64_t rows, float* out) {
  segments_in_loops(values, offsets, rows, out);
}

#endif

}  // namespace anabranch::bench
