#include "gpu/rearrange_peers.h"

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_select.cuh>

#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>

#include "gpu/cuda_calls.h"

namespace anabranch::bench {
namespace {

struct Above {
  float limit;
  __device__ bool operator()(float x) const { return x > limit; }
};

struct AddAt {
  const std::int32_t* to;
  const std::int64_t* in;
  std::int64_t* sums;
  __device__ void operator()(std::int64_t i) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(sums + to[i]), static_cast<unsigned long long>(in[i]));
  }
};

}  // namespace

CubSelect::CubSelect(std::int64_t n, float limit, const float* in, float* out, std::int64_t* count)
    : n_(n), limit_(limit), in_(in), out_(out), count_(count) {
  (*this)();
  storage_ = DeviceBuffer(bytes_);
}
void CubSelect::operator()() {
  check(cub::DeviceSelect::If(storage_.data(), bytes_, in_, out_, count_, n_, Above{limit_}, stream()),
        "cub::DeviceSelect");
}

CubHistogram::CubHistogram(std::int64_t n, std::int64_t bins, const std::int32_t* in, std::int32_t* counts)
    : n_(n), bins_(bins), in_(in), counts_(counts) {
  (*this)();
  storage_ = DeviceBuffer(bytes_);
}
void CubHistogram::operator()() {
  const auto bins = static_cast<int>(bins_);
  check(cub::DeviceHistogram::HistogramEven(storage_.data(), bytes_, in_, counts_, bins + 1, 0, bins,
                                            static_cast<int>(n_), stream()),
        "cub::DeviceHistogram");
}

void thrust_sums_at(std::int64_t places, std::int64_t n, const std::int32_t* to, const std::int64_t* in,
                    std::int64_t* sums) {
  check(cudaMemsetAsync(sums, 0, static_cast<std::size_t>(places) * sizeof *sums, stream()),
        "filling with zeros");
  thrust::for_each_n(thrust::cuda::par_nosync.on(stream()), thrust::counting_iterator<std::int64_t>(0), n,
                     AddAt{to, in, sums});
}

}  // namespace anabranch::bench
