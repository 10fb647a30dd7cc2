// How many threads this process may really use.
//
// std::thread::hardware_concurrency and oneTBB count the machine's processors, or the affinity mask at best.
// In a container with a CPU quota the kernel then stops threads in the middle of a chunk for the rest of the
// quota's period, so the quota is read here.
#pragma once

#include <string>

namespace anabranch::scheduler {

/// min(processors in the affinity mask of this thread, CPU quota of the cgroup rounded up), at least 1. Reads a few small
/// files: call it once per executor, not per loop. `root` is put before /proc and /sys, for tests.
int available_concurrency(const std::string& root = "");

}  // namespace anabranch::scheduler
