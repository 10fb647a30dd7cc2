#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "apps/examples/black_scholes.h"
#include "apps/examples/dot_product.h"
#include "apps/examples/fluid_flow.h"
#include "apps/examples/mandelbrot.h"
#include "apps/examples/n_body.h"
#include "apps/examples/radix_sort.h"
#include "apps/examples/smvm.h"
#include "support/contest.h"
#include "support/mathematics_peers.h"
#include "support/matrices.h"
#include "support/paper_peers.h"
#include "support/peers.h"
#include "support/program_peers.h"
#include "support/programs.h"
#include "support/rearrange_peers.h"

/// The programs of Table 2 of "Optimising Purely Functional GPU Programs" (ICFP 2013), apps/examples: with all passes of
/// the compiler, without fusion and without sharing (equal terms that are written twice are computed twice; what a variable
/// holds is computed once all the same), beside the same by hand.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

/// A compiled program with its arguments and the place of its result; takes the number of threads.
using Runner = std::function<void(int)>;
using Right = std::function<bool()>;

/// What `make` compiles is compiled without these passes of the compiler, and without those that the user left out.
Runner without(const std::string& passes, const std::function<Runner()>& make) {
  constexpr const char* variable = "ANABRANCH_OFF";
  const char* const value = std::getenv(variable);
  const std::optional<std::string> before = value ? std::optional<std::string>(value) : std::nullopt;
  ::setenv(variable, (before && !before->empty() ? *before + "," + passes : passes).c_str(), 1);
  Runner made = make();
  if (before)
    ::setenv(variable, before->c_str(), 1);
  else
    ::unsetenv(variable);
  return made;
}

constexpr int two = 2;  // threads

void add_ours(Contest& contest, const std::function<Runner()>& make, const Right& right, bool unfused = true,
              const std::string& form = "") {
  const auto add = [&](const char* name, Role role, int threads, const Runner& run) {
    contest.contenders.push_back({name + form, role, threads, [=] { run(threads); }, right});
  };
  const Runner all = make();
  add("anabranch", Role::library, 1, all);
  if (unfused) add("without fusion", Role::shown, 1, without("fusion", make));
  add("without sharing", Role::shown, 1, without("share", make));
  add("anabranch", Role::library, two, all);
}

/// One of the peers; `run` takes the number of threads for TBB, 0 for none.
void add_loop(Contest& contest, const Runner& run, const Right& right, bool by_tbb = true) {
  contest.contenders.push_back({"loop, -O3", Role::peer, 1, [=] { run(0); }, right});
  if (by_tbb) contest.contenders.push_back({"loop by TBB", Role::peer, two, [=] { run(two); }, right});
}
void add_vectors(Contest& contest, const std::function<void()>& run, const Right& right) {
  contest.contenders.push_back({"AVX-512 by hand", Role::peer, 1, run, right});
}

template <class F>
std::shared_ptr<Buffer<float>> floats(std::int64_t n, std::uint64_t seed, F f) {
  const auto v = std::make_shared<Buffer<float>>(random_floats(n, seed));
  for (std::size_t i = 0; i < v->size(); ++i) (*v)[i] = f((*v)[i]);
  return v;
}

bool near(float got, double expected, double tolerance) {
  return std::abs(static_cast<double>(got) - expected) <= tolerance;
}

void add_dot(std::int64_t n) {
  add_contest(fmt::format("paper/dot product, {} M", n / 1'000'000), [=] {
    const auto keep = [](float x) { return x; };
    const auto x = floats(n, 1, keep), y = floats(n, 2, keep);
    double expected = 0, size = 0;
    for (std::size_t i = 0; i < x->size(); ++i) {
      const double product = static_cast<double>((*x)[i]) * static_cast<double>((*y)[i]);
      expected += product;
      size += std::abs(product);
    }
    const auto got = std::make_shared<float>();
    const Right right = [=] { return near(std::exchange(*got, -1.0F), expected, 1e-6 * size); };
    Contest contest{.unit = "GB/s", .amount = 8.0 * static_cast<double>(n)};
    add_ours(
        contest,
        [=]() -> Runner {
          const auto program = compile<Vector<float>, Vector<float>>(
              [](const auto& a, const auto& b) { return examples::dot_product(a, b); });
          const auto xs = vector_over(x->data(), n), ys = vector_over(y->data(), n);
          return [=](int threads) { *got = program.run({.threads = threads}, xs, ys)[0]; };
        },
        right);
    add_loop(contest, [=](int threads) { *got = dot_plain(x->data(), y->data(), n, threads); }, right);
    return contest;
  });
}

