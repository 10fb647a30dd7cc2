#include "cpu/code_generator.h"

#include <chrono>

#include "cpu/build_id.h"
#include "cpu/llvm_interface_version.h"
#include "system/sibling_library.h"

namespace anabranch::cpu {

const CodeGenerator& CodeGenerator::get() {
  static const CodeGenerator generator;  // a failed constructor is tried again by the next caller
  return generator;
}

CodeGenerator::CodeGenerator() {
  const auto start = std::chrono::steady_clock::now();
  const system::SiblingLibrary library("cpu", "the code generator", llvm_library_name);
  library.require_version(llvm_version_symbol, llvm_interface_version());
  compile = library.function<AnabranchLlvmCompile>(llvm_compile_symbol);
  machine = library.function<AnabranchLlvmMachine>(llvm_machine_symbol);
  path = library.path();
  build_id = build_id_of_object_at(reinterpret_cast<const void*>(compile));
  open_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::string code_generator_build_id() {
  for (const std::string& candidate : system::SiblingLibrary::candidates(llvm_library_name))
    if (std::string id = build_id_of_file(candidate); !id.empty()) return id;
  return {};
}

}  // namespace anabranch::cpu
