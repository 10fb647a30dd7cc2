// What the control group that this process is in grants it: a container's share of the machine. The kernel enforces it
// by stopping threads for the rest of a period, and by killing, so it is read beforehand.
#pragma once

#include <cstdint>
#include <string>

namespace anabranch::scheduler {

/// Both read a few small files, of version 2 and of version 1, and give the tightest of what holds for the process's group
/// and for those above it; 0 where there is no limit. `root` is put before /proc and /sys, for tests.

/// In CPUs.
double cgroup_cpu_quota(const std::string& root = "");
/// In bytes; of version 2 also that from which on the kernel slows the process down (memory.high).
int64_t cgroup_memory_limit(const std::string& root = "");

}  // namespace anabranch::scheduler
