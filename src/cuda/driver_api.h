#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

/// The part of the CUDA driver's interface that we use, as a table. The functions are declared here, not
/// taken from cuda.h, so that every build has the back end; a test compares these declarations with cuda.h
/// where it is installed.
namespace anabranch::cuda {

using Result = int;  ///< CUresult; 0 is success
inline constexpr Result success = 0;
inline constexpr Result out_of_memory = 2;
inline constexpr Result not_ready = 600;
using DeviceNumber = int;
using Context = void*;
using StreamHandle = void*;
using Event = void*;
using Module = void*;
using Function = void*;
using DevicePointer = std::uint64_t;

/// One member per driver function; `name` in the comment is looked up in libcuda.so.1.
struct DriverApi {
  Result (*init)(unsigned flags) = nullptr;                                          // cuInit
  Result (*driver_get_version)(int* version) = nullptr;                              // cuDriverGetVersion
  Result (*get_error_name)(Result error, const char** name) = nullptr;               // cuGetErrorName
  Result (*get_error_string)(Result error, const char** text) = nullptr;             // cuGetErrorString
  Result (*device_get_count)(int* count) = nullptr;                                  // cuDeviceGetCount
  Result (*device_get)(DeviceNumber* device, int ordinal) = nullptr;                 // cuDeviceGet
  Result (*device_get_name)(char* name, int length, DeviceNumber device) = nullptr;  // cuDeviceGetName
  Result (*device_get_attribute)(int* value, int attribute,
                                 DeviceNumber device) = nullptr;                  // cuDeviceGetAttribute
  Result (*device_total_mem)(std::size_t* bytes, DeviceNumber device) = nullptr;  // cuDeviceTotalMem_v2
  Result (*primary_ctx_retain)(Context* context, DeviceNumber device) = nullptr;  // cuDevicePrimaryCtxRetain
  Result (*primary_ctx_release)(DeviceNumber device) = nullptr;              // cuDevicePrimaryCtxRelease_v2
  Result (*ctx_get_current)(Context* context) = nullptr;                     // cuCtxGetCurrent
  Result (*ctx_set_current)(Context context) = nullptr;                      // cuCtxSetCurrent
  Result (*mem_get_info)(std::size_t* free, std::size_t* total) = nullptr;   // cuMemGetInfo_v2
  Result (*mem_alloc)(DevicePointer* address, std::size_t bytes) = nullptr;  // cuMemAlloc_v2
  Result (*mem_free)(DevicePointer address) = nullptr;                       // cuMemFree_v2
  Result (*mem_host_alloc)(void** address, std::size_t bytes, unsigned flags) = nullptr;  // cuMemHostAlloc
  Result (*mem_free_host)(void* address) = nullptr;                                       // cuMemFreeHost
  Result (*memcpy_htod_async)(DevicePointer to, const void* from, std::size_t bytes,
                              StreamHandle stream) = nullptr;  // cuMemcpyHtoDAsync_v2
  Result (*memcpy_dtoh_async)(void* to, DevicePointer from, std::size_t bytes,
                              StreamHandle stream) = nullptr;  // cuMemcpyDtoHAsync_v2
  Result (*memset_d8_async)(DevicePointer to, unsigned char value, std::size_t bytes,
                            StreamHandle stream) = nullptr;                 // cuMemsetD8Async
  Result (*stream_create)(StreamHandle* stream, unsigned flags) = nullptr;  // cuStreamCreate
  Result (*stream_destroy)(StreamHandle stream) = nullptr;                  // cuStreamDestroy_v2
  Result (*stream_synchronize)(StreamHandle stream) = nullptr;              // cuStreamSynchronize
  Result (*stream_query)(StreamHandle stream) = nullptr;                    // cuStreamQuery
  Result (*stream_wait_event)(StreamHandle stream, Event event,
                              unsigned flags) = nullptr;                                // cuStreamWaitEvent
  Result (*event_create)(Event* event, unsigned flags) = nullptr;                       // cuEventCreate
  Result (*event_destroy)(Event event) = nullptr;                                       // cuEventDestroy_v2
  Result (*event_record)(Event event, StreamHandle stream) = nullptr;                   // cuEventRecord
  Result (*event_synchronize)(Event event) = nullptr;                                   // cuEventSynchronize
  Result (*event_elapsed_time)(float* milliseconds, Event begin, Event end) = nullptr;  // cuEventElapsedTime
  Result (*pointer_get_attributes)(unsigned count, int* attributes, void** values,
                                   DevicePointer pointer) = nullptr;        // cuPointerGetAttributes
  Result (*module_load_data)(Module* module, const void* image) = nullptr;  // cuModuleLoadData
  Result (*module_unload)(Module module) = nullptr;                         // cuModuleUnload
  Result (*module_get_function)(Function* function, Module module,
                                const char* name) = nullptr;  // cuModuleGetFunction
  Result (*func_get_attribute)(int* value, int attribute, Function function) = nullptr;  // cuFuncGetAttribute
  Result (*func_set_attribute)(Function function, int attribute, int value) = nullptr;   // cuFuncSetAttribute
  Result (*occupancy_max_active_blocks)(int* blocks, Function function, int block_size,
                                        std::size_t shared_bytes) =
      nullptr;  // cuOccupancyMaxActiveBlocksPerMultiprocessor
  Result (*launch_kernel)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                          StreamHandle stream, void** parameters, void** extra) = nullptr;  // cuLaunchKernel
};

/// Attributes, flags and markers of launch_kernel's `extra`, as cuda.h numbers them.
inline constexpr int attribute_multiprocessors = 16, attribute_major = 75, attribute_minor = 76;
inline constexpr int attribute_shared_memory = 81;  ///< of a multiprocessor, in bytes
inline constexpr int function_shared_bytes = 1, function_carveout = 9;
inline constexpr int pointer_memory_type = 2, pointer_range_start = 11, pointer_range_size = 12;
inline constexpr unsigned memory_type_host = 1;  ///< page-locked
inline constexpr unsigned stream_non_blocking = 1, host_alloc_portable = 1;
inline constexpr unsigned event_blocking_sync = 1, event_disable_timing = 2;
inline constexpr std::uintptr_t launch_end = 0, launch_buffer = 1, launch_buffer_size = 2;

/// Opens the NVIDIA driver's library. Throws BackendUnavailable naming the library, why it cannot be opened,
/// or the function that it lacks. Never closed.
std::shared_ptr<const DriverApi> open_driver(const char* library = "libcuda.so.1");

}  // namespace anabranch::cuda
