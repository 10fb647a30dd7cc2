#pragma once

#include <string>

#include "cpu/llvm_interface.h"

namespace anabranch::cpu {

/// libanabranch-llvm, opened. Never closed: LLVM's static state lives in it.
class CodeGenerator {
 public:
  /// Opens it, once. Throws BackendUnavailable if that fails or it does not fit; the next caller tries again.
  static const CodeGenerator& get();

  AnabranchLlvmCompile compile = nullptr;
  AnabranchLlvmMachine machine = nullptr;
  std::string path;
  std::string build_id;
  double open_ms = 0;

 private:
  CodeGenerator();
};

/// The build id of the library that `get` would open now, read without opening it. It changes with the code
/// generator, with LLVM and with how they were compiled. Empty: there is no library, or it has no id.
std::string code_generator_build_id();

}  // namespace anabranch::cpu
