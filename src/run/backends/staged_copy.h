#pragma once

#include <cstdint>
#include <memory>

#include "cuda/device.h"
#include "run/backends/device_trace.h"
#include "scheduler/executor.h"

/// Copies between the GPU and host memory of anybody's, which are done when these return. The driver copies from and to one
/// page-locked range as it lies. All else goes by way of page-locked memory of our own: the driver refuses memory of which
/// some is page-locked, and of what the user has locked it tells only the range around one address.
namespace anabranch::runtime {

/// `executor`: whose threads copy on the host; null: the calling one.
void upload_staged(const std::shared_ptr<cuda::Device>& device, DeviceStream& stream,
                   scheduler::Executor* executor, cuda::Address to, const void* from, std::int64_t bytes);
void download_staged(const std::shared_ptr<cuda::Device>& device, DeviceStream& stream,
                     scheduler::Executor* executor, void* to, cuda::Address from, std::int64_t bytes);

}  // namespace anabranch::runtime
