#include "support/catch.h"

#include <anabranch/io.h>

#include "../io/matrix_files.h"
#include "apps/generate/matrix.h"

using namespace anabranch;
using namespace io_test;

namespace {

Csr<> generated(apps::MatrixKind kind, std::int64_t size, int points = 0, std::uint64_t seed = 1,
                const char* name = "m.npz") {
  TemporaryDirectory dir;
  apps::GenerateOptions options;
  options.size = size;
  options.points = points;
  options.seed = seed;
  const auto made = apps::generate_matrix(kind, options, dir / name);
  auto source = io::open_csr<std::int32_t, double>(dir / name);
  CHECK(dir.files() == 1);
  CHECK(source.info().items == made.rows);
  CHECK(source.info().work == made.nnz);
  return drain(*source.erased(), made.cols);
}

}  // namespace

TEST_CASE("generate: the five-point Laplacian by hand") {
  CHECK((generated(apps::MatrixKind::laplacian2d, 2) == Csr<>{4,
                                                              {0, 3, 6, 9, 12},
                                                              {0, 1, 2, 0, 1, 3, 0, 2, 3, 1, 2, 3},
                                                              {4, -1, -1, -1, 4, -1, -1, 4, -1, -1, -1, 4}}));
}

TEST_CASE("generate: numbers of entries of the stencils") {
  // 3n-2 neighbours along each of the axes that a step may take.
  CHECK(generated(apps::MatrixKind::laplacian2d, 10, 9).values.size() == 28 * 28);
  CHECK(generated(apps::MatrixKind::laplacian3d, 7, 27).values.size() == 19 * 19 * 19);
  CHECK(generated(apps::MatrixKind::laplacian3d, 7, 7).values.size() == 7 * 343 - 6 * 49);
  CHECK(generated(apps::MatrixKind::banded, 100, 5).values.size() == 500 - 6);
}

TEST_CASE("generate: same seed, same matrix; columns rise") {
  for (auto kind : {apps::MatrixKind::banded, apps::MatrixKind::powerlaw, apps::MatrixKind::rmat}) {
    const Csr<> m = generated(kind, 4096);
    CHECK(m == generated(kind, 4096));
    CHECK(m == generated(kind, 4096, 0, 1, "m.mtx"));
    CHECK_FALSE(m == generated(kind, 4096, 0, 2));
    bool rising = true;
    for (std::size_t r = 0; r + 1 < m.indptr.size(); ++r)
      for (auto k = static_cast<std::size_t>(m.indptr[r]) + 1; k < static_cast<std::size_t>(m.indptr[r + 1]);
           ++k)
        rising &= m.indices[k - 1] < m.indices[k];
    CHECK(rising);
  }
}

TEST_CASE("generate: options without meaning are refused") {
  apps::GenerateOptions options;
  TemporaryDirectory dir;
  CHECK_THROWS_AS(apps::generate_matrix(apps::MatrixKind::banded, options, dir / "m.npz"), RunError);
  options.size = 1000;
  CHECK_THROWS_AS(apps::generate_matrix(apps::MatrixKind::rmat, options, dir / "m.npz"), RunError);
  options.points = 8;
  CHECK_THROWS_AS(apps::generate_matrix(apps::MatrixKind::laplacian3d, options, dir / "m.npz"), RunError);
  CHECK(dir.files() == 0);
}
