#include <chrono>
#include <cstdlib>

#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>

#include "cpu/llvm/link.h"
#include "cpu/llvm/machine.h"
#include "cpu/llvm/skeleton.h"
#include "cpu/llvm_interface_version.h"

namespace anabranch::cpu {
namespace {

class Stopwatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::string text_of(const llvm::Module& module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

void compile(const plan::Kernel& kernel, const AnabranchLlvmOptions& options, const AnabranchLlvmSink& sink) {
  Stopwatch clock;
  const Machine machine = machine_for(options);
  const Target target(machine);
  llvm::LLVMContext context;
  llvm::Module module("kernel", context);
  module.setTargetTriple(target->getTargetTriple().str());
  module.setDataLayout(target->createDataLayout());
  module.setPICLevel(llvm::PICLevel::SmallPIC);
  const int entries = kernel.skeleton == plan::Skeleton::map ? emit_map(module, kernel, machine)
                                                             : emit_fold(module, kernel, machine);
#if ANABRANCH_CHECKED
  std::string broken;
  llvm::raw_string_ostream out(broken);
  if (llvm::verifyModule(module, &out))
    throw InternalError("generated code is broken: " + broken + text_of(module));
#endif
  if (options.want_ir && sink.ir) {
    const std::string text = "; before the passes\n" + text_of(module);
    sink.ir(sink.context, text.data(), text.size());
  }
  std::uint64_t instructions = 0;
  for (const auto& function : module) instructions += function.getInstructionCount();
  const double emit_ms = clock.lap();

  optimise(module, *target);
  if (options.want_ir && sink.ir) {
    const std::string text = "; after the passes\n" + text_of(module);
    sink.ir(sink.context, text.data(), text.size());
  }
  if (options.want_assembly && sink.assembly) {
    const std::string text = generate_assembly(module, *target);
    sink.assembly(sink.context, text.data(), text.size());
  }
  const double optimise_ms = clock.lap();
  const auto object = generate_object(module, *target);
  const double generate_ms = clock.lap();
  const auto image = link_image(object, entries);
  const double link_ms = clock.lap();
  if (sink.statistics)
    sink.statistics(sink.context, emit_ms, optimise_ms, generate_ms, link_ms, instructions);
  if (sink.image) sink.image(sink.context, image.data(), image.size());
}

}  // namespace
}  // namespace anabranch::cpu

// No exception crosses this interface.
extern "C" {

__attribute__((visibility("default"))) std::uint64_t anabranch_llvm_version() {
  return anabranch::cpu::llvm_interface_version();
}

__attribute__((visibility("default"))) const char* anabranch_llvm_machine() {
  return anabranch::cpu::host_description().c_str();
}

__attribute__((visibility("default"))) int anabranch_llvm_compile(const void* kernel,
                                                                  const AnabranchLlvmOptions* options,
                                                                  const AnabranchLlvmSink* sink) {
  const auto fail = [&](int kind, const char* text) {
    if (sink->error) sink->error(sink->context, kind, text);
    return kind;
  };
  try {
    anabranch::cpu::compile(*static_cast<const anabranch::plan::Kernel*>(kernel), *options, *sink);
    return 0;
  } catch (const anabranch::BackendUnavailable& e) {
    return fail(anabranch_llvm_unavailable, e.what());
  } catch (const std::exception& e) {
    return fail(anabranch_llvm_internal, e.what());
  } catch (...) {
    return fail(anabranch_llvm_internal, "unknown exception");
  }
}
}
