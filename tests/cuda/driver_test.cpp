#include "cuda/driver_api.h"

#include <anabranch/error.h>

#include "support/catch.h"

// Compares the table with cuda.h, where that is installed. Its types are other ones, of the same size.
#if __has_include(<cuda.h>)
#include <cuda.h>
#endif

using namespace anabranch;
using Catch::Matchers::Contains;

TEST_CASE("a driver that is not there, or is none, is named") {
  CHECK_THROWS_AS(cuda::open_driver("libcuda-that-is-not-there.so.1"), BackendUnavailable);
  CHECK_THROWS_WITH(cuda::open_driver("libcuda-that-is-not-there.so.1"),
                    Contains("cuda: the NVIDIA driver cannot be opened: libcuda-that-is-not-there.so.1: ") &&
                        Contains("No such file"));
  CHECK_THROWS_WITH(cuda::open_driver("libm.so.6"), Contains("libm.so.6 lacks cuInit"));
}

#if __has_include(<cuda.h>)
namespace {

/// How an argument is passed: what a call of the one with a declaration of the other relies on.
template <class T>
constexpr int passed_as() {
  if constexpr (std::is_pointer_v<T>)
    return 1000;
  else if constexpr (std::is_enum_v<T>)
    return static_cast<int>(sizeof(T));
  else if constexpr (std::is_integral_v<T>)
    return static_cast<int>(sizeof(T));
  else
    return -1;
}

template <class Ours, class Theirs>
constexpr bool same_argument() {
  if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
    using A = std::remove_pointer_t<Ours>;
    using B = std::remove_pointer_t<Theirs>;
    // Handles are pointers to structures there, to nothing in particular here.
    if constexpr (std::is_void_v<A> || std::is_void_v<B>)
      return true;
    else if constexpr (std::is_pointer_v<A>)
      return std::is_pointer_v<B>;
    else if constexpr (std::is_class_v<B>)
      return false;
    else
      return sizeof(A) == sizeof(B);
  } else {
    return passed_as<Ours>() == passed_as<Theirs>() && passed_as<Ours>() > 0;
  }
}

template <class Ours, class Theirs>
struct Same : std::false_type {};
template <class A, class... P, class B, class... Q>
struct Same<A (*)(P...), B (*)(Q...)> {
  static constexpr bool lists() {
    if constexpr (sizeof...(P) != sizeof...(Q))
      return false;
    else
      return (same_argument<P, Q>() && ...);
  }
  static constexpr bool value = sizeof(A) == sizeof(B) && lists();
};

template <class Ours, class Theirs>
constexpr bool same(Ours cuda::DriverApi::*, Theirs) {
  return Same<Ours, Theirs>::value;
}

