#pragma once

#include <anabranch/anabranch.h>

#include <cstdint>
#include <tuple>

/// A fluid in a square, by stable fluids (Stam 1999): smoke of some density that moves with a velocity (u along rows,
/// v along columns). Outside of the square all is 0.
namespace anabranch::examples {

using Field = Acc<Matrix<float>>;

struct FluidOptions {
  float time_step = 0.1F, viscosity = 1e-5F, diffusion = 1e-5F;
  std::int32_t rounds = 40;  ///< of each solver
};

/// f(... f(f(start))), so many times.
template <class F>
Field repeated(std::int32_t times_, F f, const Field& start) {
  const auto more = [](auto, auto left) { return the(left) > 0; };
  const auto round = [=](auto now, auto left) {
    return std::tuple(f(now), map([](auto k) { return k - 1; }, left));
  };
  return std::get<0>(awhile(more, round, std::tuple(start, unit(times_))));
}

/// Of each cell the sum of its four neighbours.
inline Field around(const Field& x) {
  return stencil([](auto n) { return n(-1, 0) + n(1, 0) + n(0, -1) + n(0, 1); }, constant(0.0F), x);
}

/// Solves x + a (4 x - the sum around x) = f for x, by Jacobi's iteration from f.
inline Field diffused(std::int32_t rounds, const Exp<float>& a, const Field& f) {
  const auto factor = 1.0F / (1.0F + 4.0F * a);
  const auto relax = [=](const Field& x) {
    return zip_with([=](auto own, auto sum) { return (own + a * sum) * factor; }, f, around(x));
  };
  return repeated(rounds, relax, f);
}

/// The velocity without its sources and sinks, so that the mass of the fluid is kept.
inline std::tuple<Field, Field> projected(std::int32_t rounds, const Field& u, const Field& v) {
  const auto divergence =
      stencil2([](auto a, auto b) { return -0.5F * (a(0, 1) - a(0, -1) + b(1, 0) - b(-1, 0)); },
               constant(0.0F), u, constant(0.0F), v);
  const auto relax = [=](const Field& p) {
    return zip_with([](auto own, auto sum) { return 0.25F * (own + sum); }, divergence, around(p));
  };
  const auto pressure = repeated(rounds, relax, divergence);
  return {stencil2([](auto n, auto p) { return n(0, 0) - 0.5F * (p(0, 1) - p(0, -1)); }, constant(0.0F), u,
                   constant(0.0F), pressure),
          stencil2([](auto n, auto p) { return n(0, 0) - 0.5F * (p(1, 0) - p(-1, 0)); }, constant(0.0F), v,
                   constant(0.0F), pressure)};
}

/// What the flow carries to each place: the mean of the four places around the one where it came from.
inline Field advected(float time_step, const Field& u, const Field& v, const Field& f) {
  const auto height = extent(f, 0), width = extent(f, 1);
  return generate(shape(f), [=](auto at) {
    const auto back = [=](auto position, auto velocity, auto n) {
      const auto extent_ = cast<float>(n);
      return clamp(cast<float>(position) - time_step * extent_ * velocity, -0.5F, extent_ + 0.5F);
    };
    const auto x = back(at[1], u[at], width), y = back(at[0], v[at], height);
    const auto x0 = floor(x), y0 = floor(y);
    const auto column = cast<std::int64_t>(x0), row = cast<std::int64_t>(y0);
    const auto right = x - x0, below = y - y0;
    const auto read = [=](auto i, auto j) {
      return cond(i >= 0 && i < height && j >= 0 && j < width, f[index_of(i, j)], 0.0F);
    };
    const auto above_mean = (1.0F - right) * read(row, column) + right * read(row, column + 1);
    const auto below_mean = (1.0F - right) * read(row + 1, column) + right * read(row + 1, column + 1);
    return (1.0F - below) * above_mean + below * below_mean;
  });
}

/// Density, u and v a time step later.
inline std::tuple<Field, Field, Field> fluid_flow(const FluidOptions& o, const Field& density, const Field& u,
                                                  const Field& v) {
  const auto cells = cast<float>(size(density));
  const auto viscous = float(o.time_step * o.viscosity) * cells,
             diffusive = float(o.time_step * o.diffusion) * cells;
  const auto [u1, v1] = projected(o.rounds, diffused(o.rounds, viscous, u), diffused(o.rounds, viscous, v));
  const auto [u2, v2] =
      projected(o.rounds, advected(o.time_step, u1, v1, u1), advected(o.time_step, u1, v1, v1));
  return {advected(o.time_step, u2, v2, diffused(o.rounds, diffusive, density)), u2, v2};
}

}  // namespace anabranch::examples