/// The price in double.
double price(double spot, double strike, double years) {
  const double rate = examples::riskless_rate, volatility = examples::volatility;
  const auto normal = [](double x) { return 0.5 * std::erfc(-x * std::sqrt(0.5)); };
  const double deviation = volatility * std::sqrt(years);
  const double d1 = (std::log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / deviation;
  return spot * normal(d1) - strike * std::exp(-rate * years) * normal(d1 - deviation);
}

void add_black_scholes(std::int64_t n) {
  add_contest(fmt::format("paper/Black-Scholes, {} M", n / 1'000'000), [=] {
    const auto spot = floats(n, 1, [](float v) { return 17.5F + 12.5F * v; });
    const auto strike = floats(n, 2, [](float v) { return 50.5F + 49.5F * v; });
    const auto years = floats(n, 3, [](float v) { return 5.125F + 4.875F * v; });
    const auto got = std::make_shared<Buffer<float>>(static_cast<std::size_t>(n));
    const auto expected = std::make_shared<std::vector<double>>();
    constexpr std::size_t step = 7;  // of the prices that are checked
    for (std::size_t i = 0; i < got->size(); i += step)
      expected->push_back(price((*spot)[i], (*strike)[i], (*years)[i]));
    const Right right = [=] {
      for (std::size_t i = 0; i < expected->size(); ++i)
        if (!near((*got)[i * step], (*expected)[i], 1e-4)) return false;
      std::fill_n(got->data(), got->size(), -1.0F);
      return true;
    };
    Contest contest{.unit = "G options/s", .amount = static_cast<double>(n)};
    add_ours(
        contest,
        [=]() -> Runner {
          const auto program = compile<Vector<float>, Vector<float>, Vector<float>>(
              [](const auto& s, const auto& k, const auto& t) { return examples::black_scholes(s, k, t); });
          const auto s = vector_over(spot->data(), n), k = vector_over(strike->data(), n),
                     t = vector_over(years->data(), n);
          return [=](int threads) {
            auto to = Vector<float>::view(Index{n}, got->data());
            program.run_into(to, {.threads = threads}, s, k, t);
          };
        },
        right);
    add_loop(
        contest,
        [=](int threads) {
          black_scholes_plain(spot->data(), strike->data(), years->data(), got->data(), n,
                              examples::riskless_rate, examples::volatility, threads);
        },
        right);
    contest.contenders.push_back({"loop, -ffast-math, libmvec", Role::peer, 1,
                                  [=] {
                                    black_scholes_loop(spot->data(), strike->data(), years->data(),
                                                       got->data(), n, examples::riskless_rate,
                                                       examples::volatility);
                                  },
                                  right});
    if (has_programs_in_vectors())
      add_vectors(
          contest,
          [=] {
            black_scholes_intrinsics(spot->data(), strike->data(), years->data(), got->data(), n,
                                     examples::riskless_rate, examples::volatility);
          },
          right);
    return contest;
  });
}

void add_mandelbrot(std::int64_t height, std::int64_t width, std::int32_t limit) {
  add_contest(fmt::format("paper/Mandelbrot, {} x {}, limit {}", height, width, limit), [=] {
    const examples::View view;
    const auto n = static_cast<std::size_t>(height * width);
    const auto got = std::make_shared<Buffer<std::int32_t>>(n),
               expected = std::make_shared<Buffer<std::int32_t>>(n);
    const auto loop = [=](std::int32_t* to, int threads) {
      mandelbrot_plain(to, width, height, view.left, view.right, view.low, view.high, limit, threads);
    };
    loop(expected->data(), 0);
    // Who contracts products and sums gets other numbers on the border of the set.
    const Right right = [=] {
      std::size_t different = 0;
      for (std::size_t i = 0; i < n; ++i) different += (*got)[i] != (*expected)[i] ? 1 : 0;
      std::fill_n(got->data(), n, -1);
      return different < n / 100;
    };
    Contest contest{.unit = "Gpixel/s", .amount = static_cast<double>(n)};
    add_ours(
        contest,
        [=]() -> Runner {
          const auto program = compile(examples::mandelbrot(height, width, limit, view));
          return [=](int threads) {
            auto to = Matrix<std::int32_t>::view(Index{height, width}, got->data());
            program.run_into(to, {.threads = threads});
          };
        },
        right);
    add_loop(contest, [=](int threads) { loop(got->data(), threads); }, right);
    if (has_programs_in_vectors())
      add_vectors(
          contest,
          [=] {
            mandelbrot_in_vectors(got->data(), width, height, view.left, view.right, view.low, view.high,
                                  limit);
          },
          right);
    return contest;
  });
}

/// n: a multiple of 1024.
void add_n_body(std::int64_t n, bool unfused) {
  add_contest(fmt::format("paper/n-body, {} Ki", n / 1024), [=] {
    using examples::Acceleration;
    const auto uniform = [](float v) { return 0.5F + 0.5F * v; };
    const auto x = floats(n, 1, uniform), y = floats(n, 2, uniform), z = floats(n, 3, uniform),
               m = floats(n, 4, uniform);
    const auto got = std::make_shared<Vector<Acceleration>>(Index{n});
    const auto ax = std::make_shared<Buffer<float>>(static_cast<std::size_t>(n)),
               ay = std::make_shared<Buffer<float>>(static_cast<std::size_t>(n)),
               az = std::make_shared<Buffer<float>>(static_cast<std::size_t>(n));
    // Of some of the bodies, in double: of each direction the sum, and that of the sizes of what is added.
    struct Expected {
      std::size_t body;
      double x, y, z, size;
    };
    const auto expected = std::make_shared<std::vector<Expected>>();
    for (std::size_t i = 0; i < x->size(); i += 1021) {
      Expected e{i, 0, 0, 0, 0};
      for (std::size_t j = 0; j < x->size(); ++j) {
        const double dx = (*x)[j] - (*x)[i], dy = (*y)[j] - (*y)[i], dz = (*z)[j] - (*z)[i];
        const double force =
            static_cast<double>((*m)[j]) /
            std::pow(dx * dx + dy * dy + dz * dz + static_cast<double>(examples::softening), 1.5);
        e.x += force * dx;
        e.y += force * dy;
        e.z += force * dz;
        e.size += force;
      }
      expected->push_back(e);
    }
    const auto as_expected = [=](auto at) {
      return std::all_of(expected->begin(), expected->end(), [&](const Expected& e) {
        const Acceleration a = at(e.body);
        const double tolerance = 1e-5 * e.size;
        return near(a.x, e.x, tolerance) && near(a.y, e.y, tolerance) && near(a.z, e.z, tolerance);
      });
    };
    constexpr float none = -1e9F;
    const Right right = [=] {
      const auto at = [](std::size_t i) { return static_cast<std::int64_t>(i); };
      const bool found = as_expected([&](std::size_t i) { return (*got)[at(i)]; });
      for (const Expected& e : *expected) got->set(at(e.body), {none, none, none});
      return found;
    };
    const Right peers_right = [=] {
      const bool found =
          as_expected([&](std::size_t i) { return Acceleration{(*ax)[i], (*ay)[i], (*az)[i]}; });
      for (Buffer<float>* const direction : {ax.get(), ay.get(), az.get()})
        std::fill_n(direction->data(), direction->size(), none);
      return found;
    };
    Contest contest{.unit = "Ginteraction/s", .amount = static_cast<double>(n) * static_cast<double>(n)};
    add_ours(
        contest,
        [=]() -> Runner {
          Vector<examples::Body> bodies(Index{n});
          for (std::int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i);
            bodies.set(i, {(*x)[at], (*y)[at], (*z)[at], (*m)[at]});
          }
          const auto program =
              compile<Vector<examples::Body>>([](const auto& b) { return examples::accelerations(b); });
          return [=](int threads) { program.run_into(*got, {.threads = threads}, bodies); };
        },
        right, unfused);
    add_loop(
        contest,
        [=](int threads) {
          n_body_plain(x->data(), y->data(), z->data(), m->data(), ax->data(), ay->data(), az->data(), n,
                       examples::softening, threads);
        },
        peers_right);
    if (has_programs_in_vectors())
      add_vectors(
          contest,
          [=] {
            n_body_in_vectors(x->data(), y->data(), z->data(), m->data(), ax->data(), ay->data(), az->data(),
                              n, examples::softening);
          },
          peers_right);
    return contest;
  });
}

