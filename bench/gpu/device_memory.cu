#include "gpu/device_memory.h"

#include <cub/device/device_segmented_reduce.cuh>

#include <cuda_runtime_api.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <stdexcept>

namespace anabranch::bench {
namespace {

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

struct Product {
  const std::int32_t* columns;
  const double *values, *x;
  __device__ double operator()(std::int64_t k) const { return values[k] * x[columns[k]]; }
};

}  // namespace

std::string device_name() {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cannot use a GPU");
  return properties.name;
}
void device_wait() { check(cudaDeviceSynchronize(), "waiting for the GPU"); }

DeviceBuffer::DeviceBuffer(std::size_t bytes) {
  void* at = nullptr;
  check(cudaMalloc(&at, bytes + 256), "allocating on the GPU");
  at_ = std::shared_ptr<void>(at, [](void* p) { cudaFree(p); });
}
void DeviceBuffer::upload(const void* from, std::size_t bytes) const {
  check(cudaMemcpy(at_.get(), from, bytes, cudaMemcpyHostToDevice), "copying to the GPU");
}
void DeviceBuffer::download(void* to, std::size_t bytes) const {
  check(cudaMemcpy(to, at_.get(), bytes, cudaMemcpyDeviceToHost), "copying from the GPU");
}

PinnedBuffer::PinnedBuffer(std::size_t bytes) {
  void* at = nullptr;
  check(cudaMallocHost(&at, bytes), "allocating pinned memory");
  at_ = std::shared_ptr<void>(at, [](void* p) { cudaFreeHost(p); });
}

void copy_on_device(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice), "copying on the GPU");
}
void copy_to_device(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice), "copying to the GPU");
}

CubSpmv::CubSpmv(std::int64_t rows, const std::int32_t* offsets, const std::int32_t* columns,
                 const double* values, const double* x, double* y)
    : rows_(rows), offsets_(offsets), columns_(columns), values_(values), x_(x), y_(y) {
  (*this)();  // asks for the size
  storage_ = DeviceBuffer(bytes_);
}
void CubSpmv::operator()() {
  const auto products = thrust::make_transform_iterator(thrust::counting_iterator<std::int64_t>(0),
                                                        Product{columns_, values_, x_});
  check(cub::DeviceSegmentedReduce::Sum(storage_.data(), bytes_, products, y_, rows_, offsets_, offsets_ + 1),
        "cub::DeviceSegmentedReduce");
}

}  // namespace anabranch::bench
