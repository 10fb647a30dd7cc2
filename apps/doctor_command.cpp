#include <string_view>

#include <anabranch/doctor.h>
#include <anabranch/error.h>
#include <anabranch/version.h>

#include <fmt/format.h>

#include "byte_size.h"
#include "commands.h"
#include "terminal.h"

namespace anabranch::apps {

void doctor_command() {
  const MachineFacts machine = machine_facts();
  const CpuFacts cpu = cpu_facts();
  std::string out;
  const auto line = [&](const char* label, const std::string& text) {
    out += fmt::format("{:<15} {}\n", label, text);
  };
  line("anabranch", version_string);
  line("processor",
       fmt::format("{}, {} processor{}", machine.processor.empty() ? "unknown model" : machine.processor,
                   machine.processors, machine.processors == 1 ? "" : "s"));
  line("SIMD", cpu.available ? fmt::format("{}-bit vectors, code for {}", cpu.vector_bits, cpu.target)
                             : "unknown without a code generator");
  line("threads", fmt::format("{} by default; CPU quota of the control group: {}", machine.threads,
                              machine.cpu_quota > 0 ? fmt::format("{:.2f}", machine.cpu_quota) : "none"));
  line("memory", fmt::format("{}, {} available; limit of the control group: {}", binary_bytes(machine.memory),
                             binary_bytes(machine.memory_available),
                             machine.memory_limit > 0 ? binary_bytes(machine.memory_limit) : "none"));
  line("memory bound",
       fmt::format("{} unless --memory says otherwise", binary_bytes(machine.usable_memory() / 2)));
  line("back end cpu", cpu.available ? "available" : "not available: " + cpu.why_not);
  line("code generator", cpu.available ? cpu.code_generator : "not found");
  line("kernel cache", "in memory, as long as the process lives");
  const GpuFacts gpu = gpu_facts();
  constexpr std::string_view prefix = "cuda: ";
  if (gpu.available) {
    line("GPU", fmt::format("{}, {}, {} multiprocessors; memory: {}, {} free", gpu.name, gpu.architecture,
                            gpu.multiprocessors, binary_bytes(gpu.memory), binary_bytes(gpu.memory_free)));
    line("GPU software", fmt::format("driver for CUDA {}, NVRTC {}", gpu.driver, gpu.compiler));
  } else {
    line("GPU",
         "none: " + (gpu.why_not.starts_with(prefix) ? gpu.why_not.substr(prefix.size()) : gpu.why_not));
  }
  print(out);
  if (!cpu.available) throw BackendUnavailable(cpu.why_not);
}

}  // namespace anabranch::apps
