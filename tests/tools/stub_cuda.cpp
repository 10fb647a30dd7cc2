// As much of a driver as scripts/gpu-check asks of one, for its test. With STUB_CUDA_LOST in the environment
// the GPU is lost as soon as a file of that name exists; STUB_CUDA_COMPUTE_MODE is its compute mode.
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

using Result = int;
constexpr Result success = 0, unknown_error = 999;

#define STUB_CUDA extern "C" __attribute__((visibility("default"))) Result
STUB_CUDA cuInit(unsigned /*flags*/) { return success; }
STUB_CUDA cuDeviceGetCount(int* count) { return *count = 1, success; }
STUB_CUDA cuDeviceGet(int* device, int ordinal) { return *device = ordinal, success; }
STUB_CUDA cuDeviceGetName(char* name, int length, int /*device*/) {
  return std::snprintf(name, static_cast<std::size_t>(length), "Stub"), success;
}
STUB_CUDA cuDriverGetVersion(int* version) { return *version = 13000, success; }
STUB_CUDA cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  constexpr int compute_mode = 20, major = 75;
  const char* mode = std::getenv("STUB_CUDA_COMPUTE_MODE");
  return *value = attribute == major ? 9 : attribute == compute_mode && mode ? std::atoi(mode) : 0, success;
}
STUB_CUDA cuDevicePrimaryCtxRetain(void** context, int /*device*/) { return *context = nullptr, success; }
STUB_CUDA cuCtxSetCurrent(void* /*context*/) { return success; }
STUB_CUDA cuMemAlloc_v2(unsigned long long* address, std::size_t /*bytes*/) { return *address = 1, success; }
STUB_CUDA cuMemsetD8_v2(unsigned long long /*to*/, unsigned char /*value*/, std::size_t /*bytes*/) {
  return success;
}
STUB_CUDA cuCtxSynchronize() {
  const char* lost = std::getenv("STUB_CUDA_LOST");
  return lost && ::access(lost, F_OK) == 0 ? unknown_error : success;
}
