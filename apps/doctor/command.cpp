#include <string_view>

#include <anabranch/doctor.h>
#include <anabranch/error.h>
#include <anabranch/run_report.h>
#include <anabranch/version.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "apps/commands.h"
#include "apps/common/byte_size.h"
#include "apps/common/exit_status.h"
#include "apps/common/quantities.h"
#include "apps/common/terminal.h"

namespace anabranch::apps {

namespace {

std::string kernel_cache(const CacheFacts& cache) {
  if (!cache.available)
    return fmt::format("in memory only: {}{}", cache.folder.empty() ? "" : cache.folder + ": ",
                       cache.why_not);
  return fmt::format("{}: {}, {} of at most {}{}", cache.folder, counted(cache.kernels, "kernel"),
                     binary_bytes(cache.bytes), binary_bytes(cache.bound),
                     cache.why_not_stored.empty() ? "" : "; none can be added: " + cache.why_not_stored);
}

std::string without_prefix(std::string_view why_not) {
  constexpr std::string_view prefix = "cuda: ";
  return std::string(why_not.starts_with(prefix) ? why_not.substr(prefix.size()) : why_not);
}

/// Throws BackendUnavailable, after all is said, where no kernel can be compiled.
void run_doctor() {
  const MachineFacts machine = machine_facts();
  const CpuFacts cpu = cpu_facts();
  std::string out;
  const auto line = [&](const char* label, const std::string& text) {
    out += fmt::format("{:<15} {}\n", label, text);
  };
  line("anabranch", library_version());
  line("processor", fmt::format("{}, {}", machine.processor.empty() ? "unknown model" : machine.processor,
                                counted(machine.processors, "processor")));
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
  line("code generator", !cpu.available         ? "not found"
                         : cpu.build_id.empty() ? cpu.code_generator + " (no build id: no kernels on disk)"
                                                : cpu.code_generator);
  line("kernel cache", kernel_cache(cache_facts()));
  line("reports", html_reports_available() ? "as HTML pages, too" : "built without HTML pages");
  const GpuFacts gpu = gpu_facts();
  if (gpu.available) {
    line("GPU", fmt::format("{}, {}, {}; memory: {}, {} free", gpu.name, gpu.architecture,
                            counted(gpu.multiprocessors, "multiprocessor"), binary_bytes(gpu.memory),
                            binary_bytes(gpu.memory_free)));
    const std::string why = gpu.why_compiler.empty() ? "" : " (" + gpu.why_compiler + ")";
    line("GPU software", fmt::format("driver for CUDA {}, NVRTC {}{}", gpu.driver, gpu.compiler, why));
    line("GPU primitives",
         gpu.why_no_primitives.empty() ? "there" : "none: " + without_prefix(gpu.why_no_primitives));
  } else {
    line("GPU", "none: " + without_prefix(gpu.why_not));
  }
  print(out);
  if (!cpu.available) throw BackendUnavailable(cpu.why_not);
}

}  // namespace

void add_doctor(CLI::App& app, Action& chosen) {
  CLI::App* sub =
      app.add_subcommand("doctor", "Show what this machine has: processor, limits, code generator, GPU");
  sub->footer(exit_statuses({{no_backend, "no kernel can be compiled"}}));
  sub->callback([&chosen] {
    chosen = [](Interrupt&) {
      run_doctor();
      return done;
    };
  });
}

}  // namespace anabranch::apps
