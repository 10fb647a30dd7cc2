#include <anabranch/doctor.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include <unistd.h>

#include <anabranch/error.h>

#include "cache/kernel_cache.h"
#include "cpu/code_generator.h"
#include "cpu/compiler.h"
#include "cuda/device.h"
#include "scheduler/concurrency.h"

namespace anabranch {

namespace {

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const auto colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return "";
}

std::int64_t available_memory() {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    std::int64_t kib = 0;
    if (std::istringstream in(line.substr(line.find(':') + 1));
        line.starts_with("MemAvailable:") && in >> kib)
      return kib * 1024;
  }
  return 0;
}

/// The lowest limit of a group and of those above it; 0: none has one. Version 1 says "no limit" with a
/// number near 2^63.
std::int64_t tightest_limit(const std::string& mount, std::string path, const char* file,
                            std::int64_t memory) {
  std::int64_t result = 0;
  for (;;) {
    if (path == "/") path.clear();
    std::ifstream in(mount + path + "/" + file);
    if (std::int64_t limit = 0; in >> limit && limit > 0 && limit < memory)
      result = result == 0 ? limit : std::min(result, limit);
    if (path.empty()) return result;
    const auto slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
}

std::int64_t cgroup_memory_limit(std::int64_t memory) {
  std::int64_t result = 0;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    std::int64_t limit = 0;
    if (controllers == ",,")
      limit = tightest_limit("/sys/fs/cgroup", path, "memory.max", memory);
    else if (controllers.find(",memory,") != std::string::npos)
      limit = tightest_limit("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", memory);
    if (limit > 0) result = result == 0 ? limit : std::min(result, limit);
  }
  return result;
}

}  // namespace

MachineFacts machine_facts() {
  MachineFacts out;
  out.processor = processor_name();
  out.processors = static_cast<int>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
  out.threads = scheduler::available_concurrency();
  out.cpu_quota = scheduler::cgroup_cpu_quota();
  out.memory = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  out.memory_limit = cgroup_memory_limit(out.memory);
  out.memory_available = available_memory();
  return out;
}

CpuFacts cpu_facts() {
  CpuFacts out;
  try {
    const std::string description = cpu::machine_description() + ",";
    out.code_generator = cpu::code_generator_path();
    out.build_id = cpu::code_generator_build_id();
    out.target = description.substr(0, description.find(' '));
    const auto has = [&](const char* feature) { return description.find(feature) != std::string::npos; };
    if (!has("+avx2,") || !has("+fma,") || !has("+f16c,"))
      throw BackendUnavailable("cpu: this processor has no AVX2, FMA and F16C");
    out.vector_bits =
        has("+avx512f,") && has("+avx512vl,") && has("+avx512bw,") && has("+avx512dq,") ? 512 : 256;
    out.available = true;
  } catch (const BackendUnavailable& e) {
    out.why_not = e.what();
  }
  return out;
}

CacheFacts cache_facts() {
  const cache::Inventory found = cache::kernel_cache()->inventory();
  return {.available = found.why_not.empty(),
          .why_not = found.why_not,
          .why_not_stored = found.why_not_stored,
          .folder = found.folder,
          .kernels = found.entries,
          .bytes = found.bytes,
          .bound = found.bound};
}

GpuFacts gpu_facts() {
  GpuFacts out;
  try {
    const auto device = cuda::Device::get();
    const cuda::DeviceFacts& facts = device->facts();
    out.name = facts.name;
    out.architecture = device->architecture();
    out.multiprocessors = facts.multiprocessors;
    out.memory = facts.memory;
    out.memory_free = facts.memory_free;
    out.driver =
        std::to_string(facts.driver_version / 1000) + "." + std::to_string(facts.driver_version % 1000 / 10);
    out.compiler = facts.compiler;
    out.why_no_primitives = device->primitives().why_not;
    out.available = true;
  } catch (const BackendUnavailable& e) {
    out.why_not = e.what();
  }
  return out;
}

}  // namespace anabranch
