#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/device.h"

/// CUB and Thrust rearranging on the bench's stream. Results are on the device; construction asks for the temporary memory.
namespace anabranch::bench {

/// The numbers above `limit`, in order, and how many they are.
class CubSelect {
 public:
  CubSelect(std::int64_t n, float limit, const float* in, float* out, std::int64_t* count);
  void operator()();

 private:
  std::int64_t n_;
  float limit_;
  const float* in_;
  float* out_;
  std::int64_t* count_;
  std::size_t bytes_ = 0;
  DeviceBuffer storage_;
};

/// How often each number 0 .. bins - 1 is there.
class CubHistogram {
 public:
  CubHistogram(std::int64_t n, std::int64_t bins, const std::int32_t* in, std::int32_t* counts);
  void operator()();

 private:
  std::int64_t n_, bins_;
  const std::int32_t* in_;
  std::int32_t* counts_;
  std::size_t bytes_ = 0;
  DeviceBuffer storage_;
};

/// sums[to[i]] += in[i], from 0 on, by thrust::for_each_n.
void thrust_sums_at(std::int64_t places, std::int64_t n, const std::int32_t* to, const std::int64_t* in,
                    std::int64_t* sums);

}  // namespace anabranch::bench
