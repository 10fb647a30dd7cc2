#include "cpu/code_generator.h"

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdlib>
#include <vector>

#include "cpu/build_id.h"
#include "cpu/llvm_interface_version.h"

namespace anabranch::cpu {
namespace {

/// The folder of the object (library or program) that this code is part of, and of its sibling `lib`.
std::vector<std::string> places_to_look() {
  Dl_info here{};
  if (!::dladdr(reinterpret_cast<const void*>(&places_to_look), &here) || !here.dli_fname)
    throw BackendUnavailable("cpu: cannot find out where the library is");
  char resolved[PATH_MAX];
  std::string path = ::realpath(here.dli_fname, resolved) ? resolved : "";
  // The program's own name need not be a path; the system knows better.
  if (path.empty()) {
    const ssize_t n = ::readlink("/proc/self/exe", resolved, sizeof resolved - 1);
    if (n > 0) path.assign(resolved, static_cast<std::size_t>(n));
  }
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) throw BackendUnavailable("cpu: cannot find out where the library is");
  const std::string folder = path.substr(0, slash);
  return {folder + "/" + llvm_library_name, folder + "/../lib/" + llvm_library_name};
}

}  // namespace

const CodeGenerator& CodeGenerator::get() {
  static const CodeGenerator generator;  // a failed constructor is tried again by the next caller
  return generator;
}

CodeGenerator::CodeGenerator() {
  const auto start = std::chrono::steady_clock::now();
  std::string tried;
  void* library = nullptr;
  for (const auto& candidate : places_to_look()) {
    library = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library) {
      path = candidate;
      break;
    }
    tried += std::string(tried.empty() ? "" : "; ") + ::dlerror();
  }
  if (!library) throw BackendUnavailable("cpu: cannot open the code generator: " + tried);
  const auto find = [&](const char* symbol) {
    void* address = ::dlsym(library, symbol);
    if (!address) throw BackendUnavailable("cpu: " + path + " lacks " + symbol + "; reinstall Anabranch");
    return address;
  };
  const auto version = reinterpret_cast<AnabranchLlvmVersion>(find(llvm_version_symbol));
  if (version() != llvm_interface_version())
    throw BackendUnavailable("cpu: " + path + " belongs to another version of Anabranch; reinstall it");
  compile = reinterpret_cast<AnabranchLlvmCompile>(find(llvm_compile_symbol));
  machine = reinterpret_cast<AnabranchLlvmMachine>(find(llvm_machine_symbol));
  build_id = build_id_of_object_at(reinterpret_cast<const void*>(compile));
  open_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::string code_generator_build_id() {
  for (const std::string& candidate : places_to_look())
    if (std::string id = build_id_of_file(candidate); !id.empty()) return id;
  return {};
}

}  // namespace anabranch::cpu
