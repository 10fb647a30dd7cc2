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

std::unique_ptr<llvm::TargetMachine> target_for(const Machine& machine);
/// The short list of passes that explicit vector code needs.
void optimise(llvm::Module& module, llvm::TargetMachine& target);
std::vector<std::byte> generate_object(llvm::Module& module, llvm::TargetMachine& target);
std::string generate_assembly(const llvm::Module& module, llvm::TargetMachine& target);

}  // namespace anabranch::cpu
