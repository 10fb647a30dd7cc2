#pragma once

#include <functional>
#include <vector>

#include "run/chunk_geometry.h"
#include "run/execute.h"

/// Chunks on the CPU.
namespace anabranch::runtime {

/// How many bytes the processor's caches keep from one pass over them to the next.
std::int64_t bytes_in_caches();

/// Launches one kernel with these buffers and scalars on the
/// run's executor. `from_memory`: what it reads is in no cache.
/// `first_item`: of the chunk, in the stream, or ir::no_item.
void launch_kernel(RunContext& context, const kernel::Kernel& kernel, const std::vector<void*>& buffers,
                   const std::vector<std::int64_t>& scalars, std::int64_t items, bool from_memory,
                   std::int64_t first_item);

/// The arrays of one chunk while its group is executed.
class ChunkRun final : public ChunkGeometry {
 public:
  /// `from_memory`: what chunks hold is in no cache.
  ChunkRun(RunContext& context, const plan::StagePlan& stage, GlobalValues& global,
           const std::vector<std::int64_t>& uniforms, bool from_memory);
  ~ChunkRun() override;

  /// Executes the group on these items. `result(r, elements)` gives the addresses for stage result r.
  using ResultRoom = std::function<std::vector<void*>(int result, std::int64_t elements)>;
  void execute(const std::vector<SourceChunk>& chunks, const std::vector<std::vector<ArrayInfo>>& infos,
               const ResultRoom& result);
  void release();

 private:
  void bind_arrays();
  void allocate(int array, const ResultRoom& result);
  void run_kernel(const plan::KernelStep& step, const ResultRoom& result);
  void free_after(int step);
  const std::int64_t* values(int array) const override {
    return static_cast<const std::int64_t*>(arrays_[static_cast<std::size_t>(array)][0]);
  }

  RunContext& context_;
  GlobalValues& global_;
  bool from_memory_;
  std::vector<std::vector<void*>> arrays_;     ///< component addresses, biased
  std::vector<std::vector<void*>> blocks_of_;  ///< per array: what to give back
};

}  // namespace anabranch::runtime
