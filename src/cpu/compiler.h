#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "cpu/loader.h"
#include "kernel/kernel.h"

/// From kernels to machine code, once per kernel: what was compiled is kept by the process, and on disk.
namespace anabranch::cpu {

struct CompileStatistics {
  double emit_ms = 0;              ///< plan to LLVM IR
  double optimise_ms = 0;          ///< LLVM's passes
  double generate_ms = 0;          ///< machine code
  double total_ms = 0;             ///< all of it, with linking and loading
  std::uint64_t instructions = 0;  ///< of LLVM IR, before the passes
};

struct CompileOptions {
  /// The image for rows of any length (cpu/abi.h), not that for short rows, which comes first. Where there is only one: no
  /// difference.
  bool any_rows = false;
  /// Code that fetches ahead what a gather that is known beforehand will read (kernel/known_gather.h).
  bool fetches_ahead = false;
  int lanes = 0;    ///< 0: as suits the kernel; 1: scalar code; else this vector width. For tests
  std::string cpu;  ///< empty: this machine. Else LLVM's name of a processor, whose code may not run here
  std::string features;       ///< with `cpu`
  std::string* ir = nullptr;  ///< receive texts where not null; such a kernel is compiled anew
  std::string* assembly = nullptr;
  /// Receives the texts as they are printed on standard error: at once, for LLVM may end the process.
  std::string* printed = nullptr;
};

class CompiledLater;

/// What of a kernel decides how its domain is cut, found once.
struct CutFacts {
  bool reads_across = false, reduces_across = false, reduces_tiles = false, scans_across = false;
  std::int64_t block = 0;  ///< positions that one thread computes; 0: any number
};
CutFacts cut_facts_of(const kernel::Kernel& kernel);

/// Of a gather that is known beforehand (kernel/known_gather.h): what tells whether it should be fetched ahead, found once.
struct GatherFacts {
  kernel::KernelExtent elements;   ///< of the array that is read
  std::int64_t element_bytes = 0;  ///< of its widest component
  int positions = -1;              ///< buffer slot
  ScalarType position_type = ScalarType::int32;
  int offsets = -1;  ///< buffer slot, of the rows of positions
  OffsetType offset_type = OffsetType::int32;
};
std::optional<GatherFacts> gather_facts_of(const kernel::Kernel& kernel);

/// Machine code of one kernel. Immutable; lives as long as it has an owner.
struct CompiledKernel {
  LoadedImage image;
  std::shared_ptr<CompiledLater> for_any_rows;  ///< not null: `image` is for short rows (cpu/abi.h)
  std::shared_ptr<CompiledLater> that_fetches;  ///< null: there is nothing to fetch ahead, or `image` does
  CutFacts cut_facts;
  std::optional<GatherFacts> gather_facts;
  CompileStatistics statistics;  ///< where it was compiled; else its total only
  bool from_disk = false;
  std::string printed;  ///< what ANABRANCH_DUMP asks for
};

struct CacheStatistics {
  std::int64_t hits = 0;       ///< this process knew the kernel
  std::int64_t from_disk = 0;  ///< an earlier one had compiled it
  std::int64_t compiled = 0;
  double load_ms = 0;     ///< of those from disk
  double compile_ms = 0;  ///< of those compiled
  double open_ms = 0;     ///< to open the code generator, once
};

/// The kernels of this process, by their canonical text (kernel::key_of). Thread-safe; a kernel that several
/// threads ask for at once is compiled by one of them while the others wait. Of very many the oldest are dropped.
///
/// A kernel that this process does not know is looked for on disk (cache/kernel_cache.h), by its text and
/// what else its code depends on: the code generator's build id, the processor. The code
/// generator is a library of its own, opened when the first kernel is in neither place. Throws
/// BackendUnavailable if it cannot be opened or does not fit, InternalError if it refuses a kernel.
///
/// With `llvm` or `asm` in ANABRANCH_DUMP (a list with commas) prints the kernel's name with its LLVM IR or
/// assembly on standard error, whether it was compiled now or before; such kernels are not looked for on
/// disk. The IR before the passes is printed before they run.
/// `counted`: how the kernel was found is added there, too.
std::shared_ptr<const CompiledKernel> compile(const kernel::Kernel& kernel,
                                              const CompileOptions& options = {},
                                              CacheStatistics* counted = nullptr);

/// Another image of a kernel, compiled when it is first asked for.
class CompiledLater {
 public:
  /// `find`: gives it by these options.
  using Find = std::shared_ptr<const CompiledKernel> (*)(const kernel::Kernel&, const CompileOptions&,
                                                         CacheStatistics*);
  CompiledLater(kernel::Kernel kernel, CompileOptions options, Find find)
      : kernel_(std::move(kernel)), options_(std::move(options)), find_(find) {}
  /// Thread-safe; of threads that ask at once one compiles. How it was found is added to `counted`. Throws what `compile`
  /// throws, each time.
  const CompiledKernel& get(CacheStatistics* counted);
  /// Null: nobody has asked for it.
  const CompiledKernel* known() const { return known_.load(std::memory_order_acquire); }

 private:
  const kernel::Kernel kernel_;
  const CompileOptions options_;
  const Find find_;
  std::mutex mutex_;
  std::shared_ptr<const CompiledKernel> compiled_;
  std::atomic<const CompiledKernel*> known_ = nullptr;
};

CacheStatistics cache_statistics();
/// Drops all kernels: those that are in use live on with who uses them. Those on disk stay.
void clear_cache();

/// Compiles without looking into any cache: the image.
std::string compile_image(const kernel::Kernel& kernel, const CompileOptions& options,
                          CompileStatistics* statistics = nullptr);

/// "cpu features" that code is generated for. Opens the code generator.
std::string machine_description();
/// Where the code generator is, if it can be opened; for `doctor`.
std::string code_generator_path();

}  // namespace anabranch::cpu
