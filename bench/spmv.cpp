#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "support/contest.h"
#include "support/matrices.h"
#include "support/mkl_spmv.h"
#include "support/peers.h"
#include "support/programs.h"

/// Sparse matrix times vector, in double, the matrix in memory.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

/// One product, everything that it needs, and what every contender's result is compared with.
struct Problem {
  Csr a;
  Buffer<double> x, expected;
  double tolerance = 0;
  std::unique_ptr<Program<Acc<Vector<double>>>> program;

  explicit Problem(Csr matrix)
      : a(std::move(matrix)), x(random_vector(a.cols, 3)), expected(static_cast<std::size_t>(a.rows)) {
    csr_loop(a, x.data(), expected.data(), 1);
    // |error| <= n eps sum |a||x|, and |a||x| <= 1; the longest rows bound all.
    std::int64_t longest = 1;
    for (std::size_t i = 0; i + 1 < a.indptr.size(); ++i)
      longest = std::max<std::int64_t>(longest, a.indptr[i + 1] - a.indptr[i]);
    tolerance = 0x1p-52 * static_cast<double>(longest) * std::sqrt(static_cast<double>(longest));
    const auto rows = io::csr_view(a.rows, a.cols, a.indptr.span(), a.indices.span(), a.values.span());
    program = std::make_unique<Program<Acc<Vector<double>>>>(
        compile(smvm(stream_in(rows), use(vector_over(x.data(), a.cols)))));
  }
};

void add_matrix(const std::string& name, int calls, std::function<Csr()> make) {
  add_contest("spmv/" + name, [=] {
    auto p = std::make_shared<Problem>(make());
    auto y = std::make_shared<Buffer<double>>(static_cast<std::size_t>(p->a.rows));
    auto ours = std::make_shared<Vector<double>>();
    const auto right = [p](const double* result) {
      return close(result, p->expected.data(), p->a.rows, p->tolerance);
    };

    Contest contest;
    contest.unit = "GFLOP/s";
    contest.amount = 2.0 * static_cast<double>(p->a.nnz());
    contest.note =
        fmt::format("{:.3g} M rows, {:.3g} M nonzeros, {:.3g} MB", static_cast<double>(p->a.rows) / 1e6,
                    static_cast<double>(p->a.nnz()) / 1e6, p->a.bytes() / 1e6);
    for (const int threads : {1, 2}) {
      contest.contenders.push_back({"anabranch", Role::library, threads,
                                    [=] { *ours = p->program->run({.threads = threads}); },
                                    [=] { return ours->size() == p->a.rows && right(ours->data()); }, calls});
      contest.contenders.push_back({"CSR loop", Role::peer, threads,
                                    [=] { csr_loop(p->a, p->x.data(), y->data(), threads); },
                                    [=] { return right(y->data()); }, calls});
      contest.contenders.push_back({"Eigen", Role::peer, threads,
                                    [=] { eigen_spmv(p->a, p->x.data(), y->data(), threads); },
                                    [=] { return right(y->data()); }, calls});
      if (const auto mkl = mkl_spmv(p->a, threads))
        contest.contenders.push_back({"oneMKL", Role::peer, threads, [=] { mkl(p->x.data(), y->data()); },
                                      [=] { return right(y->data()); }, calls});
      auto read = std::make_shared<ReadAll>(threads);
      read->also(p->a.values).also(p->a.indices).also(p->a.indptr).also(p->x).also(*y);
      contest.contenders.push_back({"read all bytes", Role::limit, threads, [=] { (*read)(); }, {}, calls});
    }
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
  add_matrix("laplacian27", 1, [] { return laplacian27(110); });
  add_matrix("banded80", 1, [] { return banded(500'000, 80, 40'000); });
  add_matrix("laplacian9", 1, [] { return laplacian9(2'000); });
  add_matrix("random64", 1, [] { return random_lengths(1'000'000, 64, 4'000); });
  add_matrix("random16", 1, [] { return random_lengths(3'000'000, 16, 4'000); });
  add_matrix("powerlaw", 1, [] { return power_law(3'000'000); });
  add_matrix("banded3", 1, [] { return banded(7'000'000, 3, 1'000); });
  add_matrix("in_L3", 20, [] { return laplacian27(32); });
  add_matrix("in_L2", 500, [] { return laplacian27(12); });
  return run_all(argc, argv);
}
