#pragma once

#include <cstdint>
#include <string>

#include <anabranch/export.h>

/// What this machine offers: the facts behind the defaults, for programs that want to show or to use them.
namespace anabranch {

/// Limits of this process. Reads a few small files of /proc and /sys.
struct MachineFacts {
  std::string processor;              ///< the model's name; empty where the system does not say
  int processors = 0;                 ///< of the machine, online
  int threads = 0;                    ///< that a run uses by default: affinity mask and CPU quota counted
  double cpu_quota = 0;               ///< CPUs granted by the control group; 0: no quota
  std::int64_t memory = 0;            ///< bytes of the machine
  std::int64_t memory_limit = 0;      ///< bytes granted by the control group; 0: no limit
  std::int64_t memory_available = 0;  ///< bytes that can be had now without swapping, limit not counted

  /// The smaller of the machine's memory and the limit.
  std::int64_t usable_memory() const {
    return memory_limit > 0 && memory_limit < memory ? memory_limit : memory;
  }
};
ANABRANCH_API MachineFacts machine_facts();

/// Whether kernels can be compiled here, and for what. Opens the code generator (some 20 ms the first time).
struct CpuFacts {
  bool available = false;
  std::string why_not;         ///< where it is not available
  std::string code_generator;  ///< path of the library with LLVM in it
  std::string build_id;        ///< its linker's fingerprint; without one its kernels are not kept on disk
  std::string target;          ///< LLVM's name of the processor
  int vector_bits = 0;         ///< of the registers that kernels use
};
ANABRANCH_API CpuFacts cpu_facts();

/// Whether there is a GPU that kernels can be compiled for and run on. Opens the driver, NVRTC and the GPU, and loads an
/// empty kernel (up to some 100 ms the first time).
struct GpuFacts {
  bool available = false;
  std::string why_not;       ///< where it is not available: which library or device is missing
  std::string name;          ///< the first GPU's, which is the one that is used
  std::string architecture;  ///< "sm_90"
  int multiprocessors = 0;
  std::int64_t memory = 0;        ///< bytes of the GPU
  std::int64_t memory_free = 0;   ///< when it was opened
  std::string driver;             ///< the CUDA version that the driver is for: "13.0"
  std::string compiler;           ///< NVRTC's version
  std::string why_compiler;       ///< where it is not the NVRTC that is tried first: why that one is not used
  std::string why_no_primitives;  ///< where the device primitives cannot be used: the host does their part
};
ANABRANCH_API GpuFacts gpu_facts();

/// The cache of compiled kernels on disk, which the processes of one user share. ANABRANCH_CACHE=off switches
/// it off; ANABRANCH_CACHE_DIR is its folder, else $XDG_CACHE_HOME/anabranch, else ~/.cache/anabranch;
/// ANABRANCH_CACHE_SIZE (such as 64M) its bound. Looks into the folder, which is made where it is missing,
/// and tries to write there.
struct CacheFacts {
  bool available = false;
  std::string why_not;         ///< where it is not used: kernels are then kept by the process only
  std::string why_not_stored;  ///< where kernels are found, but none can be added
  std::string folder;
  std::int64_t kernels = 0;
  std::int64_t bytes = 0;
  std::int64_t bound = 0;  ///< bytes; beyond it, the kernels go that were not used for the longest time
};
ANABRANCH_API CacheFacts cache_facts();

}  // namespace anabranch
