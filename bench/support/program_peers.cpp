#include "program_peers.h"

#include <cmath>

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace anabranch::bench {

namespace {

template <class T>
void mandelbrot_in_loops(std::int32_t* out, std::int64_t width, std::int64_t height, T left, T right, T low,
                         T high, std::int32_t limit) {
  const T dx = (right - left) / static_cast<T>(width), dy = (high - low) / static_cast<T>(height);
  for (std::int64_t row = 0; row < height; ++row)
    for (std::int64_t column = 0; column < width; ++column) {
      const T cx = left + static_cast<T>(column) * dx, cy = low + static_cast<T>(row) * dy;
      T x = 0, y = 0;
      std::int32_t rounds = 0;
      for (; rounds < limit && x * x + y * y <= 4; ++rounds) {
        const T next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
      }
      out[row * width + column] = rounds;
    }
}

/// `out` takes the number of a body and its acceleration.
template <class T, class Out>
void n_body_in_loops(const float* x, const float* y, const float* z, const float* m, std::int64_t n,
                     T softening, Out&& out) {
  for (std::int64_t i = 0; i < n; ++i) {
    T sx = 0, sy = 0, sz = 0, scale = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const T dx = T(x[j]) - T(x[i]), dy = T(y[j]) - T(y[i]), dz = T(z[j]) - T(z[i]);
      const T inverse = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + softening);
      const T force = T(m[j]) * (inverse * inverse * inverse);
      sx += force * dx;
      sy += force * dy;
      sz += force * dz;
      scale += force * (std::abs(dx) + std::abs(dy) + std::abs(dz));
    }
    out(i, sx, sy, sz, scale);
  }
}

}  // namespace

void mandelbrot_in_doubles(std::int32_t* out, std::int64_t width, std::int64_t height, double left,
                           double right, double low, double high, std::int32_t limit) {
  mandelbrot_in_loops(out, width, height, left, right, low, high, limit);
}

void n_body_in_doubles(const float* x, const float* y, const float* z, const float* m, Acceleration* out,
                       std::int64_t n, double softening) {
  n_body_in_loops(
      x, y, z, m, n, softening,
      [=](std::int64_t i, double sx, double sy, double sz, double scale) { out[i] = {sx, sy, sz, scale}; });
}

#if defined(__AVX512F__)

bool has_programs_in_vectors() { return true; }

void mandelbrot_in_vectors(std::int32_t* out, std::int64_t width, std::int64_t height, float left,
                           float right, float low, float high, std::int32_t limit) {
  constexpr int groups = 4;
  const float dx = (right - left) / static_cast<float>(width), dy = (high - low) / static_cast<float>(height);
  const __m512 lanes = _mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  const __m512 four = _mm512_set1_ps(4), step = _mm512_set1_ps(dx);
  const __m512i one = _mm512_set1_epi32(1);
  for (std::int64_t row = 0; row < height; ++row) {
    const __m512 cy = _mm512_set1_ps(low + static_cast<float>(row) * dy);
    for (std::int64_t column = 0; column < width; column += 16L * groups) {
      __m512 cx[groups], x[groups], y[groups];  // NOLINT(*-avoid-c-arrays)
      __m512i count[groups];                    // NOLINT(*-avoid-c-arrays)
      for (int g = 0; g < groups; ++g) {
        const __m512 at = _mm512_add_ps(lanes, _mm512_set1_ps(static_cast<float>(column + 16L * g)));
        cx[g] = _mm512_fmadd_ps(at, step, _mm512_set1_ps(left));
        x[g] = y[g] = _mm512_setzero_ps();
        count[g] = _mm512_setzero_si512();
      }
      for (std::int32_t k = 0; k < limit; ++k) {
        unsigned any = 0;
        for (int g = 0; g < groups; ++g) {
          const __m512 xx = _mm512_mul_ps(x[g], x[g]);
          const __m512 norm = _mm512_fmadd_ps(y[g], y[g], xx);
          const __mmask16 inside = _mm512_cmp_ps_mask(norm, four, _CMP_LE_OQ);
          count[g] = _mm512_mask_add_epi32(count[g], inside, count[g], one);
          any |= inside;
          const __m512 xy = _mm512_add_ps(x[g], x[g]);
          const __m512 next = _mm512_add_ps(_mm512_fnmadd_ps(y[g], y[g], xx), cx[g]);
          y[g] = _mm512_fmadd_ps(xy, y[g], cy);
          x[g] = next;
        }
        if (any == 0) break;
      }
      for (int g = 0; g < groups; ++g) {
        const std::int64_t left_over = width - column - 16L * g;
        if (left_over <= 0) break;
        const auto mask = static_cast<__mmask16>(left_over >= 16 ? 0xffff : (1 << left_over) - 1);
        _mm512_mask_storeu_epi32(out + row * width + column + 16L * g, mask, count[g]);
      }
    }
  }
}

