#include <anabranch/doctor.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include <unistd.h>

#include <anabranch/error.h>
#include <anabranch/version.h>

#include "cache/kernel_cache.h"
#include "cpu/code_generator.h"
#include "cpu/compiler.h"
#include "cuda/device.h"
#include "scheduler/cgroup.h"
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

}  // namespace

MachineFacts machine_facts() {
  MachineFacts out;
  out.processor = processor_name();
  out.processors = static_cast<int>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
  out.threads = scheduler::available_concurrency();
  out.cpu_quota = scheduler::cgroup_cpu_quota();
  out.memory = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  if (const std::int64_t limit = scheduler::cgroup_memory_limit(); limit < out.memory)
    out.memory_limit = limit;
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
    out.why_compiler = facts.why_compiler;
    out.why_no_primitives = device->primitives().why_not;
    out.available = true;
  } catch (const BackendUnavailable& e) {
    out.why_not = e.what();
  }
  return out;
}

const char* library_version() noexcept { return version_string; }

}  // namespace anabranch
