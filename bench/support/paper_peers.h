#pragma once

#include <cstdint>
#include <span>

#include "matrices.h"
#include "memory.h"

/// The programs of apps/examples as plain loops (-O3 -march=native), each also cut by TBB where `threads` is not 0. Those
/// that exist already: black_scholes_loop (libmvec), black_scholes_intrinsics, mandelbrot_in_vectors, n_body_in_vectors.
namespace anabranch::bench {

float dot_plain(const float* x, const float* y, std::int64_t n, int threads);

void black_scholes_plain(const float* spot, const float* strike, const float* years, float* price,
                         std::int64_t n, float rate, float volatility, int threads);

void mandelbrot_plain(std::int32_t* out, std::int64_t width, std::int64_t height, float left, float right,
                      float low, float high, std::int32_t limit, int threads);

void n_body_plain(const float* x, const float* y, const float* z, const float* m, float* ax, float* ay,
                  float* az, std::int64_t n, float softening, int threads);

void smvm_plain(const Csr& a, const double* x, double* y, int threads);

/// One bit after the other, lowest first: zeros to the front, ones behind them. `other` is as large as `values`.
void radix_sort_by_bits(std::span<std::int32_t> values, std::span<std::int32_t> other);

/// One time step of a fluid in a square of n x n cells. Fields have a border of zeros, one cell wide.
class FluidLoops {
 public:
  FluidLoops(std::int64_t n, float time_step, float viscosity, float diffusion, int rounds);
  /// In: the fields of the fluid, without borders. Out: as they are after the step.
  void step(const float* density, const float* u, const float* v, float* density_out, float* u_out,
            float* v_out, int threads);

 private:
  using Field = Buffer<float>;

  void set(Field& f, const float* from) const;
  void get(const Field& f, float* to) const;
  /// x = (f + a (sum of the four neighbours of x)) * factor, so many times, from x = f.
  void solve(const Field& f, Field& x, float a, float factor, int threads);
  void project(Field& u, Field& v, int threads);
  void advect(const Field& u, const Field& v, const Field& f, Field& to, int threads) const;

  std::int64_t n_, pitch_;
  float time_step_, viscosity_, diffusion_;
  int rounds_;
  Field density_, u_, v_, u1_, v1_, other_, divergence_, pressure_;
};

}  // namespace anabranch::bench
