#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cuda/device.h"

namespace anabranch::cuda {

/// NVRTC, opened at run time: the version of the driver first (12040: 12.4), since an image of a newer one
/// may not load. Throws BackendUnavailable saying where it was looked for. Never closed. With ANABRANCH_LINEINFO=1 in the
/// environment images say which line of the text each instruction comes from.
std::shared_ptr<Compiler> open_nvrtc(int driver_version = 0);

/// What else may make images where the driver refuses those of `first`, or that makes none for the GPU: NVRTCs of
/// other versions, and then PTX of each of them, which the driver translates. In that order.
std::vector<std::shared_ptr<Compiler>> other_nvrtcs(const Compiler& first, int driver_version);

/// The paths that are tried, in this order.
std::vector<std::string> nvrtc_paths(int driver_version);

/// What ptxas says in `log` about each of `entries`; -1 where it says nothing.
void read_log(const std::string& log, const std::vector<std::string>& entries, Compiler::Result& out);

}  // namespace anabranch::cuda
