#pragma once

#include <cstdint>
#include <memory>

/// cuSPARSE and cuBLAS, opened at run time. Everything throws std::runtime_error saying what is missing.
namespace anabranch::bench {

/// y = A x by cuSPARSE. Construction is the analysis: descriptors, buffer, preprocessing.
class CusparseSpmv {
 public:
  enum class Algorithm { csr1, csr2 };
  CusparseSpmv(Algorithm algorithm, std::int64_t rows, std::int64_t cols, std::int64_t nnz,
               const std::int32_t* offsets, const std::int32_t* columns, const double* values,
               const double* x, double* y);
  ~CusparseSpmv();
  void operator()();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// x . y by cuBLAS; the result stays on the device.
class CublasDot {
 public:
  CublasDot(std::int64_t n, const double* x, const double* y, double* result);
  ~CublasDot();
  void operator()();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace anabranch::bench
