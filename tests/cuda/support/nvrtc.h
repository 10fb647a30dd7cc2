#pragma once

#include <dlfcn.h>

#include <string>
#include <vector>

#include "cuda/unit.h"

/// NVRTC, where the machine has it: do texts compile for real, and without spills?
namespace anabranch::test {

class Nvrtc {
 public:
  Nvrtc() {
    for (const char* name :
         {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"}) {
      library_ = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library_) break;
    }
    if (!library_) return;
    find(create_, "nvrtcCreateProgram");
    find(compile_, "nvrtcCompileProgram");
    find(log_size_, "nvrtcGetProgramLogSize");
    find(log_, "nvrtcGetProgramLog");
    find(destroy_, "nvrtcDestroyProgram");
    find(code_size_, "nvrtcGetCUBINSize");
    find(code_, "nvrtcGetCUBIN");
  }
  bool found() const { return library_ && create_ && compile_ && log_size_ && log_ && destroy_; }

  struct Result {
    bool compiled = false;
    std::string log;    ///< of compiler and ptxas
    std::string image;  ///< cubin
  };
  Result compile(const cuda::Unit& unit, const std::string& architecture) const {
    std::vector<const char*> texts, names;
    for (const auto& header : cuda::headers()) {
      texts.push_back(header.text.c_str());
      names.push_back(header.name.c_str());
    }
    void* program = nullptr;
    create_(&program, unit.source.c_str(), "unit.cu", static_cast<int>(texts.size()), texts.data(),
            names.data());
    const std::string arch = "--gpu-architecture=" + architecture;
    const std::vector<const char*> options{arch.c_str(), "--std=c++17", "--fmad=false",
                                           "--ptxas-options=--verbose"};
    Result out;
    out.compiled = compile_(program, static_cast<int>(options.size()), options.data()) == 0;
    std::size_t size = 0;
    log_size_(program, &size);
    out.log.resize(size);
    log_(program, out.log.data());
    if (out.compiled && code_size_ && code_) {
      code_size_(program, &size);
      out.image.resize(size);
      code_(program, out.image.data());
    }
    destroy_(&program);
    return out;
  }

  /// Bytes of the log's largest spill.
  static int spills(const std::string& log) {
    int most = 0;
    for (const char* what : {" bytes spill stores", " bytes spill loads"})
      for (std::size_t at = log.find(what); at != std::string::npos; at = log.find(what, at + 1)) {
        const std::size_t from = log.find_last_not_of("0123456789", at - 1) + 1;
        most = std::max(most, std::stoi(log.substr(from, at - from)));
      }
    return most;
  }

 private:
  template <class F>
  void find(F& function, const char* name) {
    function = reinterpret_cast<F>(::dlsym(library_, name));
  }
  void* library_ = nullptr;
  int (*create_)(void**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*compile_)(void*, int, const char* const*) = nullptr;
  int (*log_size_)(void*, std::size_t*) = nullptr;
  int (*log_)(void*, char*) = nullptr;
  int (*destroy_)(void**) = nullptr;
  int (*code_size_)(void*, std::size_t*) = nullptr;
  int (*code_)(void*, char*) = nullptr;
};

}  // namespace anabranch::test
