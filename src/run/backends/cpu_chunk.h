#pragma once

#include <vector>

#include "run/chunks/backend.h"
#include "run/chunks/chunk_group.h"

/// Chunks on the CPU.
namespace anabranch::runtime {

class CpuBackend;

/// The arrays of one chunk while its group is executed.
class CpuChunk final : public ChunkGroup {
 public:
  CpuChunk(CpuBackend& backend, RunContext& context, const StageWork& work);
  ~CpuChunk() override;

  /// Executes the group on these items. Results are written into the room that the sink gives.
  void compute(const std::vector<SourceChunk>& chunks, const std::vector<std::vector<ArrayInfo>>& infos,
               StageOutput& results);
  /// Gives all intermediate arrays back, and lets the items go.
  void release();
  /// The most that intermediate arrays held at once, of the chunk that was computed last.
  std::int64_t array_bytes() const { return most_bytes_; }

 private:
  void run_step(const plan::KernelStep& step, std::size_t number) override;
  void run_step(const plan::OffsetsStep& step, std::size_t number) override;
  void run_step(const plan::RequireStep& step, std::size_t number) override;
  void run_step(const plan::RearrangeStep& step, std::size_t number) override;
  void run_step(const plan::NestedStep& step, std::size_t number) override;
  bool is_there(const plan::KernelStep& step) const;
  std::int64_t bytes_read(const plan::KernelStep& step) const;
  std::vector<void*> components_of(int array) const;
  void* biased(void* component, const plan::PlanArray& array, std::size_t c) const;
  void give_back_after(std::size_t number) override;
  void bind_items();
  void allocate(int array);
  void* taken_over(const plan::PlanArray& array, std::size_t component, std::int64_t bytes);
  void give_back(std::size_t array);
  const std::int64_t* values(int array) const override {
    return static_cast<const std::int64_t*>(arrays_[static_cast<std::size_t>(array)][0]);
  }

  CpuBackend& backend_;
  RunContext& context_;
  GlobalValues& global_;
  std::int64_t bytes_in_memory_;
  std::vector<int> viewed_;                 ///< global arrays of which items are parts
  StageOutput* results_ = nullptr;          ///< of the chunk that is computed
  std::vector<std::vector<void*>> arrays_;  ///< component addresses, biased
  std::vector<std::vector<void*>>
      blocks_of_;                       ///< per array: what to give back; null: another array has it now
  std::vector<std::int64_t> bytes_of_;  ///< of these blocks
  std::int64_t bytes_ = 0, most_bytes_ = 0;
  std::vector<HostArray> nested_;  ///< per array: what an inner program gave
};

}  // namespace anabranch::runtime
