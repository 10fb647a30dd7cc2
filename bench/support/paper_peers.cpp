#include "paper_peers.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "option_price.h"

namespace anabranch::bench {

namespace {

using Range = tbb::blocked_range<std::int64_t>;

/// body(begin, end) over 0 .. n, by TBB or, with 0 threads, in one call.
template <class Body>
void in_parts(std::int64_t n, int threads, const Body& body) {
  if (threads == 0) return body(std::int64_t{0}, n);
  tbb::task_arena arena(threads);
  arena.execute([&] { tbb::parallel_for(Range(0, n), [&](const Range& r) { body(r.begin(), r.end()); }); });
}

}  // namespace

float dot_plain(const float* x, const float* y, std::int64_t n, int threads) {
  // Sums side by side: without -ffast-math the compiler may not do that by itself.
  const auto part = [=](std::int64_t begin, std::int64_t end) {
    constexpr int lanes = 64;
    float sums[lanes] = {};  // NOLINT(*-avoid-c-arrays)
    std::int64_t i = begin;
    for (; i + lanes <= end; i += lanes)
      for (int l = 0; l < lanes; ++l) sums[l] += x[i + l] * y[i + l];
    float total = 0;
    for (; i < end; ++i) total += x[i] * y[i];
    for (const float s : sums) total += s;
    return total;
  };
  if (threads == 0) return part(0, n);
  tbb::task_arena arena(threads);
  return arena.execute([&] {
    return tbb::parallel_reduce(
        Range(0, n), 0.0F, [&](const Range& r, float sum) { return sum + part(r.begin(), r.end()); },
        [](float a, float b) { return a + b; });
  });
}

void black_scholes_plain(const float* __restrict spot, const float* __restrict strike,
                         const float* __restrict years, float* __restrict price, std::int64_t n, float rate,
                         float volatility, int threads) {
  in_parts(n, threads, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      price[i] = option_price(spot[i], strike[i], years[i], rate, volatility);
  });
}

void mandelbrot_plain(std::int32_t* out, std::int64_t width, std::int64_t height, float left, float right,
                      float low, float high, std::int32_t limit, int threads) {
  const float dx = (right - left) / static_cast<float>(width), dy = (high - low) / static_cast<float>(height);
  in_parts(height, threads, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t j = 0; j < width; ++j) {
        const float cx = static_cast<float>(j) * dx + left, cy = static_cast<float>(i) * dy + low;
        float x = 0, y = 0;
        std::int32_t rounds = 0;
        while (x * x + y * y <= 4 && rounds < limit) {
          const float next = x * x - y * y + cx;
          y = 2 * x * y + cy;
          x = next;
          ++rounds;
        }
        out[i * width + j] = rounds;
      }
  });
}

void n_body_plain(const float* __restrict x, const float* __restrict y, const float* __restrict z,
                  const float* __restrict m, float* __restrict ax, float* __restrict ay, float* __restrict az,
                  std::int64_t n, float softening, int threads) {
  in_parts(n, threads, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      // Sums side by side, as of the dot product.
      constexpr int lanes = 16;
      float sx[lanes] = {}, sy[lanes] = {}, sz[lanes] = {};  // NOLINT(*-avoid-c-arrays)
      const auto add = [&](std::int64_t j, int l) {
        const float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
        const float square = dx * dx + dy * dy + dz * dz + softening;
        const float force = m[j] / (square * std::sqrt(square));
        sx[l] += force * dx;
        sy[l] += force * dy;
        sz[l] += force * dz;
      };
      std::int64_t j = 0;
      for (; j + lanes <= n; j += lanes)
        for (int l = 0; l < lanes; ++l) add(j + l, l);
      for (; j < n; ++j) add(j, 0);
      ax[i] = ay[i] = az[i] = 0;
      for (int l = 0; l < lanes; ++l) {
        ax[i] += sx[l];
        ay[i] += sy[l];
        az[i] += sz[l];
      }
    }
  });
}

void smvm_plain(const Csr& a, const double* x, double* y, int threads) {
  const std::int32_t *begins = a.indptr.data(), *columns = a.indices.data();
  const double* values = a.values.data();
  in_parts(a.rows, threads, [=](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      double sum = 0;
      for (std::int32_t k = begins[i]; k < begins[i + 1]; ++k) sum += values[k] * x[columns[k]];
      y[i] = sum;
    }
  });
}

void radix_sort_by_bits(std::span<std::int32_t> values, std::span<std::int32_t> other) {
  for (int bit = 0; bit < 32; ++bit) {
    const auto one = [=](std::int32_t v) -> std::size_t {
      return (static_cast<std::uint32_t>(v) ^ 0x80000000U) >> bit & 1;
    };
    std::size_t ones = 0;
    for (const std::int32_t v : values) ones += one(v);
    std::size_t to[2] = {0, values.size() - ones};  // NOLINT(*-avoid-c-arrays)
    for (const std::int32_t v : values) other[to[one(v)]++] = v;
    std::swap(values, other);
  }
}

