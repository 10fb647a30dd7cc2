#pragma once

#include <anabranch/anabranch.h>
#include <anabranch/doctor.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/host_arrays.h"

/// Programs on the GPU beside the interpreter: the same bits, in every configuration.
namespace anabranch::testing {

/// Is there a GPU? Says so once where not. With ANABRANCH_REQUIRE_GPU set that is a failure.
inline bool have_gpu() {
  static const GpuFacts facts = [] {
    GpuFacts found = gpu_facts();
    if (!found.available) std::printf("skipped: no GPU: %s\n", found.why_not.c_str());
    return found;
  }();
  if (!facts.available && std::getenv("ANABRANCH_REQUIRE_GPU")) FAIL("there is no GPU: " << facts.why_not);
  return facts.available;
}

inline std::vector<RunOptions> gpu_configurations() {
  std::vector<RunOptions> all;
  for (const char* scheduler : {"adaptive", "paper", "fixed:1", "fixed:7", "fixed:1000000"})
    all.push_back({.backend = Backend::cuda, .scheduler = scheduler});
  all.push_back({.backend = Backend::cuda, .gpu_memory = 64 << 20});
  all.push_back({.backend = Backend::cpu_and_cuda});
  return all;
}

template <class Program, class... Args>
void agree_on_gpu(const Program& program, const Args&... args) {
  if (!have_gpu()) return;
  const auto expected = program.run({.backend = Backend::interpreter}, args...);
  for (const RunOptions& options : gpu_configurations()) {
    RunReport report;
    const auto got = program.run(options, &report, args...);
    INFO(report.backend << ", " << options.scheduler << ", " << report.chunks << " chunks");
    CHECK(got.shape() == expected.shape());
    CHECK(same(got.erased(), expected.erased()));
    CHECK(report.backend.find("cuda") != std::string::npos);
  }
}

/// What a run throws.
template <class Program>
std::string message_of(const Program& program, Backend backend) {
  try {
    program.run({.backend = backend});
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace anabranch::testing
