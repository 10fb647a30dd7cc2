#include "scheduler/cgroup.h"

#include <algorithm>
#include <exception>
#include <fstream>
#include <string_view>

namespace anabranch::scheduler {
namespace {

// The smaller of two limits, where 0 means none.
template <class T>
T tighter(T a, T b) {
  if (a <= 0) return b;
  if (b <= 0) return a;
  return std::min(a, b);
}

// A limit holds for all groups below it, so every ancestor counts.
// Inside a container the path may be the host's, of which only the top is mounted here:
// the walk then finds the container's own files at the mount itself.
template <class Limit>
auto tightest_up_to(const std::string& mount, std::string path, Limit limit) {
  decltype(limit(path)) result = 0;
  for (;;) {
    if (path == "/") path.clear();
    result = tighter(result, limit(mount + path));
    if (path.empty()) return result;
    const std::size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
}

bool lists(std::string_view controllers, std::string_view controller) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == controller) return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

// What the limit of a group is, by its folder, in versions 2 and 1.
template <class Version2, class Version1>
auto tightest(const std::string& root, std::string_view controller, Version2 version_2, Version1 version_1) {
  const std::string mount = root + "/sys/fs/cgroup";
  decltype(version_2(mount)) result = 0;
  std::ifstream groups(root + "/proc/self/cgroup");
  // Lines are hierarchy:controllers:path; version 2 is hierarchy 0 without controllers.
  for (std::string line; std::getline(groups, line);) {
    const std::size_t colon = line.find(':');
    const std::size_t next = colon == std::string::npos ? colon : line.find(':', colon + 1);
    if (next == std::string::npos) continue;
    const std::string controllers = line.substr(colon + 1, next - colon - 1);
    const std::string path = line.substr(next + 1);
    if (controllers.empty()) {
      result = tighter(result, tightest_up_to(mount, path, version_2));
    } else if (lists(controllers, controller)) {
      for (const std::string_view folder : {std::string_view(controllers), controller})
        result =
            tighter(result, tightest_up_to(std::string(mount).append("/").append(folder), path, version_1));
    }
  }
  return result;
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

// "max" is no number. Version 1 says "no limit" with one near 2^63.
int64_t bytes_in(const std::string& file) {
  constexpr int64_t most = int64_t{1} << 60;
  std::ifstream in(file);
  int64_t bytes = 0;
  return in >> bytes && bytes > 0 && bytes < most ? bytes : 0;
}

int64_t memory_v2(const std::string& group) {
  return tighter(bytes_in(group + "/memory.max"), bytes_in(group + "/memory.high"));
}

int64_t memory_v1(const std::string& group) { return bytes_in(group + "/memory.limit_in_bytes"); }

}  // namespace

double cgroup_cpu_quota(const std::string& root) { return tightest(root, "cpu", quota_v2, quota_v1); }

int64_t cgroup_memory_limit(const std::string& root) {
  return tightest(root, "memory", memory_v2, memory_v1);
}

}  // namespace anabranch::scheduler
