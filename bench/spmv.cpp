#include <functional>
#include <string>

#include "support/contest.h"
#include "support/matrices.h"
#include "support/spmv_contest.h"

/// Sparse matrix times vector, in double, the matrix in memory.
namespace {

using namespace anabranch::bench;

void add_matrix(const std::string& name, int calls, std::function<Csr()> make) {
  add_contest("spmv/" + name, [=] { return spmv_contest(make(), calls, thread_counts()); });
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
