#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "apps/generate/matrix.h"

/// The matrices of `anabranch generate`, row after row.
namespace anabranch::apps {

/// Every random number is a hash of the seed and of what it is for, so that no row depends on how the rows
/// before it were made. (Mixing step of SplitMix64, Steele, Lea, Flood 2014.)
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
constexpr std::uint64_t hash(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0) {
  return mix(mix(seed ^ mix(a)) + b);
}
/// In [0, 1), a multiple of 2^-53.
constexpr double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

struct Row {
  std::vector<std::int64_t> columns;  ///< rising
  std::vector<double> values;
};

class RowGenerator {
 public:
  virtual ~RowGenerator() = default;
  virtual std::int64_t rows() const = 0;
  virtual std::int64_t most_entries() const = 0;  ///< an upper bound on the matrix's entries
  /// The next row; called rows() times.
  virtual void next(Row& row) = 0;
};

/// Throws RunError on options that make no sense for the kind, Cancelled.
std::unique_ptr<RowGenerator> row_generator(MatrixKind kind, const GenerateOptions& options);

/// R-MAT (Chakrabarti, Zhan, Faloutsos 2004), generated row by row.
std::unique_ptr<RowGenerator> rmat_rows(std::int64_t size, std::uint64_t seed);

}  // namespace anabranch::apps
