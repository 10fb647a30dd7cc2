#pragma once

#include "cuda/driver_api.h"
#include "device/table.h"

namespace anabranch::gpu_host {

/// The driver's functions, on the simulated GPU of the latest fake_platform.
cuda::DriverApi fake_table();
/// The device primitives that runs use, as work on its streams.
device::Table fake_primitives();

}  // namespace anabranch::gpu_host
