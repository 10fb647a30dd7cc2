#pragma once

#include "cuda/driver_api.h"

namespace anabranch::gpu_host {

/// The driver's functions, on the simulated GPU of the latest fake_platform.
cuda::DriverApi fake_table();

}  // namespace anabranch::gpu_host
