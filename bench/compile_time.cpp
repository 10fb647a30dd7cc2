#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <vector>

#include "support/contest.h"
#include "support/matrices.h"
#include "support/new_process.h"
#include "support/programs.h"

/// Costs that do not depend on the data: compiling, calling, starting a chunk.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

/// A new constant makes a new kernel.
double next_constant() {
  static int count = 0;
  return 1.0 + 0.001 * ++count;
}

struct Tiny {
  std::vector<std::int32_t> indptr{0, 1, 3, 3, 6}, indices{0, 1, 2, 3, 0, 1};
  std::vector<double> values{1, 2, 3, 4, 5, 6}, x{1, 1, 1, 1};

  auto rows() const { return stream_in(io::csr_view(4, 4, indptr, indices, values)); }
};
const Tiny tiny;

/// `operations` multiplications and additions on every element.
Acc<Vector<double>> polynomial(Acc<Vector<double>> xs, int operations, double constant) {
  return map(
      [=](Exp<double> x) {
        Exp<double> y = x;
        for (int i = 0; i < operations / 2; ++i) y = y * x + (constant + i);
        return y;
      },
      xs);
}

/// What the first run of a program takes more than the next one.
template <class R>
double kernel_seconds(const R& computation) {
  const auto program = compile(computation);
  RunReport report;
  const double begin = now();
  static_cast<void>(program.run({.threads = 1}, &report));
  const double compiled = now();
  static_cast<void>(program.run({.threads = 1}));
  if (report.kernels_compiled != 1) throw std::runtime_error("not one kernel was compiled");
  return (compiled - begin) - (now() - compiled);
}

/// Four kernels that do not depend on each other.
double independent_kernels(int threads) {
  const auto a = use(Vector<double>(tiny.x));
  const auto of = [&] { return polynomial(a, 100, next_constant()); };
  const auto program = compile(std::tuple(sum(of()), scanl1(plus, of()), reverse(of()), of()));
  RunReport report;
  const double begin = now();
  static_cast<void>(program.run({.threads = threads}, &report));
  if (report.kernels_compiled != 4) throw std::runtime_error("not four kernels were compiled");
  return now() - begin;
}

double smvm_kernel() {
  // The seed is part of the kernel: another number, another kernel.
  const double seed = next_constant();
  const auto dot_row = [=](Acc<SparseRow> row) {
    auto [columns, values] = unzip(row);
    return fold(plus, seed, zip_with(times, values, gather(columns, use(Vector<double>(tiny.x)))));
  };
  return kernel_seconds(consume(elements(map_seq(dot_row, tiny.rows()))));
}
double dot_kernel() {
  const auto x = use(Vector<double>(tiny.x));
  return kernel_seconds(fold(plus, next_constant(), zip_with(times, x, x)));
}
double map_kernel(int operations) {
  return kernel_seconds(polynomial(use(Vector<double>(tiny.x)), operations, next_constant()));
}

/// Passes from the program to the plan, no code.
std::function<Measure()> front(std::function<Acc<Vector<double>>()> make) {
  return [make = std::move(make)] {
    return [computation = make()] {
      const double begin = now();
      const auto program = compile(computation);
      return now() - begin;
    };
  };
}

void add_compilation() {
  constexpr double kernel = 15e-3;
  const auto first = [](auto f) { return [f] { return [f] { return in_new_process(f); }; }; };
  const auto warm = [](auto f) {
    return [f] {
      return [f] {
        return in_new_process([f] {
          f();
          return f();
        });
      };
    };
  };
  add_figure("kernel/smvm/first", "first kernel of a process, code generator opened", kernel,
             first(smvm_kernel));
  add_figure("kernel/smvm", "a later kernel", kernel, warm(smvm_kernel));
  add_figure("kernel/dot", "a later kernel", kernel, warm(dot_kernel));
  for (const int operations : {10, 100, 1000})
    add_figure(fmt::format("kernel/map_{}", operations), fmt::format("map of {} operations", operations),
               operations <= 100 ? kernel : 0, warm([=] { return map_kernel(operations); }));

  for (const int threads : {1, 2})
    add_figure(fmt::format("kernel/four/threads:{}", threads), "four kernels of 100 operations", 0,
               warm([=] { return independent_kernels(threads); }));

  add_figure("front/smvm", "passes from program to plan", 0,
             front([] { return smvm(tiny.rows(), use(Vector<double>(tiny.x))); }));
  for (const int nodes : {100, 1000, 10000}) {
    const double target = nodes == 10000 ? 100e-3 : 0;
    add_figure(fmt::format("front/expression_{}", nodes), "one map, so many operations", target,
               front([=] { return polynomial(use(Vector<double>(tiny.x)), nodes, next_constant()); }));
    add_figure(fmt::format("front/arrays_{}", nodes), "so many maps in a chain", target, front([=] {
                 auto a = use(Vector<double>(tiny.x));
                 for (int i = 0; i < nodes; ++i) a = map([](Exp<double> x) { return x + 1.0; }, a);
                 return a;
               }));
  }
}

/// The time of one of `calls` calls.
double per_call(int calls, const std::function<void()>& call) {
  const double begin = now();
  for (int i = 0; i < calls; ++i) call();
  return (now() - begin) / calls;
}

void add_fixed_costs() {
  constexpr double call = 10e-6, chunk = 20e-6;
  for (const int threads : {1, 2}) {
    add_figure(fmt::format("call/dot_of_4/threads:{}", threads), "a run of a compiled program", call, [=] {
      const Vector<double> x(tiny.x);
      const auto program = compile<Vector<double>, Vector<double>>(dotp<double>);
      return
          [=] { return per_call(2000, [&] { static_cast<void>(program.run({.threads = threads}, x, x)); }); };
    });
    add_figure(
        fmt::format("call/smvm_of_4_rows/threads:{}", threads), "a run over a stream of one chunk", 0, [=] {
          const auto program = compile(smvm(tiny.rows(), use(Vector<double>(tiny.x))));
          return
              [=] { return per_call(2000, [&] { static_cast<void>(program.run({.threads = threads})); }); };
        });
    add_figure(fmt::format("chunk/threads:{}", threads), "each of 20,000 chunks of one item", chunk, [=] {
      constexpr std::int64_t rows = 20'000;
      auto a = std::make_shared<Csr>(banded(rows, 1, rows));
      const auto program = compile(row_sums(stream_in(
          io::csr_view(a->rows, a->cols, a->indptr.span(), a->indices.span(), a->values.span(), a))));
      const auto with = [=](const char* scheduler) {
        return per_call(
            1, [&] { static_cast<void>(program.run({.threads = threads, .scheduler = scheduler})); });
      };
      return [=] { return (with("fixed:1") - with("fixed:1000000000")) / (rows - 1); };
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("ANABRANCH_CACHE", "off", 1);  // bench_warm_start has the other times
  // Processes are split off before there are threads.
  add_compilation();
  add_fixed_costs();
  return run_all(argc, argv);
}
