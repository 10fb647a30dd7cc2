// A simulated GPU for tests of devices and their streams: a unit to load, a program that uses every function of the driver.
#pragma once

#include <array>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cuda/device.h"
#include "support/catch.h"
#include "support/gpu_host/fake_driver.h"

namespace anabranch::cuda::test {

using gpu_host::fake_gpu;
using gpu_host::FakeOptions;
using gpu_host::LogEntry;
using gpu_host::WithFakeGpu;

inline constexpr std::int64_t KiB = 1024, MiB = 1024 * 1024;

inline FakeOptions pooled(std::int64_t memory = std::int64_t{1} << 30) {
  FakeOptions options;
  options.exact_memory = false;
  options.memory = memory;
  return options;
}

inline FakeOptions seeded(std::uint64_t seed) {
  FakeOptions options;
  options.seed = seed;
  return options;
}

inline Unit unit_of(const std::string& source, std::vector<std::string> entries) {
  Unit unit;
  unit.source = source;
  unit.entries = std::move(entries);
  return unit;
}

/// b = 2 a + 1, and a second entry that adds b to c.
inline Unit scale_unit(const std::string& comment = "") {
  return unit_of("// " + comment + R"(
struct Words { const double* a; double* b; long long n; };
extern "C" __global__ void scale(Words w) {
  for (long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x; k < w.n; k += gridDim.x * blockDim.x)
    w.b[k] = 2 * w.a[k] + 1;
}
extern "C" __global__ void add(Words w) {
  for (long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x; k < w.n; k += gridDim.x * blockDim.x)
    w.b[k] += w.a[k];
}
)",
                 {"scale", "add"});
}

inline Unit bad_unit() {
  return unit_of(R"(
extern "C" __global__ void bad(int* p) { if (threadIdx.x < 3) __syncthreads(); }
)",
                 {"bad"});
}

/// Uses every function of the driver's table, on two streams. The result is checked.
inline void everything() {
  constexpr std::int64_t n = 1000, bytes = n * 8;
  const auto device = Device::get();
  const auto unit = device->load(scale_unit(), "scale");
  PinnedBlock from(device, bytes), to(device, bytes);
  auto* in = reinterpret_cast<double*>(from.data());
  for (std::int64_t k = 0; k < n; ++k) in[k] = static_cast<double>(k);
  DeviceBlock a = device->allocate(bytes), b = device->allocate(bytes), c = device->allocate(bytes);
  DeviceEvent begin(device, true), uploaded(device), end(device, true);
  Stream copies(device), kernels(device);
  static_cast<void>(device->is_page_locked(in, bytes));
  copies.record(begin);
  copies.upload(a.address(), from.data(), bytes);
  copies.record(uploaded);
  kernels.fill_zero(c.address(), bytes);
  kernels.wait(uploaded);
  kernels.launch(unit->entries[0], 3, 64, std::array<std::uint64_t, 3>{a.address(), b.address(), n});
  kernels.launch(unit->entries[1], 2, 128, std::array<std::uint64_t, 3>{b.address(), c.address(), n});
  kernels.download(to.data(), c.address(), bytes);
  kernels.record(end);
  kernels.synchronize();
  end.synchronize();
  if (!kernels.idle() || !(end.milliseconds_since(begin) >= 0)) throw std::logic_error("not done");
  const auto* out = reinterpret_cast<const double*>(to.data());
  for (std::int64_t k = 0; k < n; ++k)
    if (out[k] != 2.0 * static_cast<double>(k) + 1) throw std::logic_error("wrong result");
}

inline void check_clean() {
  set_platform({});
  CHECK(fake_gpu().leaks() == "");
  CHECK(fake_gpu().violations() == std::vector<std::string>{});
}

}  // namespace anabranch::cuda::test
