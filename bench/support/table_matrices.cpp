#include "table_matrices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "random.h"
#include "rmat.h"

namespace anabranch::bench {

namespace {

using Columns = std::vector<std::int32_t>;

constexpr TableMatrix matrices[] = {
    {"Dense", 2'000, 2'000, 4'000'000, AllColumns{}},
    {"Protein", 36'417, 36'417, 4'340'000, FiniteElements{3, {Lengths::Law::even, 0.6}}},
    {"FEM/Spheres", 83'334, 83'334, 6'010'000, FiniteElements{3, {Lengths::Law::even, 0.1}}},
    {"FEM/Cantilever", 62'451, 62'451, 4'010'000, FiniteElements{3, {Lengths::Law::even, 0.2}}},
    {"Wind Tunnel", 217'918, 217'918, 11'600'000, FiniteElements{6, {Lengths::Law::even, 0.2}}},
    {"FEM/Harbor", 46'835, 46'835, 2'370'000, FiniteElements{3, {Lengths::Law::even, 0.6}}},
    {"QCD", 49'152, 49'152, 1'920'000, QuarkLattice{8}},
    {"FEM/Ship", 140'874, 140'874, 7'810'000, FiniteElements{6, {Lengths::Law::even, 0.4}}},
    {"Economics", 206'500, 206'500, 1'270'000, Scattered{{Lengths::Law::log_even, 20}, 1, 1'239}},
    {"Epidemiology", 525'825, 525'825, 2'100'000, Grid{1'025}},
    {"FEM/Accelerator", 121'192, 121'192, 2'620'000, FiniteElements{1, {Lengths::Law::even, 0.8}}},
    {"Circuit", 170'998, 170'998, 960'000, Scattered{{Lengths::Law::power, 2.5, 1, 353}, 0.7, 2'000}},
    {"Webbase", 1'000'005, 1'000'005, 3'110'000,
     Scattered{{Lengths::Law::power, 1.3, 1, 4'700}, 0.5, 20'000}},
    {"LP", 4'284, 1'092'610, 11'300'000, Scattered{{Lengths::Law::log_even, 3'000}, 0, 1}},
};
constexpr TableMatrix further[] = {
    {"R-MAT", 1 << 20, 1 << 20, 16'100'000, Rmat{20}},
    {"Bump_2911", 2'911'419, 2'911'419, 127'730'000, FiniteElements{3, {Lengths::Law::even, 0.4}}},
};

double shape(const Lengths& law, double u) {
  switch (law.law) {
    case Lengths::Law::equal:
      return 1;
    case Lengths::Law::even:
      return 1 - law.parameter + 2 * law.parameter * u;
    case Lengths::Law::log_even:
      return std::pow(law.parameter, u);
    case Lengths::Law::power:
      return std::pow(u, -1 / law.parameter);
  }
  return 1;
}

/// `n` lengths, `total` together but for chance.
std::vector<std::int64_t> lengths_of(const Lengths& law, std::int64_t n, double total, Random& random) {
  std::vector<double> shapes(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < shapes.size(); ++i)
    shapes[i] = shape(law, (static_cast<double>(i) + 0.5) / static_cast<double>(n));
  const auto least = static_cast<double>(law.least), longest = static_cast<double>(law.longest);
  const auto scaled = [&](double s, double scale) { return std::clamp(s * scale, least, longest); };
  double low = 0, high = total;
  for (int step = 0; step < 60; ++step) {
    const double scale = (low + high) / 2;
    double sum = 0;
    for (const double s : shapes) sum += scaled(s, scale);
    (sum < total ? low : high) = scale;
  }
  std::vector<std::int64_t> lengths;
  lengths.reserve(shapes.size());
  for (const double s : shapes)  // a fraction is rounded up as often as it says
    lengths.push_back(static_cast<std::int64_t>(scaled(s, high) + (unit(random) + 1) / 2));
  shuffle(lengths, random);
  return lengths;
}

/// Points of a lattice around one of them, the nearest first.
std::vector<std::array<std::int64_t, 3>> nearest_first(std::int64_t radius) {
  std::vector<std::array<std::int64_t, 3>> steps;
  for (std::int64_t z = -radius; z <= radius; ++z)
    for (std::int64_t y = -radius; y <= radius; ++y)
      for (std::int64_t x = -radius; x <= radius; ++x) steps.push_back({x, y, z});
  const auto square = [](const std::array<std::int64_t, 3>& s) {
    return s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
  };
  std::stable_sort(steps.begin(), steps.end(),
                   [&](const auto& a, const auto& b) { return square(a) < square(b); });
  return steps;
}

/// Who gives the columns of row i, for i from 0 on.
class Rows {
 public:
  explicit Rows(const TableMatrix& m) : m_(m) {}

  std::function<void(std::int64_t, Columns&)> operator()(const AllColumns&) {
    return [this](std::int64_t, Columns& columns) {
      columns.resize(static_cast<std::size_t>(m_.cols));
      std::iota(columns.begin(), columns.end(), 0);
    };
  }

  std::function<void(std::int64_t, Columns&)> operator()(const FiniteElements& mesh) {
    const std::int64_t unknowns = mesh.unknowns, nodes = (m_.rows + unknowns - 1) / unknowns;
    const auto side = std::llround(std::cbrt(static_cast<double>(nodes)));
    const double blocks = static_cast<double>(m_.nonzeros) / static_cast<double>(unknowns * unknowns);
    return [=, this, steps = nearest_first(6), numbers = lengths_of(mesh.neighbours, nodes, blocks, random_)](
               std::int64_t row, Columns& columns) {
      const std::int64_t node = row / unknowns;
      if (row % unknowns != 0) return;  // as the row before
      columns.clear();
      auto left = numbers[static_cast<std::size_t>(node)];
      for (const auto& [dx, dy, dz] : steps) {
        const std::int64_t x = node % side + dx, y = node / side % side + dy, z = node / side / side + dz;
        const std::int64_t other = (z * side + y) * side + x;
        if (x < 0 || x >= side || y < 0 || y >= side || z < 0 || other >= nodes) continue;
        for (std::int64_t c = other * unknowns; c < std::min((other + 1) * unknowns, m_.cols); ++c)
          columns.push_back(static_cast<std::int32_t>(c));
        if (--left == 0) break;
      }
      std::sort(columns.begin(), columns.end());
    };
  }

  std::function<void(std::int64_t, Columns&)> operator()(const QuarkLattice& lattice) {
    return [side = lattice.side](std::int64_t row, Columns& columns) {
      columns.clear();
      const std::int64_t point = row / 12, spin = row / 3 % 4;
      const auto add = [&](std::int64_t stride, std::int64_t step, std::int64_t its_spin) {
        const std::int64_t at = point / stride % side;
        const std::int64_t other = point + ((at + step + side) % side - at) * stride;
        for (std::int64_t colour = 0; colour < 3; ++colour)
          columns.push_back(static_cast<std::int32_t>(12 * other + 3 * its_spin + colour));
      };
      for (const std::int64_t step : {-1, 1}) {
        for (const std::int64_t stride : {std::int64_t{1}, side, side * side}) {
          add(stride, step, spin);
          add(stride, step, stride == side * side ? spin ^ 2 : 3 - spin);
        }
      }
      add(side * side * side, spin < 2 ? 1 : -1, spin);
      std::sort(columns.begin(), columns.end());
    };
  }

  std::function<void(std::int64_t, Columns&)> operator()(const Grid& grid) {
    return [this, width = grid.width](std::int64_t row, Columns& columns) {
      columns.clear();
      const auto add = [&](bool inside, std::int64_t column) {
        if (inside) columns.push_back(static_cast<std::int32_t>(column));
      };
      add(row >= width, row - width);
      add(row % width > 0, row - 1);
      add(row % width < width - 1, row + 1);
      add(row + width < m_.rows, row + width);
    };
  }

  std::function<void(std::int64_t, Columns&)> operator()(const Scattered& scattered) {
    return [this, near = scattered.near, band = std::min(scattered.band, m_.cols),
            lengths = lengths_of(scattered.lengths, m_.rows, static_cast<double>(m_.nonzeros), random_)](
               std::int64_t row, Columns& columns) {
      columns.clear();
      const auto length = static_cast<std::size_t>(lengths[static_cast<std::size_t>(row)]);
      const std::int64_t diagonal = row * m_.cols / m_.rows;
      const std::int64_t low = std::clamp<std::int64_t>(diagonal - band / 2, 0, m_.cols - band);
      while (columns.size() < length) {  // again for those that came twice
        while (columns.size() < length) {
          const bool is_near = (unit(random_) + 1) / 2 < near;
          columns.push_back(
              static_cast<std::int32_t>(is_near ? low + below(random_, band) : below(random_, m_.cols)));
        }
        std::sort(columns.begin(), columns.end());
        columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
      }
    };
  }

  std::function<void(std::int64_t, Columns&)> operator()(const Rmat& graph) {
    return [targets = targets_of(graph)](std::int64_t row, Columns& columns) {
      columns = targets[static_cast<std::size_t>(row)];
      std::sort(columns.begin(), columns.end());
      columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    };
  }

 private:
  /// Where each node's links lead.
  static std::vector<Columns> targets_of(const Rmat& graph) {
    RmatLinks links(graph.scale, 20080101);
    std::vector<Columns> targets(std::size_t{1} << static_cast<unsigned>(graph.scale));
    for (std::int64_t left = links.usual_count(); left > 0; --left) {
      const auto [from, to] = links.next();
      targets[static_cast<std::size_t>(from)].push_back(to);
    }
    return targets;
  }

  const TableMatrix& m_;
  Random random_{20080101};
};

}  // namespace

std::span<const TableMatrix> table_matrices() { return matrices; }
std::span<const TableMatrix> further_matrices() { return further; }

Csr make_matrix(const TableMatrix& description) {
  Rows rows(description);
  const auto columns_of = std::visit(rows, description.pattern);
  Csr m;
  m.rows = description.rows;
  m.cols = description.cols;
  m.indptr = Buffer<std::int32_t>(static_cast<std::size_t>(m.rows) + 1);
  Columns columns, all;
  all.reserve(static_cast<std::size_t>(description.nonzeros) * 51 / 50);
  for (std::int64_t i = 0; i < m.rows; ++i) {
    columns_of(i, columns);
    all.insert(all.end(), columns.begin(), columns.end());
    m.indptr[static_cast<std::size_t>(i) + 1] = static_cast<std::int32_t>(all.size());
  }
  m.indices = Buffer<std::int32_t>(all.size());
  std::copy(all.begin(), all.end(), m.indices.data());
  m.values = random_vector(m.nnz(), 5);
  return m;
}

}  // namespace anabranch::bench
