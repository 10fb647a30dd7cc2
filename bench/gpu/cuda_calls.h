#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "gpu/device.h"

/// What peers that are compiled by nvcc share.
namespace anabranch::bench {

inline void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

inline cudaStream_t stream() { return static_cast<cudaStream_t>(bench_stream()); }

}  // namespace anabranch::bench
