#include "scheduler/concurrency.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

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

// The smaller of two quotas, where 0 means none.
double tighter(double a, double b) {
  if (a <= 0) return b;
  if (b <= 0) return a;
  return std::min(a, b);
}

double ratio(double quota, double period) { return quota > 0 && period > 0 ? quota / period : 0; }

double quota_v2(const std::string& group) {
  std::ifstream file(group + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max") return 0;
  try {
    return ratio(std::stod(quota), period);
  } catch (const std::exception&) {
    return 0;
  }
}

double quota_v1(const std::string& group) {
  double quota = 0;
  double period = 0;
  std::ifstream(group + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(group + "/cpu.cfs_period_us") >> period;
  return ratio(quota, period);
}

// A quota holds for all groups below it, so every ancestor counts.
// Inside a container the path may be the host's, of which only the top is mounted here:
// the walk then finds the container's own files at the mount itself.
template <class Quota>
double tightest_up_to(const std::string& mount, std::string path, Quota quota) {
  double result = 0;
  for (;;) {
    if (path == "/") path.clear();
    result = tighter(result, quota(mount + path));
    if (path.empty()) return result;
    const std::size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
}

bool lists_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "cpu") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

}  // namespace

double cgroup_cpu_quota(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  double result = 0;
  std::ifstream groups(root + "/proc/self/cgroup");
  // Lines are hierarchy:controllers:path; version 2 is hierarchy 0 without controllers.
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      result = tighter(result, tightest_up_to(mount, path, quota_v2));
    } else if (lists_cpu(controllers)) {
      result =
          tighter(result, tightest_up_to(std::string(mount).append("/").append(controllers), path, quota_v1));
      result = tighter(result, tightest_up_to(mount + "/cpu", path, quota_v1));
    }
  }
  return result;
}

int available_concurrency() {
  const int processors = affinity_count();
  const double quota = cgroup_cpu_quota();
  if (quota <= 0 || quota >= processors) return processors;
  return std::max(1, static_cast<int>(std::ceil(quota)));
}

}  // namespace anabranch::scheduler
