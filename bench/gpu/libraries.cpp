#include "gpu/libraries.h"

#include <cublas_v2.h>
#include <cusparse.h>
#include <dlfcn.h>

#include <initializer_list>
#include <stdexcept>
#include <string>

#include "gpu/device_memory.h"

namespace anabranch::bench {
namespace {

void* open(std::initializer_list<const char*> names) {
  std::string tried;
  for (const char* name : names) {
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    tried += std::string(tried.empty() ? "" : "; ") + ::dlerror();
  }
  throw std::runtime_error(tried);
}

template <class F>
void find(void* library, const char* name, F*& function) {
  function = reinterpret_cast<F*>(::dlsym(library, name));
  if (!function) throw std::runtime_error(std::string("no function ") + name);
}
#define ANABRANCH_BENCH_FIND(member, name) find(library, #name, member)

struct Cusparse {
  decltype(::cusparseCreate)* create;
  decltype(::cusparseGetErrorString)* text;
  decltype(::cusparseCreateConstCsr)* create_csr;
  decltype(::cusparseCreateConstDnVec)* create_in;
  decltype(::cusparseCreateDnVec)* create_out;
  decltype(::cusparseSpMV_bufferSize)* buffer_size;
  decltype(::cusparseSpMV_preprocess)* preprocess;
  decltype(::cusparseSpMV)* spmv;
  decltype(::cusparseDestroySpMat)* destroy_matrix;
  decltype(::cusparseDestroyDnVec)* destroy_vector;
  cusparseHandle_t handle = nullptr;

  static const Cusparse& get() {
    static const Cusparse cusparse;
    return cusparse;
  }
  void check(cusparseStatus_t status, const char* what) const {
    if (status != CUSPARSE_STATUS_SUCCESS)
      throw std::runtime_error(std::string("cuSPARSE: ") + what + ": " + text(status));
  }

 private:
  Cusparse() {
    void* library = open(
        {"libcusparse.so.12", "libcusparse.so.13", "libcusparse.so", "/usr/local/cuda/lib64/libcusparse.so"});
    ANABRANCH_BENCH_FIND(create, cusparseCreate);
    ANABRANCH_BENCH_FIND(text, cusparseGetErrorString);
    ANABRANCH_BENCH_FIND(create_csr, cusparseCreateConstCsr);
    ANABRANCH_BENCH_FIND(create_in, cusparseCreateConstDnVec);
    ANABRANCH_BENCH_FIND(create_out, cusparseCreateDnVec);
    ANABRANCH_BENCH_FIND(buffer_size, cusparseSpMV_bufferSize);
    ANABRANCH_BENCH_FIND(preprocess, cusparseSpMV_preprocess);
    ANABRANCH_BENCH_FIND(spmv, cusparseSpMV);
    ANABRANCH_BENCH_FIND(destroy_matrix, cusparseDestroySpMat);
    ANABRANCH_BENCH_FIND(destroy_vector, cusparseDestroyDnVec);
    check(create(&handle), "cusparseCreate");
  }
};

struct Cublas {
  decltype(::cublasCreate_v2)* create;
  decltype(::cublasSetPointerMode_v2)* set_pointer_mode;
  decltype(::cublasDdot_v2_64)* dot;
  cublasHandle_t handle = nullptr;

  static const Cublas& get() {
    static const Cublas cublas;
    return cublas;
  }

 private:
  Cublas() {
    void* library =
        open({"libcublas.so.13", "libcublas.so.12", "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"});
    ANABRANCH_BENCH_FIND(create, cublasCreate_v2);
    ANABRANCH_BENCH_FIND(set_pointer_mode, cublasSetPointerMode_v2);
    ANABRANCH_BENCH_FIND(dot, cublasDdot_v2_64);
    if (create(&handle) != CUBLAS_STATUS_SUCCESS ||
        set_pointer_mode(handle, CUBLAS_POINTER_MODE_DEVICE) != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error("cuBLAS: cannot be set up");
  }
};

constexpr double one = 1, zero = 0;

}  // namespace

struct CusparseSpmv::Impl {
  const Cusparse& api = Cusparse::get();
  cusparseSpMVAlg_t algorithm;
  cusparseConstSpMatDescr_t matrix = nullptr;
  cusparseConstDnVecDescr_t in = nullptr;
  cusparseDnVecDescr_t out = nullptr;
  DeviceBuffer buffer;
};

CusparseSpmv::CusparseSpmv(Algorithm algorithm, std::int64_t rows, std::int64_t cols, std::int64_t nnz,
                           const std::int32_t* offsets, const std::int32_t* columns, const double* values,
                           const double* x, double* y)
    : impl_(std::make_unique<Impl>()) {
  Impl& m = *impl_;
  const Cusparse& api = m.api;
  m.algorithm = algorithm == Algorithm::csr1 ? CUSPARSE_SPMV_CSR_ALG1 : CUSPARSE_SPMV_CSR_ALG2;
  api.check(api.create_csr(&m.matrix, rows, cols, nnz, offsets, columns, values, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F),
            "cusparseCreateConstCsr");
  api.check(api.create_in(&m.in, cols, x, CUDA_R_64F), "cusparseCreateConstDnVec");
  api.check(api.create_out(&m.out, rows, y, CUDA_R_64F), "cusparseCreateDnVec");
  std::size_t bytes = 0;
  api.check(api.buffer_size(api.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, m.matrix, m.in, &zero, m.out,
                            CUDA_R_64F, m.algorithm, &bytes),
            "cusparseSpMV_bufferSize");
  m.buffer = DeviceBuffer(bytes);
  api.check(api.preprocess(api.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, m.matrix, m.in, &zero, m.out,
                           CUDA_R_64F, m.algorithm, m.buffer.data()),
            "cusparseSpMV_preprocess");
}
CusparseSpmv::~CusparseSpmv() {
  impl_->api.destroy_matrix(impl_->matrix);
  impl_->api.destroy_vector(impl_->in);
  impl_->api.destroy_vector(impl_->out);
}
void CusparseSpmv::operator()() {
  Impl& m = *impl_;
  m.api.check(m.api.spmv(m.api.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, m.matrix, m.in, &zero, m.out,
                         CUDA_R_64F, m.algorithm, m.buffer.data()),
              "cusparseSpMV");
}

struct CublasDot::Impl {
  const Cublas& api = Cublas::get();
  std::int64_t n;
  const double *x, *y;
  double* result;
};

CublasDot::CublasDot(std::int64_t n, const double* x, const double* y, double* result)
    : impl_(std::make_unique<Impl>()) {
  impl_->n = n;
  impl_->x = x;
  impl_->y = y;
  impl_->result = result;
}
CublasDot::~CublasDot() = default;
void CublasDot::operator()() {
  const Impl& m = *impl_;
  if (m.api.dot(m.api.handle, m.n, m.x, 1, m.y, 1, m.result) != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error("cuBLAS: cublasDdot failed");
}

}  // namespace anabranch::bench
