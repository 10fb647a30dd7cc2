#include "mkl_spmv.h"

#ifdef ANABRANCH_BENCH_MKL
#include <mkl_service.h>
#include <mkl_spblas.h>

#include <memory>
#include <stdexcept>
#include <type_traits>
#endif

namespace anabranch::bench {

#ifdef ANABRANCH_BENCH_MKL
namespace {

void require_success(sparse_status_t status) {
  if (status != SPARSE_STATUS_SUCCESS)
    throw std::runtime_error("oneMKL: sparse status " + std::to_string(status));
}

struct Destroy {
  void operator()(sparse_matrix_t matrix) const { mkl_sparse_destroy(matrix); }
};

}  // namespace

std::function<void(const double* x, double* y)> mkl_spmv(const Csr& a, int threads) {
  mkl_set_num_threads(threads);
  // The routines do not write to these, but do not say so.
  const auto begins = const_cast<std::int32_t*>(a.indptr.data());
  sparse_matrix_t made = nullptr;
  require_success(mkl_sparse_d_create_csr(
      &made, SPARSE_INDEX_BASE_ZERO, static_cast<MKL_INT>(a.rows), static_cast<MKL_INT>(a.cols), begins,
      begins + 1, const_cast<std::int32_t*>(a.indices.data()), const_cast<double*>(a.values.data())));
  const std::shared_ptr<std::remove_pointer_t<sparse_matrix_t>> matrix(made, Destroy{});
  matrix_descr general{};
  general.type = SPARSE_MATRIX_TYPE_GENERAL;
  constexpr MKL_INT very_many = 1'000'000;
  require_success(mkl_sparse_set_mv_hint(made, SPARSE_OPERATION_NON_TRANSPOSE, general, very_many));
  require_success(mkl_sparse_optimize(made));
  return [matrix, general, threads](const double* x, double* y) {
    mkl_set_num_threads(threads);
    require_success(mkl_sparse_d_mv(SPARSE_OPERATION_NON_TRANSPOSE, 1.0, matrix.get(), general, x, 0.0, y));
  };
}
#else
std::function<void(const double* x, double* y)> mkl_spmv(const Csr&, int) { return {}; }
#endif

}  // namespace anabranch::bench
