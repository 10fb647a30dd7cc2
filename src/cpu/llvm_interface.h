#pragma once

#include <cstddef>
#include <cstdint>

/// The C interface of libanabranch-llvm, the code generator: the only library that contains LLVM. It is
/// opened when a kernel must be compiled and found in no cache.
///
/// Both sides are built together; the version handshake catches a mixed installation before anything is
/// passed.
extern "C" {

struct AnabranchLlvmOptions {
  const char* cpu;       ///< null: this machine's
  const char* features;  ///< LLVM's feature string; null: this machine's
  int lanes;             ///< 0: as suits the kernel. 1: scalar code only. Else this vector width (tests)
  int short_rows;        ///< the image for short rows (cpu/abi.h)
  int fetches_ahead;     ///< code for KernelArgs::positions_end
  int want_ir;           ///< give the LLVM IR as text, before and after the passes
  int want_assembly;
};

enum AnabranchLlvmError {
  anabranch_llvm_internal = 1,
  anabranch_llvm_unavailable = 2,
  /// Memory ran out in LLVM, in this call or an earlier one, and its state is lost. Without a text.
  anabranch_llvm_no_memory = 3,
};

/// Where results go; called before anabranch_llvm_compile returns. A null function is not called.
struct AnabranchLlvmSink {
  void* context;
  void (*image)(void* context, const void* bytes, std::size_t size);
  void (*ir)(void* context, const char* text, std::size_t size);
  void (*assembly)(void* context, const char* text, std::size_t size);
  void (*error)(void* context, int kind, const char* text);
  void (*statistics)(void* context, double emit_ms, double optimise_ms, double generate_ms, double link_ms,
                     std::uint64_t instructions);
};

/// `kernel` is a kernel::Kernel. 0 on success; else an AnabranchLlvmError, and `error` has been called. Any
/// number of threads may call.
using AnabranchLlvmCompile = int (*)(const void* kernel, const AnabranchLlvmOptions*,
                                     const AnabranchLlvmSink*);
/// The cpu and features code is generated for by default, as "cpu features": part of a cache key.
using AnabranchLlvmMachine = const char* (*)();
}

namespace anabranch::cpu {

inline constexpr const char* llvm_library_name = "libanabranch-llvm.so";
inline constexpr const char* llvm_version_symbol = "anabranch_llvm_version";
inline constexpr const char* llvm_compile_symbol = "anabranch_llvm_compile";
inline constexpr const char* llvm_machine_symbol = "anabranch_llvm_machine";

}  // namespace anabranch::cpu
