#include "support/catch.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "bench/support/table_matrices.h"

using namespace anabranch::bench;

namespace {

struct Expected {
  const char* name;
  std::int64_t rows, cols;
  double millions, a_row;
};
void check_shape(const Csr& m, const Expected& e) {
  INFO(e.name);
  CHECK(m.rows == e.rows);
  CHECK(m.cols == e.cols);
  const auto nonzeros = static_cast<double>(m.nnz());
  CHECK(nonzeros == Approx(e.millions * 1e6).epsilon(0.02));
  CHECK(std::abs(nonzeros / static_cast<double>(m.rows) - e.a_row) <= std::max(0.5, 0.02 * e.a_row));
}

const TableMatrix& named(const std::string& name) {
  const auto all = table_matrices();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& m) { return m.name == name; });
  REQUIRE(found != all.end());
  return *found;
}

std::int64_t length(const Csr& m, std::int64_t row) {
  const auto i = static_cast<std::size_t>(row);
  return m.indptr[i + 1] - m.indptr[i];
}

/// Columns are there and rise in each row.
bool well_formed(const Csr& m) {
  bool right = m.indptr[0] == 0 && m.indptr[static_cast<std::size_t>(m.rows)] == m.nnz() &&
               m.values.size() == m.indices.size();
  for (std::int64_t i = 0; i < m.rows; ++i) {
    std::int32_t before = -1;
    for (auto k = m.indptr[static_cast<std::size_t>(i)]; k < m.indptr[static_cast<std::size_t>(i) + 1]; ++k) {
      const std::int32_t column = m.indices[static_cast<std::size_t>(k)];
      right &= column > before && column < m.cols;
      before = column;
    }
  }
  return right;
}

}  // namespace

TEST_CASE("bench: the fourteen matrices have the rows, columns and nonzeros of the table") {
  const Expected table[] = {
      {"Dense", 2000, 2000, 4.0, 2000},
      {"Protein", 36417, 36417, 4.34, 119},
      {"FEM/Spheres", 83334, 83334, 6.01, 72},
      {"FEM/Cantilever", 62451, 62451, 4.01, 64},
      {"Wind Tunnel", 217918, 217918, 11.6, 53},
      {"FEM/Harbor", 46835, 46835, 2.37, 50},
      {"QCD", 49152, 49152, 1.92, 39},
      {"FEM/Ship", 140874, 140874, 7.81, 55},
      {"Economics", 206500, 206500, 1.27, 6},
      {"Epidemiology", 525825, 525825, 2.10, 4},
      {"FEM/Accelerator", 121192, 121192, 2.62, 22},
      {"Circuit", 170998, 170998, 0.96, 6},
      {"Webbase", 1000005, 1000005, 3.11, 3},
      {"LP", 4284, 1092610, 11.3, 2633},
  };
  REQUIRE(table_matrices().size() == std::size(table));
  for (const Expected& e : table) {
    const Csr m = make_matrix(named(e.name));
    check_shape(m, e);
    CHECK(well_formed(m));
  }
}

TEST_CASE("bench: two further matrices have the sizes that they are described with", "[.long]") {
  const Expected table[] = {
      {"R-MAT", 1 << 20, 1 << 20, 16.1, 15.4},
      {"Bump_2911", 2'911'419, 2'911'419, 127.73, 43.9},
  };
  REQUIRE(further_matrices().size() == std::size(table));
  for (std::size_t i = 0; i < std::size(table); ++i) {
    const TableMatrix& described = further_matrices()[i];
    CHECK(described.name == std::string(table[i].name));
    const Csr m = make_matrix(described);
    check_shape(m, table[i]);
    CHECK(static_cast<double>(m.nnz()) == Approx(static_cast<double>(described.nonzeros)).epsilon(0.02));
    CHECK(well_formed(m));
  }
}

