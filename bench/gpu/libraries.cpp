#include "gpu/libraries.h"

#include <cublas_v2.h>
#include <cusparse.h>
#include <dlfcn.h>

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "gpu/device.h"

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
  decltype(::cusparseSetStream)* set_stream;
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
    ANABRANCH_BENCH_FIND(set_stream, cusparseSetStream);
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
    check(set_stream(handle, static_cast<cudaStream_t>(bench_stream())), "cusparseSetStream");
  }
};

struct Cublas {
  decltype(::cublasCreate_v2)* create;
  decltype(::cublasSetPointerMode_v2)* set_pointer_mode;
  decltype(::cublasSetStream_v2)* set_stream;
  decltype(::cublasSdot_v2_64)* dot_float;
  decltype(::cublasDdot_v2_64)* dot_double;
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
    ANABRANCH_BENCH_FIND(set_stream, cublasSetStream_v2);
    ANABRANCH_BENCH_FIND(dot_float, cublasSdot_v2_64);
    ANABRANCH_BENCH_FIND(dot_double, cublasDdot_v2_64);
    if (create(&handle) != CUBLAS_STATUS_SUCCESS ||
        set_stream(handle, static_cast<cudaStream_t>(bench_stream())) != CUBLAS_STATUS_SUCCESS ||
        set_pointer_mode(handle, CUBLAS_POINTER_MODE_DEVICE) != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error("cuBLAS: cannot be set up");
  }
};

template <class T>
constexpr cudaDataType type_of = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;

/// The part of NVML that tells clocks: its header is not in every toolkit.
struct Nvml {
  int (*init)() = nullptr;
  int (*device)(unsigned index, void** device) = nullptr;
  int (*clock)(void* device, int which, unsigned* mhz) = nullptr;
  void* first = nullptr;

  static const Nvml& get() {
    static const Nvml nvml;
    return nvml;
  }
  unsigned read(int which) const {
    unsigned mhz = 0;
    if (clock(first, which, &mhz) != 0) throw std::runtime_error("NVML: no clock");
    return mhz;
  }

 private:
  Nvml() {
    void* library = open({"libnvidia-ml.so.1"});
    ANABRANCH_BENCH_FIND(init, nvmlInit_v2);
    ANABRANCH_BENCH_FIND(device, nvmlDeviceGetHandleByIndex_v2);
    ANABRANCH_BENCH_FIND(clock, nvmlDeviceGetClockInfo);
    if (init() != 0 || device(0, &first) != 0) throw std::runtime_error("NVML: no device");
  }
};

}  // namespace

struct CusparseSpmv::Impl {
  const Cusparse& api = Cusparse::get();
  cudaDataType type;
  cusparseSpMVAlg_t algorithm;
  cusparseConstSpMatDescr_t matrix = nullptr;
  cusparseConstDnVecDescr_t in = nullptr;
  cusparseDnVecDescr_t out = nullptr;
  DeviceBuffer buffer;

  // In `type`.
  const void* one() const { return type == CUDA_R_32F ? static_cast<const void*>(&ones) : &oned; }
  const void* zero() const { return type == CUDA_R_32F ? static_cast<const void*>(&zeros) : &zerod; }
  static constexpr float ones = 1, zeros = 0;
  static constexpr double oned = 1, zerod = 0;
};

template <class T>
CusparseSpmv::CusparseSpmv(Algorithm algorithm, std::int64_t rows, std::int64_t cols, std::int64_t nnz,
                           const std::int32_t* offsets, const std::int32_t* columns, const T* values,
                           const T* x, T* y)
    : impl_(std::make_unique<Impl>()) {
  Impl& m = *impl_;
  const Cusparse& api = m.api;
  m.type = type_of<T>;
  m.algorithm = algorithm == Algorithm::csr1 ? CUSPARSE_SPMV_CSR_ALG1 : CUSPARSE_SPMV_CSR_ALG2;
  api.check(api.create_csr(&m.matrix, rows, cols, nnz, offsets, columns, values, CUSPARSE_INDEX_32I,
                           CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, m.type),
            "cusparseCreateConstCsr");
  api.check(api.create_in(&m.in, cols, x, m.type), "cusparseCreateConstDnVec");
  api.check(api.create_out(&m.out, rows, y, m.type), "cusparseCreateDnVec");
  std::size_t bytes = 0;
  api.check(api.buffer_size(api.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, m.one(), m.matrix, m.in, m.zero(),
                            m.out, m.type, m.algorithm, &bytes),
            "cusparseSpMV_bufferSize");
  m.buffer = DeviceBuffer(bytes);
  api.check(api.preprocess(api.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, m.one(), m.matrix, m.in, m.zero(),
                           m.out, m.type, m.algorithm, m.buffer.data()),
            "cusparseSpMV_preprocess");
}
template CusparseSpmv::CusparseSpmv(Algorithm, std::int64_t, std::int64_t, std::int64_t, const std::int32_t*,
                                    const std::int32_t*, const float*, const float*, float*);
template CusparseSpmv::CusparseSpmv(Algorithm, std::int64_t, std::int64_t, std::int64_t, const std::int32_t*,
                                    const std::int32_t*, const double*, const double*, double*);
CusparseSpmv::~CusparseSpmv() {
  impl_->api.destroy_matrix(impl_->matrix);
  impl_->api.destroy_vector(impl_->in);
  impl_->api.destroy_vector(impl_->out);
}
void CusparseSpmv::operator()() {
  Impl& m = *impl_;
  m.api.check(m.api.spmv(m.api.handle, CUSPARSE_OPERATION_NON_TRANSPOSE, m.one(), m.matrix, m.in, m.zero(),
                         m.out, m.type, m.algorithm, m.buffer.data()),
              "cusparseSpMV");
}

template <class T>
CublasDot<T>::CublasDot(std::int64_t n, const T* x, const T* y, T* result)
    : n_(n), x_(x), y_(y), result_(result) {
  Cublas::get();  // opens the library
}
template <class T>
void CublasDot<T>::operator()() const {
  const Cublas& api = Cublas::get();
  const auto dot = [&] {
    if constexpr (std::is_same_v<T, float>)
      return api.dot_float(api.handle, n_, x_, 1, y_, 1, result_);
    else
      return api.dot_double(api.handle, n_, x_, 1, y_, 1, result_);
  };
  if (dot() != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cuBLAS: dot failed");
}
template class CublasDot<float>;
template class CublasDot<double>;

std::optional<Clocks> clocks_mhz() {
  constexpr int multiprocessors = 1, memory = 2;  // as nvml.h numbers them
  try {
    const Nvml& nvml = Nvml::get();
    return Clocks{nvml.read(multiprocessors), nvml.read(memory)};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace anabranch::bench