using cuda::DriverApi;
// A number's own order could still differ; pointers to numbers are compared by size.
static_assert(same(&DriverApi::init, &cuInit));
static_assert(same(&DriverApi::driver_get_version, &cuDriverGetVersion));
static_assert(same(&DriverApi::get_error_name, &cuGetErrorName));
static_assert(same(&DriverApi::get_error_string, &cuGetErrorString));
static_assert(same(&DriverApi::device_get_count, &cuDeviceGetCount));
static_assert(same(&DriverApi::device_get, &cuDeviceGet));
static_assert(same(&DriverApi::device_get_name, &cuDeviceGetName));
static_assert(same(&DriverApi::device_get_attribute, &cuDeviceGetAttribute));
static_assert(same(&DriverApi::device_total_mem, &cuDeviceTotalMem));
static_assert(same(&DriverApi::primary_ctx_retain, &cuDevicePrimaryCtxRetain));
static_assert(same(&DriverApi::primary_ctx_release, &cuDevicePrimaryCtxRelease));
static_assert(same(&DriverApi::ctx_get_current, &cuCtxGetCurrent));
static_assert(same(&DriverApi::ctx_set_current, &cuCtxSetCurrent));
static_assert(same(&DriverApi::mem_get_info, &cuMemGetInfo));
static_assert(same(&DriverApi::mem_alloc, &cuMemAlloc));
static_assert(same(&DriverApi::mem_free, &cuMemFree));
static_assert(same(&DriverApi::mem_host_alloc, &cuMemHostAlloc));
static_assert(same(&DriverApi::mem_free_host, &cuMemFreeHost));
static_assert(same(&DriverApi::pointer_get_attributes, &cuPointerGetAttributes));
static_assert(same(&DriverApi::memcpy_htod_async, &cuMemcpyHtoDAsync));
static_assert(same(&DriverApi::memcpy_dtoh_async, &cuMemcpyDtoHAsync));
static_assert(same(&DriverApi::memset_d8_async, &cuMemsetD8Async));
static_assert(same(&DriverApi::stream_create, &cuStreamCreate));
static_assert(same(&DriverApi::stream_destroy, &cuStreamDestroy));
static_assert(same(&DriverApi::stream_synchronize, &cuStreamSynchronize));
static_assert(same(&DriverApi::stream_query, &cuStreamQuery));
static_assert(same(&DriverApi::stream_wait_event, &cuStreamWaitEvent));
static_assert(same(&DriverApi::event_create, &cuEventCreate));
static_assert(same(&DriverApi::event_destroy, &cuEventDestroy));
static_assert(same(&DriverApi::event_record, &cuEventRecord));
static_assert(same(&DriverApi::event_synchronize, &cuEventSynchronize));
static_assert(same(&DriverApi::event_elapsed_time, &cuEventElapsedTime));
static_assert(same(&DriverApi::module_load_data, &cuModuleLoadData));
static_assert(same(&DriverApi::module_unload, &cuModuleUnload));
static_assert(same(&DriverApi::module_get_function, &cuModuleGetFunction));
static_assert(same(&DriverApi::func_get_attribute, &cuFuncGetAttribute));
static_assert(same(&DriverApi::func_set_attribute, &cuFuncSetAttribute));
static_assert(same(&DriverApi::occupancy_max_active_blocks, &cuOccupancyMaxActiveBlocksPerMultiprocessor));
static_assert(same(&DriverApi::launch_kernel, &cuLaunchKernel));
static_assert(!same(&DriverApi::mem_alloc, &cuMemFree) && !same(&DriverApi::init, &cuCtxSetCurrent));

static_assert(cuda::success == CUDA_SUCCESS && cuda::out_of_memory == CUDA_ERROR_OUT_OF_MEMORY &&
              cuda::not_ready == CUDA_ERROR_NOT_READY);
static_assert(cuda::attribute_major == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR &&
              cuda::attribute_minor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR &&
              cuda::attribute_multiprocessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT &&
              cuda::attribute_shared_memory == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
static_assert(cuda::function_shared_bytes == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES &&
              cuda::function_carveout == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
static_assert(cuda::pointer_memory_type == CU_POINTER_ATTRIBUTE_MEMORY_TYPE &&
              cuda::pointer_range_start == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR &&
              cuda::pointer_range_size == CU_POINTER_ATTRIBUTE_RANGE_SIZE &&
              cuda::memory_type_host == CU_MEMORYTYPE_HOST);
static_assert(cuda::stream_non_blocking == CU_STREAM_NON_BLOCKING &&
              cuda::event_blocking_sync == CU_EVENT_BLOCKING_SYNC &&
              cuda::event_disable_timing == CU_EVENT_DISABLE_TIMING &&
              cuda::host_alloc_portable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(sizeof(cuda::DeviceNumber) == sizeof(CUdevice) && sizeof(cuda::Context) == sizeof(CUcontext) &&
              sizeof(cuda::DevicePointer) == sizeof(CUdeviceptr));

}  // namespace

TEST_CASE("the driver's table agrees with cuda.h") {
  CHECK(reinterpret_cast<std::uintptr_t>(CU_LAUNCH_PARAM_END) == cuda::launch_end);
  CHECK(reinterpret_cast<std::uintptr_t>(CU_LAUNCH_PARAM_BUFFER_POINTER) == cuda::launch_buffer);
  CHECK(reinterpret_cast<std::uintptr_t>(CU_LAUNCH_PARAM_BUFFER_SIZE) == cuda::launch_buffer_size);
}
#else
TEST_CASE("the driver's table agrees with cuda.h") { WARN("skipped: cuda.h is not installed"); }
#endif
