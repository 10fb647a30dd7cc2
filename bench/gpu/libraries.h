#pragma once

#include <cstdint>
#include <memory>
#include <optional>

/// cuSPARSE, cuBLAS and NVML, opened at run time. T: float or double. Where nothing else is said,
/// std::runtime_error says what is missing.
namespace anabranch::bench {

/// y = A x by cuSPARSE on the bench's stream.
/// Construction is the analysis: descriptors, buffer, preprocessing.
class CusparseSpmv {
 public:
  enum class Algorithm { csr1, csr2 };
  template <class T>
  CusparseSpmv(Algorithm algorithm, std::int64_t rows, std::int64_t cols, std::int64_t nnz,
               const std::int32_t* offsets, const std::int32_t* columns, const T* values, const T* x, T* y);
  ~CusparseSpmv();
  void operator()();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// x . y by cuBLAS on the bench's stream; the result stays on the device.
template <class T>
class CublasDot {
 public:
  CublasDot(std::int64_t n, const T* x, const T* y, T* result);
  void operator()() const;

 private:
  std::int64_t n_;
  const T *x_, *y_;
  T* result_;
};

struct Clocks {
  unsigned multiprocessors = 0, memory = 0;
};
/// Of the first GPU, at this moment; nothing where NVML does not say.
std::optional<Clocks> clocks_mhz();

}  // namespace anabranch::bench