void add_smvm(std::int64_t points) {
  add_contest("paper/SMVM", [=] {
    const auto a = std::make_shared<Csr>(laplacian27(points));
    const auto x = std::make_shared<Buffer<double>>(random_vector(a->cols, 3));
    const auto rows = static_cast<std::size_t>(a->rows);
    const auto got = std::make_shared<Buffer<double>>(rows),
               expected = std::make_shared<Buffer<double>>(rows);
    csr_loop(*a, x->data(), expected->data(), 1);
    const Right right = [=] {
      const bool as_expected = close(got->data(), expected->data(), a->rows, 1e-14);
      std::fill_n(got->data(), rows, -1e9);
      return as_expected;
    };
    Contest contest{.unit = "GFLOP/s", .amount = 2.0 * static_cast<double>(a->nnz())};
    contest.note = fmt::format("{:.3g} M rows, {:.3g} M elements", static_cast<double>(a->rows) / 1e6,
                               static_cast<double>(a->nnz()) / 1e6);
    add_ours(
        contest,
        [=]() -> Runner {
          using I = Vector<std::int32_t>;
          using D = Vector<double>;
          const auto program =
              compile<I, I, D, D>([](const auto& begins, const auto& columns, const auto& values,
                                     const auto& by) { return examples::smvm(begins, columns, values, by); });
          const auto begins = vector_over(a->indptr.data(), a->rows + 1);
          const auto columns = vector_over(a->indices.data(), a->nnz());
          const auto values = vector_over(a->values.data(), a->nnz());
          const auto by = vector_over(x->data(), a->cols);
          return [=](int threads) {
            auto to = D::view(Index{a->rows}, got->data());
            program.run_into(to, {.threads = threads}, begins, columns, values, by);
          };
        },
        right);
    add_ours(
        contest,
        [=]() -> Runner {
          const auto matrix =
              io::csr_view(a->rows, a->cols, a->indptr.span(), a->indices.span(), a->values.span());
          const auto program = compile(smvm(stream_in(matrix), use(vector_over(x->data(), a->cols))));
          return [=](int threads) {
            auto to = Vector<double>::view(Index{a->rows}, got->data());
            program.run_into(to, {.threads = threads});
          };
        },
        right, true, ", a stream of rows");
    add_loop(contest, [=](int threads) { smvm_plain(*a, x->data(), got->data(), threads); }, right);
    return contest;
  });
}

