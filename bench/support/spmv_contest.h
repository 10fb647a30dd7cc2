#pragma once

#include <anabranch/anabranch.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "contest.h"
#include "graphblas_peers.h"
#include "matrices.h"
#include "matrix_sources.h"
#include "mkl_spmv.h"
#include "peers.h"
#include "programs.h"

/// Sparse matrix times vector, in double, the matrix in memory: ours beside libraries and a loop.
namespace anabranch::bench {

inline std::string size_of(const Csr& a) {
  return fmt::format("{:.3g} M rows, {:.3g} M nonzeros, {:.3g} MB", static_cast<double>(a.rows) / 1e6,
                     static_cast<double>(a.nnz()) / 1e6, a.bytes() / 1e6);
}

/// One product, and what every contender's result is compared with. All write into the same memory.
struct SpmvProblem {
  Csr a;
  Buffer<double> x, y, expected;
  double tolerance = 0;

  explicit SpmvProblem(Csr matrix)
      : a(std::move(matrix)), x(random_vector(a.cols, 3)), y(size(a.rows)), expected(size(a.rows)) {
    csr_loop(a, x.data(), expected.data(), 1);
    // |error| <= n eps sum |a||x|, and |a||x| <= 1; the longest rows bound all.
    const auto longest = static_cast<double>(std::max<std::int64_t>(a.longest_row(), 1));
    tolerance = 0x1p-52 * longest * std::sqrt(longest);
  }
  /// Looks at y; the next contender finds no numbers there.
  bool right() const {
    const bool as_expected = close(y.data(), expected.data(), a.rows, tolerance);
    std::fill_n(y.data(), a.rows, std::numeric_limits<double>::quiet_NaN());
    return as_expected;
  }
  Acc<Vector<double>> vector() const { return use(vector_over(x.data(), a.cols)); }
  Vector<double> result() const { return Vector<double>::view(Index<1>{{a.rows}}, y.data()); }

 private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }
};

/// With each of these numbers of threads, `calls` products a measurement.
inline Contest spmv_contest(Csr matrix, int calls, std::span<const int> thread_counts) {
  const auto p = std::make_shared<SpmvProblem>(std::move(matrix));
  const auto program =
      std::make_shared<Program<Acc<Vector<double>>>>(compile(smvm(stream_in(view_of(p->a)), p->vector())));
  const auto graphblas = graphblas_spmv(p->a, p->x.data());
  Contest contest;
  contest.unit = "GFLOP/s";
  contest.amount = 2.0 * static_cast<double>(p->a.nnz());
  contest.note = size_of(p->a);
  for (const int threads : thread_counts) {
    const auto add = [&](const char* name, Role role, std::function<void()> run) {
      contest.contenders.push_back({name, role, threads, std::move(run), [=] { return p->right(); }, calls});
    };
    add("anabranch", Role::library, [=] {
      auto y = p->result();
      program->run_into(y, {.threads = threads});
    });
    add("CSR loop", Role::peer, [=] { csr_loop(p->a, p->x.data(), p->y.data(), threads); });
    add("Eigen", Role::peer, [=] { eigen_spmv(p->a, p->x.data(), p->y.data(), threads); });
    if (const auto mkl = mkl_spmv(p->a, threads))
      add("oneMKL", Role::peer, [=] { mkl(p->x.data(), p->y.data()); });
    if (graphblas.run)
      contest.contenders.push_back({"GraphBLAS", Role::peer, threads, [=] { graphblas.run(threads); },
                                    [=] {
                                      graphblas.copy_result(p->y.data());
                                      return p->right();
                                    },
                                    calls});
    const auto read = std::make_shared<ReadAll>(threads);
    read->also(p->a.values).also(p->a.indices).also(p->a.indptr).also(p->x).also(p->y);
    contest.contenders.push_back({"read all bytes", Role::limit, threads, [=] { (*read)(); }, {}, calls});
  }
  return contest;
}

}  // namespace anabranch::bench