void n_body_in_vectors(const float* x, const float* y, const float* z, const float* m, float* ax, float* ay,
                       float* az, std::int64_t n, float softening) {
  const __m512 soft = _mm512_set1_ps(softening), half = _mm512_set1_ps(0.5F),
               three_halves = _mm512_set1_ps(1.5F);
  for (std::int64_t i = 0; i < n; i += 2) {
    const __m512 px[2] = {_mm512_set1_ps(x[i]), _mm512_set1_ps(x[i + 1])};  // NOLINT(*-avoid-c-arrays)
    const __m512 py[2] = {_mm512_set1_ps(y[i]), _mm512_set1_ps(y[i + 1])};  // NOLINT(*-avoid-c-arrays)
    const __m512 pz[2] = {_mm512_set1_ps(z[i]), _mm512_set1_ps(z[i + 1])};  // NOLINT(*-avoid-c-arrays)
    __m512 sx[2] = {}, sy[2] = {}, sz[2] = {};                              // NOLINT(*-avoid-c-arrays)
    for (std::int64_t j = 0; j < n; j += 16) {
      const __m512 qx = _mm512_loadu_ps(x + j), qy = _mm512_loadu_ps(y + j), qz = _mm512_loadu_ps(z + j);
      const __m512 mass = _mm512_loadu_ps(m + j);
      for (int b = 0; b < 2; ++b) {
        const __m512 dx = _mm512_sub_ps(qx, px[b]), dy = _mm512_sub_ps(qy, py[b]),
                     dz = _mm512_sub_ps(qz, pz[b]);
        const __m512 d2 = _mm512_fmadd_ps(dx, dx, _mm512_fmadd_ps(dy, dy, _mm512_fmadd_ps(dz, dz, soft)));
        const __m512 guess = _mm512_rsqrt14_ps(d2);
        const __m512 square = _mm512_mul_ps(_mm512_mul_ps(d2, half), _mm512_mul_ps(guess, guess));
        const __m512 inverse = _mm512_mul_ps(guess, _mm512_sub_ps(three_halves, square));
        const __m512 force = _mm512_mul_ps(mass, _mm512_mul_ps(inverse, _mm512_mul_ps(inverse, inverse)));
        sx[b] = _mm512_fmadd_ps(force, dx, sx[b]);
        sy[b] = _mm512_fmadd_ps(force, dy, sy[b]);
        sz[b] = _mm512_fmadd_ps(force, dz, sz[b]);
      }
    }
    for (int b = 0; b < 2; ++b) {
      ax[i + b] = _mm512_reduce_add_ps(sx[b]);
      ay[i + b] = _mm512_reduce_add_ps(sy[b]);
      az[i + b] = _mm512_reduce_add_ps(sz[b]);
    }
  }
}

#else

bool has_programs_in_vectors() { return false; }

void mandelbrot_in_vectors(std::int32_t* out, std::int64_t width, std::int64_t height, float left,
                           float right, float low, float high, std::int32_t limit) {
  mandelbrot_in_loops(out, width, height, left, right, low, high, limit);
}

void n_body_in_vectors(const float* x, const float* y, const float* z, const float* m, float* ax, float* ay,
                       float* az, std::int64_t n, float softening) {
  n_body_in_loops(x, y, z, m, n, softening, [=](std::int64_t i, float sx, float sy, float sz, float) {
    ax[i] = sx;
    ay[i] = sy;
    az[i] = sz;
  });
}

#endif

}  // namespace anabranch::bench
