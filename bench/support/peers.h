#pragma once

#include <cstdint>
#include <vector>

#include "matrices.h"

/// What the library is measured against: loops as one writes them by hand, Eigen, and the memory itself.
namespace anabranch::bench {

/// y = A x, one row after the other; with two threads each takes half of the nonzeros.
void csr_loop(const Csr& a, const double* x, double* y, int threads);

/// Row borders that give each thread as many nonzeros.
std::vector<std::int64_t> equal_parts(const Csr& a, int threads);

/// Eigen's product of a row-major sparse matrix and a vector, over the same arrays.
void eigen_spmv(const Csr& a, const double* x, double* y, int threads);

/// Reads the bytes of several arrays once, with as little
/// arithmetic as keeps the compiler from leaving them out.
class ReadAll {
 public:
  explicit ReadAll(int threads) : threads_(threads) {}
  template <class T>
  ReadAll& also(const Buffer<T>& array) {
    return also(array.data(), array.size() * sizeof(T));
  }
  ReadAll& also(const void* at, std::size_t bytes);
  void operator()();

 private:
  struct Part {
    const std::uint64_t* at;
    std::size_t words;
  };
  int threads_;
  std::vector<Part> parts_;
  std::uint64_t sum_ = 0;
};

double dot_loop(const double* x, const double* y, std::int64_t n, int threads);
float dot_loop(const float* x, const float* y, std::int64_t n, int threads);
double eigen_dot(const double* x, const double* y, std::int64_t n);
float eigen_dot(const float* x, const float* y, std::int64_t n);

/// Every |a - b| at most `tolerance` x scale.
bool close(const double* a, const double* b, std::int64_t n, double tolerance);

}  // namespace anabranch::bench
