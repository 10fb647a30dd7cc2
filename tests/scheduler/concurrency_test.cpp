// What the control group grants, and the threads that this leaves.
#include "scheduler/concurrency.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "scheduler/cgroup.h"
#include "scheduler/executor.h"
#include "support/catch.h"
#include "support/one_processor.h"

using namespace anabranch::scheduler;
using anabranch::testing::OneProcessor;
namespace fs = std::filesystem;

namespace {
// A root directory with made-up /proc and /sys.
class FakeRoot {
 public:
  FakeRoot() {
    std::string name = (fs::temp_directory_path() / "anabranch-root-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    path_ = name;
  }
  ~FakeRoot() { fs::remove_all(path_); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;

  void write(const std::string& file, const std::string& text) {
    fs::create_directories(fs::path(path_ + file).parent_path());
    std::ofstream(path_ + file) << text;
  }
  double quota() const { return cgroup_cpu_quota(path_); }
  int64_t memory() const { return cgroup_memory_limit(path_); }
  int threads() const { return available_concurrency(path_); }

 private:
  std::string path_;
};
}  // namespace

TEST_CASE("no files, no quota") {
  FakeRoot root;
  REQUIRE(root.quota() == 0);
  REQUIRE(root.memory() == 0);
}

TEST_CASE("cgroup version 2: the tightest of the group and those above it") {
  FakeRoot root;
  root.write("/proc/self/cgroup", "0::/a/b\n");
  root.write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  REQUIRE(root.quota() == 0);
  root.write("/sys/fs/cgroup/a/b/cpu.max", "350000 100000\n");
  REQUIRE(root.quota() == Approx(3.5));
  root.write("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
  REQUIRE(root.quota() == Approx(2));
}

TEST_CASE("cgroup version 2 in a container that shows the host's path") {
  FakeRoot root;
  root.write("/proc/self/cgroup", "0::/kubepods/pod1/c\n");
  root.write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  REQUIRE(root.quota() == Approx(1.5));
}

TEST_CASE("cgroup version 1") {
  FakeRoot root;
  root.write("/proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/job\n");
  root.write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  root.write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  REQUIRE(root.quota() == 0);
  root.write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
  REQUIRE(root.quota() == Approx(0.5));
}

TEST_CASE("memory limits: the tightest of the group and those above it, in both versions at once") {
  FakeRoot root;
  root.write("/proc/self/cgroup", "4:cpu,memory:/job\n0::/a/b\n");
  root.write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  root.write("/sys/fs/cgroup/cpu,memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  REQUIRE(root.memory() == 0);
  root.write("/sys/fs/cgroup/a/memory.max", "8000000\n");
  REQUIRE(root.memory() == 8000000);
  root.write("/sys/fs/cgroup/a/b/memory.high", "7000000\n");
  REQUIRE(root.memory() == 7000000);
  root.write("/sys/fs/cgroup/cpu,memory/job/memory.limit_in_bytes", "6000000\n");
  REQUIRE(root.memory() == 6000000);
  root.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000000\n");
  REQUIRE(root.memory() == 5000000);
}

TEST_CASE("nonsense in the files is no quota") {
  FakeRoot root;
  root.write("/proc/self/cgroup", "garbage\n0::/\n");
  root.write("/sys/fs/cgroup/cpu.max", "lots 100000\n");
  REQUIRE(root.quota() == 0);
  root.write("/sys/fs/cgroup/cpu.max", "100000 0\n");
  REQUIRE(root.quota() == 0);
}

TEST_CASE("at least one thread is available") { REQUIRE(available_concurrency() >= 1); }

TEST_CASE("threads: as many as processors, or as the quota says, rounded up, where that is less") {
  FakeRoot root;
  const int processors = root.threads();
  root.write("/proc/self/cgroup", "0::/job\n");
  const auto with_quota = [&](double cpus) {
    root.write("/sys/fs/cgroup/job/cpu.max", std::to_string(std::lround(cpus * 100'000)) + " 100000\n");
    return root.threads();
  };
  CHECK(with_quota(0.01) == 1);
  CHECK(with_quota(1) == 1);
  CHECK(with_quota(1.5) == std::min(2, processors));
  CHECK(with_quota(processors - 0.5) == processors);
  CHECK(with_quota(2 * processors) == processors);
  const OneProcessor one;
  CHECK(with_quota(2 * processors) == 1);
}

TEST_CASE("executors have as many threads as are available") {
  const auto check = [](int available) {
    CHECK(make_plain_executor()->concurrency() == available);
#if !defined(__SANITIZE_THREAD__)
    CHECK(make_tbb_executor()->concurrency() == available);
#endif
  };
  check(available_concurrency());
  const OneProcessor one;
  check(1);
}
