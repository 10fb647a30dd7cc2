#include "apps/generate/rows.h"

#include <algorithm>
#include <array>

#include <anabranch/error.h>

#include "apps/common/check_stop.h"
#include "apps/common/quantities.h"

namespace anabranch::apps {

namespace {

/// A graph Laplacian on a D-dimensional grid of side n: -1 for every neighbour,
/// `points` - 1 on the diagonal, also at the border (Dirichlet). "Star":
/// neighbours along the axes; otherwise all within one step in every direction.
template <int D>
class Laplacian final : public RowGenerator {
 public:
  Laplacian(std::int64_t side, int points) : side_(side), points_(points) {
    constexpr int all = D == 2 ? 9 : 27;
    for (int code = 0; code < all; ++code) {
      Step step{};
      int rest = code, moves = 0;
      for (int k = D - 1; k >= 0; --k, rest /= 3) {
        step.by[static_cast<std::size_t>(k)] = rest % 3 - 1;
        moves += rest % 3 != 1;
      }
      if (points == all || moves <= 1) steps_.push_back(step);
    }
    for (Step& step : steps_)
      for (int k = 0; k < D; ++k) step.distance = step.distance * side + step.by[static_cast<std::size_t>(k)];
  }

  std::int64_t rows() const override { return D == 2 ? side_ * side_ : side_ * side_ * side_; }
  std::int64_t most_entries() const override { return rows() * points_; }

  void next(Row& out) override {
    out.columns.clear();
    out.values.clear();
    for (const Step& step : steps_) {
      bool inside = true;
      for (std::size_t k = 0; k < D; ++k) {
        const std::int64_t to = at_[k] + step.by[k];
        inside &= to >= 0 && to < side_;
      }
      if (!inside) continue;
      out.columns.push_back(row_ + step.distance);
      out.values.push_back(step.distance == 0 && step.by == decltype(step.by){} ? points_ - 1 : -1);
    }
    ++row_;
    for (std::size_t k = D; k-- > 0;) {
      if (++at_[k] < side_) break;
      at_[k] = 0;
    }
  }

 private:
  struct Step {
    std::array<std::int64_t, D> by;
    std::int64_t distance;
  };
  std::int64_t side_;
  int points_;
  std::vector<Step> steps_;  ///< in rising order of the column they lead to
  std::array<std::int64_t, D> at_{};
  std::int64_t row_ = 0;
};

class Banded final : public RowGenerator {
 public:
  Banded(std::int64_t size, int points, std::uint64_t seed) : size_(size), points_(points), seed_(seed) {}
  std::int64_t rows() const override { return size_; }
  std::int64_t most_entries() const override { return size_ * points_; }

  void next(Row& out) override {
    out.columns.clear();
    out.values.clear();
    const std::int64_t first = row_ - points_ / 2;
    const std::uint64_t key = hash(seed_, static_cast<std::uint64_t>(row_));
    for (std::int64_t col = std::max<std::int64_t>(first, 0); col < std::min(first + points_, size_); ++col) {
      out.columns.push_back(col);
      out.values.push_back(2 * unit(mix(key + static_cast<std::uint64_t>(col - first))) - 1);
    }
    ++row_;
  }

 private:
  std::int64_t size_;
  int points_;
  std::uint64_t seed_;
  std::int64_t row_ = 0;
};

class PowerLaw final : public RowGenerator {
 public:
  PowerLaw(std::int64_t size, std::uint64_t seed, const std::stop_token& stop) : size_(size), seed_(seed) {
    for (std::int64_t row = 0; row < size; ++row) {
      if (row % rows_at_once == 0) check_stop(stop);
      entries_ += length(row);
    }
  }
  std::int64_t rows() const override { return size_; }
  std::int64_t most_entries() const override { return entries_; }

  void next(Row& out) override {
    const std::int64_t n = length(row_);
    out.columns.resize(static_cast<std::size_t>(n));
    out.values.resize(static_cast<std::size_t>(n));
    const std::uint64_t key = hash(seed_, static_cast<std::uint64_t>(row_), 1);
    // One column from each of n equal strips of the width: sorted and distinct without remembering any.
    std::int64_t begin = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto end =
          static_cast<std::int64_t>(static_cast<unsigned __int128>(i + 1) *
                                    static_cast<std::uint64_t>(size_) / static_cast<std::uint64_t>(n));
      const std::uint64_t bits = mix(key + static_cast<std::uint64_t>(i));
      out.columns[static_cast<std::size_t>(i)] =
          begin + static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(end - begin));
      out.values[static_cast<std::size_t>(i)] = 1 - unit(mix(bits));
      begin = end;
    }
    ++row_;
  }

 private:
  static constexpr std::int64_t longest = 100'000, rows_at_once = 1 << 16;

  std::int64_t length(std::int64_t row) const {
    const double u = 1 - unit(hash(seed_, static_cast<std::uint64_t>(row)));  // in (0, 1]
    const double length = 1 / u;
    return std::min({length < longest ? static_cast<std::int64_t>(length) : longest, longest, size_});
  }

  std::int64_t size_;
  std::uint64_t seed_;
  std::int64_t entries_ = 0;
  std::int64_t row_ = 0;
};

}  // namespace

std::unique_ptr<RowGenerator> row_generator(MatrixKind kind, const GenerateOptions& options) {
  const auto fail = [](const std::string& why) { throw RunError("generate: " + why); };
  const auto points = [&](int usual, std::initializer_list<int> allowed) {
    const int n = options.points == 0 ? usual : options.points;
    if (std::find(allowed.begin(), allowed.end(), n) == allowed.end())
      fail("this stencil does not exist with " + counted(n, "point"));
    return n;
  };
  const auto no_points = [&](const char* name) {
    if (options.points != 0) fail(std::string(name) + " takes no number of points");
  };
  const std::int64_t largest = kind == MatrixKind::laplacian3d   ? std::int64_t{1} << 16
                               : kind == MatrixKind::laplacian2d ? std::int64_t{1} << 24
                                                                 : most_rows;
  if (options.size < 1 || options.size > largest)
    fail("a size from 1 to " + std::to_string(largest) + " expected, not " + std::to_string(options.size));
  switch (kind) {
    case MatrixKind::laplacian2d:
      return std::make_unique<Laplacian<2>>(options.size, points(5, {5, 9}));
    case MatrixKind::laplacian3d:
      return std::make_unique<Laplacian<3>>(options.size, points(7, {7, 27}));
    case MatrixKind::banded: {
      const int n = options.points == 0 ? 9 : options.points;
      if (n < 1 || n > 4096) fail("a band of 1 to 4096 points expected, not " + std::to_string(n));
      return std::make_unique<Banded>(options.size, n, options.seed);
    }
    case MatrixKind::powerlaw:
      no_points("powerlaw");
      return std::make_unique<PowerLaw>(options.size, options.seed, options.stop);
    case MatrixKind::rmat:
      no_points("rmat");
      return rmat_rows(options.size, options.seed);
  }
  throw InternalError("generate: unknown kind");
}

}  // namespace anabranch::apps
