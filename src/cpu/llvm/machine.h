#pragma once

#include <memory>
#include <string>
#include <vector>

#include <llvm/Target/TargetMachine.h>

#include "cpu/llvm/frame.h"
#include "cpu/llvm_interface.h"

namespace anabranch::cpu {

/// This machine, or the one the options name. Throws BackendUnavailable where the processor lacks what
/// generated code takes for granted (AVX2 and FMA).
Machine machine_for(const AnabranchLlvmOptions& options);
/// "cpu features" of this machine.
const std::string& host_description();

/// LLVM's description of a machine, which takes longer to make than a small kernel takes to compile. Made
/// once for every thread that compiles at the same time, and kept.
class Target {
 public:
  explicit Target(const Machine& machine);
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  llvm::TargetMachine& operator*() const { return *target_; }
  llvm::TargetMachine* operator->() const { return target_.get(); }

 private:
  std::string name_;
  std::unique_ptr<llvm::TargetMachine> target_;
};
/// The short list of passes that explicit vector code needs.
void optimise(llvm::Module& module, llvm::TargetMachine& target);
std::vector<std::byte> generate_object(llvm::Module& module, llvm::TargetMachine& target);
std::string generate_assembly(const llvm::Module& module, llvm::TargetMachine& target);

}  // namespace anabranch::cpu
