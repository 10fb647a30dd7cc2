#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <new>

#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/ErrorHandling.h>

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

/// What LLVM works on.
struct Work {
  Target target;
  llvm::LLVMContext context;
  llvm::Module module{"kernel", context};

  explicit Work(const Machine& machine) : target(machine) {}
};

/// What the sink is given.
struct Compiled {
  std::string ir, assembly;  ///< the IR after the passes
  std::vector<std::byte> image;
  double emit_ms = 0, optimise_ms = 0, generate_ms = 0, link_ms = 0;
  std::uint64_t instructions = 0;
};

void give_ir(const std::string& ir, const AnabranchLlvmSink& sink) {
  if (!ir.empty() && sink.ir) sink.ir(sink.context, ir.data(), ir.size());
}

Compiled compile(const kernel::Kernel& kernel, const AnabranchLlvmOptions& options,
                 const AnabranchLlvmSink& sink, const Machine& machine, Work& work) {
  Stopwatch clock;
  Compiled out;
  const Target& target = work.target;
  llvm::Module& module = work.module;
  module.setTargetTriple(target->getTargetTriple().str());
  module.setDataLayout(target->createDataLayout());
  module.setPICLevel(llvm::PICLevel::SmallPIC);
  const int entries = std::visit(
      kernel::overloaded{
          [&](const kernel::Map&) { return emit_map(module, kernel, machine); },
          [&](const kernel::Reduce&) { return emit_fold(module, kernel, machine, options.short_rows); },
          [&](const kernel::Scan&) { return emit_scan(module, kernel, machine, options.short_rows); },
          [&](const kernel::Recurrence&) { return emit_recurrence(module, kernel, machine); }},
      kernel.form);
#if ANABRANCH_CHECKED
  std::string broken;
  llvm::raw_string_ostream broken_out(broken);
  if (llvm::verifyModule(module, &broken_out))
    throw InternalError("generated code is broken: " + broken + text_of(module));
#endif
  // Printed first: should the passes end the process, it is known on what.
  if (options.want_ir) give_ir("; before the passes\n" + text_of(module), sink);
  for (const auto& function : module) out.instructions += function.getInstructionCount();
  out.emit_ms = clock.lap();

  optimise(module, *target);
  if (options.want_ir) out.ir = "; after the passes\n" + text_of(module);
  if (options.want_assembly) out.assembly = generate_assembly(module, *target);
  out.optimise_ms = clock.lap();
  const auto object = generate_object(module, *target);
  out.generate_ms = clock.lap();
  out.image = link_image(object, entries);
  out.link_ms = clock.lap();
  return out;
}

/// LLVM is compiled without exceptions: one that passes through it leaves its objects in no defined state and
/// its locks locked. So nothing of it is touched again once memory has run out.
std::atomic<bool> memory_ran_out = false;

void throw_bad_alloc(void*, const char*, bool) { throw std::bad_alloc(); }

Compiled compile(const kernel::Kernel& kernel, const AnabranchLlvmOptions& options,
                 const AnabranchLlvmSink& sink) {
  static const bool installed = [] {  // else LLVM aborts where it gets no memory
    llvm::install_bad_alloc_error_handler(throw_bad_alloc);
    return true;
  }();
  if (!installed || memory_ran_out) throw std::bad_alloc();
  std::unique_ptr<Work> work;
  try {
    const Machine machine = machine_for(options);
    work = std::make_unique<Work>(machine);
    return compile(kernel, options, sink, machine, *work);
  } catch (const std::bad_alloc&) {
    memory_ran_out = true;
    static_cast<void>(work.release());  // a destructor would use the broken state
    throw;
  }
}

void give(const Compiled& compiled, const AnabranchLlvmSink& sink) {
  give_ir(compiled.ir, sink);
  if (!compiled.assembly.empty() && sink.assembly)
    sink.assembly(sink.context, compiled.assembly.data(), compiled.assembly.size());
  if (sink.statistics)
    sink.statistics(sink.context, compiled.emit_ms, compiled.optimise_ms, compiled.generate_ms,
                    compiled.link_ms, compiled.instructions);
  if (sink.image) sink.image(sink.context, compiled.image.data(), compiled.image.size());
}

}  // namespace
}  // namespace anabranch::cpu

// No exception crosses this interface, but what the sink throws.
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
    using namespace anabranch;
    cpu::give(cpu::compile(*static_cast<const kernel::Kernel*>(kernel), *options, *sink), *sink);
    return 0;
  } catch (const anabranch::BackendUnavailable& e) {
    return fail(anabranch_llvm_unavailable, e.what());
  } catch (const std::bad_alloc&) {
    return anabranch_llvm_no_memory;
  } catch (const std::exception& e) {
    return fail(anabranch_llvm_internal, e.what());
  } catch (...) {
    return fail(anabranch_llvm_internal, "unknown exception");
  }
}
}
