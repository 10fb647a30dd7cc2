#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gpu/device.h"
#include "support/matrices.h"

/// What contests compute on, and whether results on the GPU are what they should be.
namespace anabranch::bench {

/// Of a sum of up to `n` numbers below 1, whatever the order: contenders differ by a few of these errors,
/// what is wrong by far more.
template <class T>
double tolerance(std::int64_t n) {
  return 64 * std::numeric_limits<T>::epsilon() * std::sqrt(static_cast<double>(n) + 1);
}

/// Is it in `out`? Overwrites it: the next contender must write it again.
template <class T>
bool found_in(const DeviceBuffer& out, const std::vector<double>& expected, double tolerance) {
  std::vector<T> found(expected.size());
  out.download(found.data(), found.size() * sizeof(T));
  const std::vector<T> none(found.size(), std::numeric_limits<T>::quiet_NaN());
  out.upload(none.data(), none.size() * sizeof(T));
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!(std::abs(static_cast<double>(found[i]) - expected[i]) <= tolerance)) return false;
  return true;
}

/// y = A x, in the precision of the values.
inline std::vector<double> product(const Csr& a, const Buffer<double>& x) {
  std::vector<double> y(static_cast<std::size_t>(a.rows));
  for (std::size_t i = 0; i < y.size(); ++i) {
    long double sum = 0;
    for (std::int32_t k = a.indptr[i]; k < a.indptr[i + 1]; ++k) {
      const auto at = static_cast<std::size_t>(k);
      sum += static_cast<long double>(a.values[at]) * x[static_cast<std::size_t>(a.indices[at])];
    }
    y[i] = static_cast<double>(sum);
  }
  return y;
}

inline std::string note_of(const Csr& a, double bytes) {
  return fmt::format("{:.3g} M rows, {:.3g} M nonzeros, {:.3g} MB", static_cast<double>(a.rows) / 1e6,
                     static_cast<double>(a.nnz()) / 1e6, bytes / 1e6);
}

}  // namespace anabranch::bench
