#pragma once

#include <string>
#include <vector>

#include "run/execute.h"

/// One stage at run time: opens its bases, executes its chunk group for every chunk, collects results.
namespace anabranch {

/// Is this more than the processor's caches keep from one pass to the next?
bool outgrows_caches(std::int64_t bytes);

/// Launches one kernel with these buffers and scalars on the run's executor. `from_memory`: what it reads is
/// in no cache.
void launch_kernel(RunContext& context, const plan::Kernel& kernel, const std::vector<void*>& buffers,
                   const std::vector<std::int64_t>& scalars, std::int64_t items, bool from_memory);

/// Collects one result over all chunks: flat values and, where items differ in shape, their extents.
class ResultCollector {
 public:
  ResultCollector(RunContext& context, const plan::PlanArray& array, ir::Op terminal,
                  std::int64_t expected_elements);
  /// Addresses for `elements` more, one per component.
  std::vector<void*> room(std::int64_t elements);
  void commit(std::int64_t elements);
  /// tabulate: the extents of the items of a chunk, one vector per dimension (or one value, if uniform).
  void add_items(std::int64_t items, const std::vector<std::vector<std::int64_t>>& extents);
  HostArray finish();
  std::int64_t elements() const { return elements_; }

 private:
  HostArray finish_elements();
  HostArray finish_tabulate();

  const plan::PlanArray& array_;
  ir::Op terminal_;
  std::vector<GrowingBuffer> buffers_;
  scheduler::Reservation reservation_;
  std::int64_t elements_ = 0;
  std::int64_t items_ = 0;
  std::vector<std::vector<std::int64_t>>
      extents_;  ///< per dimension: one value while all agree, else one per item
};

/// The arrays of one chunk while its group is executed.
class ChunkRun {
 public:
  /// `from_memory`: chunks are views of more memory than the caches hold.
  ChunkRun(RunContext& context, const plan::StagePlan& stage, GlobalValues& global,
           const std::vector<std::int64_t>& uniforms, bool from_memory);
  ~ChunkRun();

  /// Executes the group on these items. `result(r, elements)` gives the addresses for stage result r.
  using ResultRoom = std::function<std::vector<void*>(int result, std::int64_t elements)>;
  void execute(const std::vector<SourceChunk>& chunks, const std::vector<std::vector<ArrayInfo>>& infos,
               const ResultRoom& result);
  /// After execute: elements of a group array, and the extents of its items in dimension d (one value if
  /// uniform).
  std::int64_t elements(int array) const;
  std::vector<std::int64_t> extents(int array, int dimension) const;
  void release();

 private:
  struct Offsets {
    const void* data = nullptr;
    OffsetType type = OffsetType::int64;
    std::vector<std::int64_t> own;  ///< computed ones
    std::int64_t first = 0;
  };
  void bind_items(const std::vector<SourceChunk>& chunks, const std::vector<std::vector<ArrayInfo>>& infos);
  void allocate(int array, const ResultRoom& result);
  void run_kernel(const plan::KernelStep& step, const ResultRoom& result);
  void run_scan(const plan::ScanStep& step);
  void run_require(const plan::RequireStep& step);
  std::int64_t dim(const plan::Dim& dim, std::int64_t item) const;
  void free_after(int step);

  RunContext& context_;
  const plan::StagePlan& stage_;
  GlobalValues& global_;
  bool from_memory_;
  plan::ChunkShape shape_;
  std::vector<std::vector<void*>> arrays_;      ///< component addresses, biased
  std::vector<void*> blocks_;                   ///< what to give back
  std::vector<std::vector<void*>> blocks_of_;   ///< per array
  std::vector<Offsets> offsets_;                ///< per descriptor
  std::vector<const ArrayChunk*> item_chunks_;  ///< per item array
  std::vector<const ArrayInfo*> item_infos_;
  std::vector<Offsets> item_offsets_;
};

/// A whole stage.
class StageRun {
 public:
  StageRun(RunContext& context, int stage, GlobalValues& global);
  /// Runs the stream to its end and gives the terminals' results.
  std::vector<HostArray> run();
  /// One chunk at a time, for streaming out: false at the end.
  bool next_chunk(std::vector<std::vector<HostArray>>& items);

 private:
  void compute(const std::vector<SourceChunk>& chunks);
  void compute_part(const std::vector<SourceChunk>& chunks, std::int64_t begin, std::int64_t end);

  RunContext& context_;
  const plan::StagePlan& stage_;
  GlobalValues& global_;
  std::vector<std::shared_ptr<SourceBase>> sources_;
  std::vector<SourcePass> passes_;  ///< over those of them that other runs could read too
  std::vector<std::vector<ArrayInfo>> infos_;
  std::unique_ptr<ZippedSources> zipped_;
  std::vector<std::int64_t> uniforms_;
  std::vector<std::unique_ptr<ResultCollector>> collectors_;  ///< per stage result
  std::unique_ptr<ChunkRun> chunk_;
  scheduler::Reservation resident_;
  std::vector<scheduler::Reservation> given_;  ///< streamed out: the chunk that is being read
};

}  // namespace anabranch