FluidLoops::FluidLoops(std::int64_t n, float time_step, float viscosity, float diffusion, int rounds)
    : n_(n),
      pitch_(n + 2),
      time_step_(time_step),
      viscosity_(viscosity),
      diffusion_(diffusion),
      rounds_(rounds) {
  for (Field* f : {&density_, &u_, &v_, &u1_, &v1_, &other_, &divergence_, &pressure_})
    *f = Field(static_cast<std::size_t>(pitch_ * pitch_));
}

void FluidLoops::set(Field& f, const float* from) const {
  for (std::int64_t i = 0; i < n_; ++i) std::copy_n(from + i * n_, n_, f.data() + (i + 1) * pitch_ + 1);
}
void FluidLoops::get(const Field& f, float* to) const {
  for (std::int64_t i = 0; i < n_; ++i) std::copy_n(f.data() + (i + 1) * pitch_ + 1, n_, to + i * n_);
}

void FluidLoops::solve(const Field& f, Field& x, float a, float factor, int threads) {
  std::copy_n(f.data(), f.size(), x.data());
  for (int k = 0; k < rounds_; ++k) {
    in_parts(n_, threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin + 1; i < end + 1; ++i) {
        const float* __restrict here = x.data() + i * pitch_;
        const float* __restrict above = here - pitch_, * __restrict below = here + pitch_;
        const float* __restrict own = f.data() + i * pitch_;
        float* __restrict to = other_.data() + i * pitch_;
        for (std::int64_t j = 1; j <= n_; ++j)
          to[j] = (own[j] + a * (above[j] + below[j] + here[j - 1] + here[j + 1])) * factor;
      }
    });
    std::swap(x, other_);
  }
}

void FluidLoops::project(Field& u, Field& v, int threads) {
  in_parts(n_, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin + 1; i < end + 1; ++i) {
      const float* __restrict across = u.data() + i * pitch_, * __restrict down = v.data() + i * pitch_;
      float* __restrict to = divergence_.data() + i * pitch_;
      for (std::int64_t j = 1; j <= n_; ++j)
        to[j] = -0.5F * (across[j + 1] - across[j - 1] + down[j + pitch_] - down[j - pitch_]);
    }
  });
  solve(divergence_, pressure_, 1, 0.25F, threads);
  in_parts(n_, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin + 1; i < end + 1; ++i) {
      float* __restrict across = u.data() + i * pitch_, * __restrict down = v.data() + i * pitch_;
      const float* __restrict p = pressure_.data() + i * pitch_;
      for (std::int64_t j = 1; j <= n_; ++j) {
        across[j] -= 0.5F * (p[j + 1] - p[j - 1]);
        down[j] -= 0.5F * (p[j + pitch_] - p[j - pitch_]);
      }
    }
  });
}

void FluidLoops::advect(const Field& u, const Field& v, const Field& f, Field& to, int threads) const {
  const auto extent = static_cast<float>(n_);
  in_parts(n_, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      for (std::int64_t j = 0; j < n_; ++j) {
        const std::int64_t at = (i + 1) * pitch_ + j + 1;
        const float x =
            std::clamp(static_cast<float>(j) - time_step_ * extent * u.data()[at], -0.5F, extent + 0.5F);
        const float y =
            std::clamp(static_cast<float>(i) - time_step_ * extent * v.data()[at], -0.5F, extent + 0.5F);
        const float x0 = std::floor(x), y0 = std::floor(y);
        const auto column = static_cast<std::int64_t>(x0), row = static_cast<std::int64_t>(y0);
        const float right = x - x0, below = y - y0;
        // From -1 to n + 1: one more than the border has.
        const auto read = [&](std::int64_t r, std::int64_t c) {
          return r <= n_ && c <= n_ ? f.data()[(r + 1) * pitch_ + c + 1] : 0.0F;
        };
        to.data()[at] = (1 - below) * ((1 - right) * read(row, column) + right * read(row, column + 1)) +
                        below * ((1 - right) * read(row + 1, column) + right * read(row + 1, column + 1));
      }
  });
}

void FluidLoops::step(const float* density, const float* u, const float* v, float* density_out, float* u_out,
                      float* v_out, int threads) {
  const auto cells = static_cast<float>(n_ * n_);
  const float viscous = time_step_ * viscosity_ * cells, diffusive = time_step_ * diffusion_ * cells;
  set(u1_, u);
  set(v1_, v);
  solve(u1_, u_, viscous, 1 / (1 + 4 * viscous), threads);
  solve(v1_, v_, viscous, 1 / (1 + 4 * viscous), threads);
  project(u_, v_, threads);
  advect(u_, v_, u_, u1_, threads);
  advect(u_, v_, v_, v1_, threads);
  project(u1_, v1_, threads);
  set(density_, density);
  solve(density_, pressure_, diffusive, 1 / (1 + 4 * diffusive), threads);
  advect(u1_, v1_, pressure_, density_, threads);
  get(density_, density_out);
  get(u1_, u_out);
  get(v1_, v_out);
}

}  // namespace anabranch::bench
