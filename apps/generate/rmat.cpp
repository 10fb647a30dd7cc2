#include <algorithm>
#include <bit>
#include <cmath>

#include <anabranch/error.h>

#include "apps/generate/rows.h"

/// R-MAT draws each edge by descending a quadrant tree. Edge by edge that gives rows in any order; instead
/// the *number* of edges is passed down: a block of rows with n edges gives Binomial(n, a + b) of them to its
/// upper half and the rest to its lower half. Walked in order, this tree of row blocks gives every row its
/// number of edges with memory for one path only. The column bits of an edge then depend on the row's bits
/// alone, and are drawn edge by edge.
namespace anabranch::apps {

namespace {

constexpr double a = 0.57, b = 0.19, c = 0.19, d = 0.05;
constexpr std::int64_t edges_per_row = 16;
constexpr std::uint64_t split_use = 1, column_use = 2, value_use = 3;  // what a hash is for

/// The 32-bit threshold below which a random word is an event of probability p.
constexpr std::uint32_t threshold(double p) { return static_cast<std::uint32_t>(p * 0x1p32); }

/// Successes of n trials, a function of `key`. Trial by trial for small n; for large n a normal distribution,
/// made of twelve uniform numbers so that it needs no transcendental function, whose last bit could differ
/// between machines.
std::int64_t binomial(std::int64_t n, double p, std::uint64_t key) {
  if (n <= 64) {
    std::int64_t successes = 0;
    for (std::int64_t i = 0; i < n; i += 2) {
      const std::uint64_t bits = mix(key + static_cast<std::uint64_t>(i));
      successes += static_cast<std::uint32_t>(bits) < threshold(p);
      successes += i + 1 < n && static_cast<std::uint32_t>(bits >> 32) < threshold(p);
    }
    return successes;
  }
  double z = -6;
  for (std::uint64_t i = 0; i < 12; ++i) z += unit(mix(key + i));
  const double mean = static_cast<double>(n) * p;
  const double deviation = std::sqrt(mean * (1 - p));
  return std::clamp(static_cast<std::int64_t>(std::floor(mean + deviation * z + 0.5)), std::int64_t{0}, n);
}

class Rmat final : public RowGenerator {
 public:
  Rmat(std::int64_t size, std::uint64_t seed)
      : size_(size), levels_(std::countr_zero(static_cast<std::uint64_t>(size))), seed_(seed) {
    stack_.push_back({0, 0, size * edges_per_row});
  }

  std::int64_t rows() const override { return size_; }
  std::int64_t most_entries() const override { return size_ * edges_per_row; }

  void next(Row& out) override {
    Block block = stack_.back();
    stack_.pop_back();
    while (block.level < levels_) {
      const std::uint64_t key = hash(seed_ ^ split_use << 56, static_cast<std::uint64_t>(block.level),
                                     static_cast<std::uint64_t>(block.prefix));
      const std::int64_t upper = binomial(block.edges, a + b, key);
      stack_.push_back({block.level + 1, 2 * block.prefix + 1, block.edges - upper});
      block = {block.level + 1, 2 * block.prefix, upper};
    }
    fill(block.prefix, block.edges, out);
  }

 private:
  /// The rows whose first `level` bits are `prefix`.
  struct Block {
    int level;
    std::int64_t prefix;
    std::int64_t edges;
  };

  void fill(std::int64_t row, std::int64_t edges, Row& out) {
    out.columns.resize(static_cast<std::size_t>(edges));
    const auto r = static_cast<std::uint64_t>(row);
    const std::uint64_t key = hash(seed_ ^ column_use << 56, r);
    for (std::int64_t e = 0; e < edges; ++e) {
      std::int64_t column = 0;
      std::uint64_t bits = 0;
      for (int level = 0; level < levels_; ++level) {
        if (level % 2 == 0)
          bits = mix(key + (static_cast<std::uint64_t>(e) << 5) + static_cast<std::uint64_t>(level / 2));
        const bool lower = (row >> (levels_ - 1 - level)) & 1;
        const std::uint32_t left = lower ? threshold(c / (c + d)) : threshold(a / (a + b));
        column = 2 * column + (static_cast<std::uint32_t>(bits) >= left);
        bits >>= 32;
      }
      out.columns[static_cast<std::size_t>(e)] = column;
    }
    std::sort(out.columns.begin(), out.columns.end());
    out.columns.erase(std::unique(out.columns.begin(), out.columns.end()), out.columns.end());
    out.values.resize(out.columns.size());
    const std::uint64_t value_key = hash(seed_ ^ value_use << 56, r);
    for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] = 1 - unit(mix(value_key + i));
  }

  std::int64_t size_;
  int levels_;
  std::uint64_t seed_;
  std::vector<Block> stack_;
};

}  // namespace

std::unique_ptr<RowGenerator> rmat_rows(std::int64_t size, std::uint64_t seed) {
  if (!std::has_single_bit(static_cast<std::uint64_t>(size)))
    throw RunError("generate rmat: the size must be a power of two, not " + std::to_string(size));
  return std::make_unique<Rmat>(size, seed);
}

}  // namespace anabranch::apps