TEST_CASE("bench: a matrix is the same each time") {
  for (const char* name : {"FEM/Harbor", "Circuit"}) {
    const Csr a = make_matrix(named(name)), b = make_matrix(named(name));
    REQUIRE(a.nnz() == b.nnz());
    CHECK(std::equal(a.indptr.span().begin(), a.indptr.span().end(), b.indptr.data()));
    CHECK(std::equal(a.indices.span().begin(), a.indices.span().end(), b.indices.data()));
    CHECK(std::equal(a.values.span().begin(), a.values.span().end(), b.values.data()));
  }
}

TEST_CASE("bench: lengths of rows follow their laws") {
  SECTION("equal") {
    const Csr m = make_matrix({"", 1000, 1000, 7'000, Scattered{{Lengths::Law::equal}, 0.5, 100}});
    for (std::int64_t i = 0; i < m.rows; ++i) CHECK(length(m, i) == 7);
  }
  SECTION("all unknowns of a node have the same columns, in blocks") {
    const Csr m = make_matrix({"", 600, 600, 6'000, FiniteElements{3, {Lengths::Law::even, 0.5}}});
    CHECK(well_formed(m));
    std::int64_t shortest = 600, longest = 0;
    for (std::int64_t i = 0; i < m.rows; ++i) {
      CHECK(length(m, i) % 3 == 0);
      CHECK(length(m, i) == length(m, i / 3 * 3));
      shortest = std::min(shortest, length(m, i));
      longest = std::max(longest, length(m, i));
    }
    CHECK(shortest < 8);
    CHECK(longest > 12);
  }
  SECTION("a power law has many short rows and a few that are as long as may be") {
    const Csr m = make_matrix(
        {"", 100'000, 100'000, 300'000, Scattered{{Lengths::Law::power, 1.3, 1, 500}, 0.5, 2'000}});
    std::int64_t ones = 0, longest = 0;
    for (std::int64_t i = 0; i < m.rows; ++i) {
      ones += length(m, i) == 1;
      longest = std::max(longest, length(m, i));
    }
    CHECK(ones > 30'000);
    CHECK(longest == 500);
  }
  SECTION(
      "nodes of a graph: few have most links, those that leave as well as those that arrive, and many have "
      "none") {
    const Csr m = make_matrix({"", 4096, 4096, 50'000, Rmat{12}});
    CHECK(well_formed(m));
    CHECK(m.nnz() < 16 * 4096);  // links that come twice count once
    CHECK(m.nnz() > 8 * 4096);
    std::vector<std::int64_t> leaving(4096), arriving(4096);
    for (std::int64_t i = 0; i < m.rows; ++i) leaving[static_cast<std::size_t>(i)] = length(m, i);
    for (const std::int32_t column : m.indices.span()) ++arriving[static_cast<std::size_t>(column)];
    for (auto* of : {&leaving, &arriving}) {
      // The first half of the numbers has about half of the links: many links are not where numbers are small.
      const auto half = std::accumulate(of->begin(), of->begin() + 2048, std::int64_t{0});
      CHECK(std::abs(static_cast<double>(half) / static_cast<double>(m.nnz()) - 0.5) < 0.1);
      std::sort(of->begin(), of->end());
      CHECK(std::count(of->begin(), of->end(), 0) > 4096 / 20);
      CHECK(2 * std::accumulate(of->end() - 410, of->end(), std::int64_t{0}) > m.nnz());
      CHECK(of->back() > 10 * m.nnz() / 4096);
    }
  }
  SECTION("quarks have 39 columns, four neighbours on a grid 4, 3 or 2") {
    const Csr quarks = make_matrix({"", 12 * 256, 12 * 256, 12 * 256 * 39, QuarkLattice{4}});
    CHECK(well_formed(quarks));
    for (std::int64_t i = 0; i < quarks.rows; ++i) CHECK(length(quarks, i) == 39);
    const Csr grid = make_matrix({"", 12, 12, 34, Grid{4}});
    CHECK(grid.nnz() == 34);
    CHECK(length(grid, 0) == 2);
    CHECK(length(grid, 1) == 3);
    CHECK(length(grid, 5) == 4);
  }
}
