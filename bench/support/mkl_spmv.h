#pragma once

#include <functional>

#include "matrices.h"

namespace anabranch::bench {

/// y = A x by oneMKL's inspector-executor, which looks at the matrix once, here, for very many products. The matrix has to
/// outlive what is returned; empty where the benchmarks were built without oneMKL.
std::function<void(const double* x, double* y)> mkl_spmv(const Csr& a, int threads);

}  // namespace anabranch::bench
