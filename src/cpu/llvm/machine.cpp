#include "cpu/llvm/machine.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>

#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/LoopRotation.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>
#include <llvm/Transforms/Utils/Cloning.h>

namespace anabranch::cpu {
namespace {

constexpr const char* triple = "x86_64-unknown-linux-gnu";

struct Host {
  std::string cpu, features, description;
};

const Host& host() {
  static const Host found = [] {
    Host h;
    h.cpu = llvm::sys::getHostCPUName().str();
    std::vector<std::string> features;
    for (const auto& feature : llvm::sys::getHostCPUFeatures())
      features.push_back((feature.getValue() ? "+" : "-") + feature.getKey().str());
    std::sort(features.begin(), features.end());
    for (const auto& feature : features) h.features += (h.features.empty() ? "" : ",") + feature;
    h.description = h.cpu + " " + h.features;
    return h;
  }();
  return found;
}

bool has(const std::string& features, const std::string& feature) {
  return ("," + features + ",").find(",+" + feature + ",") != std::string::npos;
}

const llvm::Target& x86() {
  static const llvm::Target* const target = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    // Takes a sixth of the time to generate code and gains nothing here: addresses are emitted as the
    // processor wants them.
    const auto& options = llvm::cl::getRegisteredOptions();
    if (const auto lsr = options.find("disable-lsr"); lsr != options.end())
      lsr->second->addOccurrence(0, "disable-lsr", "true");
    std::string error;
    const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple, error);
    if (!found) throw InternalError("LLVM without x86: " + error);
    return found;
  }();
  return *target;
}

/// Targets that no thread is using. Never destroyed: a thread may compile until the process is gone.
struct Idle {
  std::mutex mutex;
  std::multimap<std::string, std::unique_ptr<llvm::TargetMachine>> targets;
};
Idle& idle() {
  static Idle& instance = *new Idle;
  return instance;
}

void run(llvm::Module& module, llvm::TargetMachine& target, llvm::raw_pwrite_stream& out,
         llvm::CodeGenFileType type) {
  llvm::legacy::PassManager passes;
  if (target.addPassesToEmitFile(passes, out, nullptr, type))
    throw InternalError("LLVM cannot emit this file type");
  passes.run(module);
}

}  // namespace

const std::string& host_description() { return host().description; }

Machine machine_for(const AnabranchLlvmOptions& options) {
  Machine machine;
  machine.cpu = options.cpu ? options.cpu : host().cpu;
  machine.features = options.features ? options.features : options.cpu ? "" : host().features;
  if (!options.cpu || options.features) {
    // F16C (conversions of halves) is in every processor that has AVX2, but a hypervisor may hide it.
    if (!has(machine.features, "avx2") || !has(machine.features, "fma") || !has(machine.features, "f16c"))
      throw BackendUnavailable("cpu: this processor has no AVX2, FMA and F16C");
  }
  const bool wide = has(machine.features, "avx512f") && has(machine.features, "avx512vl") &&
                    has(machine.features, "avx512bw") && has(machine.features, "avx512dq");
  machine.vector_bytes = wide ? 64 : 32;
  machine.computes_halves = wide && has(machine.features, "avx512fp16");
  machine.forced_lanes = options.lanes;
  machine.fetches_ahead = options.fetches_ahead != 0;
  return machine;
}

Target::Target(const Machine& machine) : name_(machine.cpu + " " + machine.features) {
  {
    const std::lock_guard lock(idle().mutex);
    const auto found = idle().targets.find(name_);
    if (found != idle().targets.end()) target_ = std::move(idle().targets.extract(found).mapped());
  }
  if (target_) return;
  const llvm::TargetOptions options;
  target_.reset(x86().createTargetMachine(triple, machine.cpu, machine.features, options, llvm::Reloc::PIC_,
                                          llvm::CodeModel::Small, llvm::CodeGenOptLevel::Less));
}

Target::~Target() {
  try {
    const std::lock_guard lock(idle().mutex);
    idle().targets.emplace(std::move(name_), std::move(target_));
  } catch (const std::bad_alloc&) {  // NOLINT: the next one is made anew
  }
}

void optimise(llvm::Module& module, llvm::TargetMachine& target) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&target);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(llvm::InstCombinePass());
  llvm::LoopPassManager loop_passes;
  loop_passes.addPass(llvm::LoopRotatePass());
  loop_passes.addPass(llvm::LICMPass(llvm::LICMOptions()));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(std::move(loop_passes), /*UseMemorySSA=*/true));
  passes.addPass(llvm::SimplifyCFGPass());
  llvm::ModulePassManager all;
  all.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(passes)));
  all.run(module, modules);
}

std::vector<std::byte> generate_object(llvm::Module& module, llvm::TargetMachine& target) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  run(module, target, out, llvm::CodeGenFileType::ObjectFile);
  const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
  return {first, first + bytes.size()};
}

std::string generate_assembly(const llvm::Module& module, llvm::TargetMachine& target) {
  const std::unique_ptr<llvm::Module> copy = llvm::CloneModule(module);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  run(*copy, target, out, llvm::CodeGenFileType::AssemblyFile);
  return text.str().str();
}

}  // namespace anabranch::cpu
