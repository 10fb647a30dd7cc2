#include "scheduler/concurrency.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "scheduler/cgroup.h"

namespace anabranch::scheduler {
namespace {

int affinity_count() {
  // The mask has no fixed size: machines with more processors than cpu_set_t's 1024 refuse a small one.
  for (int processors = 1024; processors <= 1 << 20; processors *= 4) {
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(processors));
    if (set == nullptr) break;
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(processors));
    const int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

int available_concurrency(const std::string& root) {
  const int processors = affinity_count();
  const double quota = cgroup_cpu_quota(root);
  if (quota <= 0 || quota >= processors) return processors;
  return std::max(1, static_cast<int>(std::ceil(quota)));
}

}  // namespace anabranch::scheduler
