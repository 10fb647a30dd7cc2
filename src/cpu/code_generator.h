#pragma once

#include <string>

#include "cpu/llvm_interface.h"

namespace anabranch::cpu {

/// libanabranch-llvm, opened. Never closed: LLVM's static state lives in it.
class CodeGenerator {
 public:
  /// Opens it, once. Throws BackendUnavailable if it cannot
  /// be opened or does not fit; the next caller tries again.
  static const CodeGenerator& get();

  AnabranchLlvmCompile compile = nullptr;
  AnabranchLlvmMachine machine = nullptr;
  std::string path;
  std::string build_id;
  double open_ms = 0;

 private:
  CodeGenerator();
};

/// The build id of the library that `get` would open now, which is not opened for it. Any change of the code
/// generator, of LLVM or of how they were compiled is another id. Empty: there is no library, or no id.
std::string code_generator_build_id();

}  // namespace anabranch::cpu
