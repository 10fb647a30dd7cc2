#include "fluid_flow.h"

#include <algorithm>
#include <vector>

#include "example.h"

namespace {

using namespace anabranch;
using namespace anabranch::examples;

/// The same by plain loops, in double.
class PlainFluid {
 public:
  using Grid = std::vector<double>;

  PlainFluid(std::int64_t n, const FluidOptions& options) : n_(n), o_(options) {}

  void step(Grid& density, Grid& u, Grid& v) const {
    const double cells = static_cast<double>(n_ * n_), dt = o_.time_step;
    u = solved(u, 1, dt * o_.viscosity * cells);
    v = solved(v, 1, dt * o_.viscosity * cells);
    project(u, v);
    const Grid u1 = u, v1 = v;
    u = advected(u1, v1, u1);
    v = advected(u1, v1, v1);
    project(u, v);
    density = advected(u, v, solved(density, 1, dt * o_.diffusion * cells));
  }

 private:
  static double read(const Grid& a, std::int64_t i, std::int64_t j, std::int64_t n) {
    return i >= 0 && i < n && j >= 0 && j < n ? a[static_cast<std::size_t>(i * n + j)] : 0;
  }
  template <class F>
  Grid made(F f) const {
    Grid a;
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j) a.push_back(f(i, j));
    return a;
  }
  /// (own f + a (sum of the neighbours of x)) / (own + 4 a), from x = f.
  Grid solved(const Grid& f, double own, double a) const {
    Grid x = f;
    for (int k = 0; k < o_.rounds; ++k)
      x = made([&](auto i, auto j) {
        const double around =
            read(x, i - 1, j, n_) + read(x, i + 1, j, n_) + read(x, i, j - 1, n_) + read(x, i, j + 1, n_);
        return (own * read(f, i, j, n_) + a * around) / (own + 4 * a);
      });
    return x;
  }
  void project(Grid& u, Grid& v) const {
    const Grid divergence = made([&](auto i, auto j) {
      return -0.5 *
             (read(u, i, j + 1, n_) - read(u, i, j - 1, n_) + read(v, i + 1, j, n_) - read(v, i - 1, j, n_));
    });
    Grid p = divergence;
    for (int k = 0; k < o_.rounds; ++k)
      p = made([&](auto i, auto j) {
        return 0.25 * (read(divergence, i, j, n_) + read(p, i - 1, j, n_) + read(p, i + 1, j, n_) +
                       read(p, i, j - 1, n_) + read(p, i, j + 1, n_));
      });
    u = made([&](auto i, auto j) {
      return read(u, i, j, n_) - 0.5 * (read(p, i, j + 1, n_) - read(p, i, j - 1, n_));
    });
    v = made([&](auto i, auto j) {
      return read(v, i, j, n_) - 0.5 * (read(p, i + 1, j, n_) - read(p, i - 1, j, n_));
    });
  }
  Grid advected(const Grid& u, const Grid& v, const Grid& f) const {
    const auto n = static_cast<double>(n_);
    return made([&](auto i, auto j) {
      const double x = std::clamp(j - o_.time_step * n * read(u, i, j, n_), -0.5, n + 0.5);
      const double y = std::clamp(i - o_.time_step * n * read(v, i, j, n_), -0.5, n + 0.5);
      const auto j0 = static_cast<std::int64_t>(std::floor(x)), i0 = static_cast<std::int64_t>(std::floor(y));
      const double right = x - std::floor(x), below = y - std::floor(y);
      return (1 - below) * ((1 - right) * read(f, i0, j0, n_) + right * read(f, i0, j0 + 1, n_)) +
             below * ((1 - right) * read(f, i0 + 1, j0, n_) + right * read(f, i0 + 1, j0 + 1, n_));
    });
  }

  std::int64_t n_;
  FluidOptions o_;
};

}  // namespace

/// fluid_flow [N]: a cloud in a square of N x N cells that a wind carries.
int main(int argc, char** argv) try {
  const std::int64_t n = size_from(argc, argv, 32);
  const FluidOptions options{.rounds = 20};
  Matrix<float> density(Index{n, n}), u(Index{n, n}), v(Index{n, n});
  for (std::int64_t i = n / 4; i < n / 2; ++i)
    for (std::int64_t j = n / 4; j < n / 2; ++j) {
      density.set(Index{i, j}, 1);
      u.set(Index{i, j}, 1);
      v.set(Index{i, j}, 0.5F);
    }
  const auto grid = [](const Matrix<float>& a) { return PlainFluid::Grid(a.data(), a.data() + a.size()); };
  PlainFluid::Grid plain_density = grid(density), plain_u = grid(u), plain_v = grid(v);
  const PlainFluid plain(n, options);

  const auto program = compile<Matrix<float>, Matrix<float>, Matrix<float>>(
      [=](auto d, auto across, auto down) { return fluid_flow(options, d, across, down); });
  bool right = true;
  for (int step = 1; step <= 4; ++step) {
    std::tie(density, u, v) = program(density, u, v);
    plain.step(plain_density, plain_u, plain_v);
    double total = 0;
    for (std::int64_t i = 0; i < n * n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      right = right && close(density.data()[i], plain_density[at], 1e-4) &&
              close(u.data()[i], plain_u[at], 1e-4) && close(v.data()[i], plain_v[at], 1e-4);
      total += density.data()[i];
    }
    std::printf("after step %d the cloud holds %.3f\n", step, total);
  }
  return verdict(right);
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
