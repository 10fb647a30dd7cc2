#include "cuda/driver_api.h"

#include <dlfcn.h>

#include <string>

#include <anabranch/error.h>

namespace anabranch::cuda {

std::shared_ptr<const DriverApi> open_driver(const char* library) {
  void* opened = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    const char* reason = ::dlerror();  // begins with the name
    throw BackendUnavailable(std::string("cuda: the NVIDIA driver cannot be opened: ") +
                             (reason ? reason : library));
  }
  auto api = std::make_shared<DriverApi>();
  const auto find = [&]<class F>(F*& member, const char* symbol) {
    member = reinterpret_cast<F*>(::dlsym(opened, symbol));
    if (!member)
      throw BackendUnavailable(std::string("cuda: ") + library + " lacks " + symbol +
                               ": not an NVIDIA driver, or one that is too old");
  };
  find(api->init, "cuInit");
  find(api->driver_get_version, "cuDriverGetVersion");
  find(api->get_error_name, "cuGetErrorName");
  find(api->get_error_string, "cuGetErrorString");
  find(api->device_get_count, "cuDeviceGetCount");
  find(api->device_get, "cuDeviceGet");
  find(api->device_get_name, "cuDeviceGetName");
  find(api->device_get_attribute, "cuDeviceGetAttribute");
  find(api->device_total_mem, "cuDeviceTotalMem_v2");
  find(api->primary_ctx_retain, "cuDevicePrimaryCtxRetain");
  find(api->primary_ctx_release, "cuDevicePrimaryCtxRelease_v2");
  find(api->ctx_get_current, "cuCtxGetCurrent");
  find(api->ctx_set_current, "cuCtxSetCurrent");
  find(api->mem_get_info, "cuMemGetInfo_v2");
  find(api->mem_alloc, "cuMemAlloc_v2");
  find(api->mem_free, "cuMemFree_v2");
  find(api->mem_host_alloc, "cuMemHostAlloc");
  find(api->mem_free_host, "cuMemFreeHost");
  find(api->memcpy_htod_async, "cuMemcpyHtoDAsync_v2");
  find(api->memcpy_dtoh_async, "cuMemcpyDtoHAsync_v2");
  find(api->memset_d8_async, "cuMemsetD8Async");
  find(api->stream_create, "cuStreamCreate");
  find(api->stream_destroy, "cuStreamDestroy_v2");
  find(api->stream_synchronize, "cuStreamSynchronize");
  find(api->stream_query, "cuStreamQuery");
  find(api->stream_wait_event, "cuStreamWaitEvent");
  find(api->event_create, "cuEventCreate");
  find(api->event_destroy, "cuEventDestroy_v2");
  find(api->event_record, "cuEventRecord");
  find(api->event_synchronize, "cuEventSynchronize");
  find(api->event_elapsed_time, "cuEventElapsedTime");
  find(api->pointer_get_attributes, "cuPointerGetAttributes");
  find(api->module_load_data, "cuModuleLoadData");
  find(api->module_unload, "cuModuleUnload");
  find(api->module_get_function, "cuModuleGetFunction");
  find(api->func_get_attribute, "cuFuncGetAttribute");
  find(api->func_set_attribute, "cuFuncSetAttribute");
  find(api->occupancy_max_active_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  find(api->launch_kernel, "cuLaunchKernel");
  return api;
}

}  // namespace anabranch::cuda