void add_radix_sort(std::int64_t n) {
  add_contest(fmt::format("paper/radix sort, {} M", n / 1'000'000), [=] {
    using Numbers = std::vector<std::int32_t>;
    const auto size = static_cast<std::size_t>(n);
    const auto from = std::make_shared<Numbers>(), expected = std::make_shared<Numbers>(),
               values = std::make_shared<Numbers>(size), buffer = std::make_shared<Numbers>(size);
    std::uint64_t state = 1;
    for (std::int64_t i = 0; i < n; ++i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      from->push_back(static_cast<std::int32_t>(state >> 32));
    }
    *expected = *from;
    std::sort(expected->begin(), expected->end());
    const Right right = [=] {
      const bool as_expected = *values == *expected;
      std::fill(values->begin(), values->end(), -1);
      return as_expected;
    };
    Contest contest{.unit = "G numbers/s", .amount = static_cast<double>(n)};
    add_ours(
        contest,
        [=]() -> Runner {
          const auto program =
              compile<Vector<std::int32_t>>([](const auto& v) { return examples::radix_sort(v); });
          return [=](int threads) {
            auto to = Vector<std::int32_t>::view(Index{n}, values->data());
            program.run_into(to, {.threads = threads}, vector_over(from->data(), n));
          };
        },
        right);
    const auto library = std::make_shared<Program<Acc<Vector<std::int32_t>>, Vector<std::int32_t>>>(
        compile<Vector<std::int32_t>>([](const auto& v) { return sort(v); }));
    contest.contenders.push_back({"anabranch's sort", Role::shown, 1,
                                  [=] {
                                    auto to = Vector<std::int32_t>::view(Index{n}, values->data());
                                    library->run_into(to, {.threads = 1}, vector_over(from->data(), n));
                                  },
                                  right});
    add_loop(
        contest,
        [=](int) {
          std::copy(from->begin(), from->end(), values->begin());
          radix_sort_by_bits(*values, *buffer);
        },
        right, false);
    contest.contenders.push_back({"loop, 8 bits a pass", Role::shown, 1,
                                  [=] {
                                    std::copy(from->begin(), from->end(), values->begin());
                                    bench::radix_sort(*values, *buffer);
                                  },
                                  right});
    contest.contenders.push_back({"tbb::parallel_sort", Role::shown, two,
                                  [=] {
                                    std::copy(from->begin(), from->end(), values->begin());
                                    parallel_sort(*values, two);
                                  },
                                  right});
    return contest;
  });
}

