// How many threads this process may really use.
//
// std::thread::hardware_concurrency and oneTBB count the machine's processors, or the affinity mask at best.
// In a container with a CPU quota the kernel then stops threads in the middle of a chunk for the rest of the
// quota's period, so the quota is read here.
#pragma once

#include <string>

namespace anabranch::scheduler {

/// min(processors in the affinity mask, CPU quota of the cgroup rounded up), at least 1. Reads a few small
/// files: call it once per executor, not per loop.
int available_concurrency();

/// CPUs granted by the cgroup quotas (version 2 and version 1) that hold for this process and for the groups
/// above its own; 0 when there is no quota. `root` is put before /proc and /sys, for tests.
double cgroup_cpu_quota(const std::string& root = "");

}  // namespace anabranch::scheduler
