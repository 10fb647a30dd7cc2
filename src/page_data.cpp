#include "page_data.h"

#include <chrono>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <anabranch/doctor.h>
#include <anabranch/version.h>

#include "explain.h"
#include "timeline/json.h"

namespace anabranch {

namespace {

using timeline::Members;

std::string name_of(Backend backend) {
  switch (backend) {
    case Backend::automatic:
      return "automatic";
    case Backend::cpu:
      return "cpu";
    case Backend::interpreter:
      return "interpreter";
    case Backend::cuda:
      return "cuda";
    case Backend::cpu_and_cuda:
      return "cpu+cuda";
  }
  return "";
}

std::string machine(const RunReport& report) {
  const MachineFacts facts = machine_facts();
  const CpuFacts cpu = cpu_facts();
  Members out;
  out.add("processor", facts.processor)
      .add("processors", facts.processors)
      .add("threads", facts.threads)
      .add("cpu_quota", facts.cpu_quota)
      .add("memory", facts.memory)
      .add("memory_limit", facts.memory_limit)
      .add("vector_bits", cpu.vector_bits)
      .add("target", cpu.target);
  if (report.backend == "cuda" || report.backend == "cpu+cuda") out.add("gpu", gpu_facts().name);
  return out.object();
}

std::string options_of(const RunOptions& options) {
  return Members()
      .add("backend", name_of(options.backend))
      .add("threads", options.threads)
      .add("memory", options.memory)
      .add("gpu_memory", options.gpu_memory)
      .add("scheduler", options.scheduler)
      .add("trace", options.trace)
      .object();
}

/// The first result, and where it is asked for.
std::string subject(const Compiled& program) {
  const ir::Node& result = *program.program[0];
  return result.place().known() ? fmt::format("{} at {}", result.label(), to_string(result.place()))
                                : result.label();
}

}  // namespace

std::string page_data(const Compiled& program, const RunOptions& options, const RunReport& report) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return Members()
      .add("version", version_string)
      .add("written", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now)))
      .add("subject", subject(program))
      .add_json("run", to_json(report, true))
      .add_json("program", explain(program, Explain::json))
      .add("listing", explain(program, Explain::text))
      .add_json("machine", machine(report))
      .add_json("options", options_of(options))
      .object();
}

}  // namespace anabranch