void add_fluid_flow(std::int64_t n) {
  add_contest(fmt::format("paper/fluid flow, {} x {}", n, n), [=] {
    const examples::FluidOptions options;
    const auto uniform = [](float v) { return 0.5F + 0.5F * v; };
    const auto wind = [](float v) { return 0.02F * v; };
    const auto density = floats(n * n, 1, uniform), u = floats(n * n, 2, wind), v = floats(n * n, 3, wind);
    const auto cells = static_cast<std::size_t>(n * n);
    using Result = std::vector<Buffer<float>>;
    const auto fields = [=] {
      return Result{Buffer<float>(cells), Buffer<float>(cells), Buffer<float>(cells)};
    };
    const auto got = std::make_shared<Result>(fields()), expected = std::make_shared<Result>(fields());
    const auto loops = std::make_shared<FluidLoops>(n, options.time_step, options.viscosity,
                                                    options.diffusion, options.rounds);
    const auto by_loops = [=](Result& to, int threads) {
      loops->step(density->data(), u->data(), v->data(), to[0].data(), to[1].data(), to[2].data(), threads);
    };
    by_loops(*expected, 0);
    const Right right = [=] {
      for (std::size_t f = 0; f < 3; ++f)
        for (std::size_t i = 0; i < cells; ++i) {
          if (!near((*got)[f][i], static_cast<double>((*expected)[f][i]), 1e-4)) return false;
          (*got)[f][i] = -1;
        }
      return true;
    };
    Contest contest{.unit = "G cell updates/s",
                    .amount = static_cast<double>(cells) * 5 * options.rounds};  // of the five solvers
    add_ours(
        contest,
        [=]() -> Runner {
          using M = Matrix<float>;
          const auto program = compile<M, M, M>([=](const auto& d, const auto& across, const auto& down) {
            return examples::fluid_flow(options, d, across, down);
          });
          const auto view = [=](const Buffer<float>& f) { return M::view(Index{n, n}, f.data()); };
          return [=](int threads) {
            auto d = view((*got)[0]), across = view((*got)[1]), down = view((*got)[2]);
            program.run_into(std::tie(d, across, down), {.threads = threads}, view(*density), view(*u),
                             view(*v));
          };
        },
        right);
    add_loop(contest, [=](int threads) { by_loops(*got, threads); }, right);
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
  add_dot(20'000'000);
  add_black_scholes(20'000'000);
  add_mandelbrot(1000, 2000, 255);
  add_n_body(4 << 10, true);
  add_n_body(32 << 10, false);  // without fusion: 44 GiB of pairs
  add_smvm(110);
  add_radix_sort(4'000'000);
  add_fluid_flow(1024);
  return run_all(argc, argv);
}
