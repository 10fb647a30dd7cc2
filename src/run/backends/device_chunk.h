#pragma once

#include <map>
#include <optional>
#include <vector>

#include "run/backends/device_run.h"
#include "run/backends/device_staging.h"
#include "run/chunks/backend.h"
#include "run/chunks/chunk_group.h"

/// Chunks on a GPU.
namespace anabranch::runtime {

/// Slot `slot` of the ring: a stream, page-locked staging memory, and the chunk that is in flight. Copies and
/// kernels of different slots overlap.
class DeviceChunk final : public ChunkGroup {
 public:
  /// `backend`: computes programs inside of chunks.
  DeviceChunk(DeviceRun& run, RunContext& context, RunBackend& backend, const StageWork& work, int slot);
  ~DeviceChunk() override;

  /// Puts the upload of these items on the stream, and keeps the items' memory until they are complete. Throws
  /// DeviceMemoryFull or BudgetExceeded, with all memory given back.
  void begin(const std::vector<SourceChunk>& chunks, const std::vector<std::vector<ArrayInfo>>& infos);
  /// The same with kernels and download. Where sizes depend on values it waits for those, and throws the RunError of a check
  /// that failed before such a wait.
  void finish();
  /// Waits until the results are on the host, frees the device memory, raises the first failed check. The results
  /// are valid until the next enqueue.
  PartResults complete();
  /// Waits for the stream and drops the results.
  void drop() noexcept;
  /// After complete() or drop(): gives staging memory back, that of the results only if they have been taken.
  void release_staging(bool results_too) {
    in_.release();
    if (results_too) out_.release();
  }
  /// Nothing is left to wait for.
  bool arrived() { return !busy_ || stream_.idle(); }

 private:
  struct Copy {
    cuda::Address to;
    const void* from;
    std::int64_t bytes;
  };

  cuda::Address hold(const char* what, std::int64_t bytes);
  cuda::Address add_component(std::size_t number, const char* what);
  void bind_source();
  void upload_later(cuda::Address to, const void* from, std::int64_t bytes);
  void upload();
  void run_step(const plan::KernelStep& step, std::size_t number) override;
  void run_step(const plan::OffsetsStep& step, std::size_t number) override;
  void run_step(const plan::RequireStep& step, std::size_t number) override;
  void run_step(const plan::RearrangeStep& step, std::size_t number) override;
  void run_step(const plan::NestedStep& step, std::size_t number) override;
  void give_back_after(std::size_t number) override;
  void bind_rows(const plan::KernelStep& step, const kernel::Row& row, cuda::Bindings& bindings);
  void forget() noexcept;
  PartResults results() const;
  cuda::Address offsets_of(int descriptor);
  const std::int64_t* wide_offsets_of(int descriptor);
  device::Parts device_parts(int array, bool rows, std::size_t steps);
  DevicePlacedArray placed(int array) const;
  void rearrange_on_device(const plan::RearrangeStep& step, std::size_t number,
                           const std::vector<DevicePlacedArray>& inputs);
  std::string why_not_on_device(const plan::RearrangeStep& step,
                                const std::vector<DevicePlacedArray>& inputs);
  void make_arrays(int output);
  void rearrange_on_host(const plan::RearrangeStep& step, std::size_t number);
  const std::int64_t* upload_computed(const std::vector<std::int64_t>& values);
  bool make_offsets_on_device(const plan::OffsetsStep& step, std::size_t steps);
  device::ItemOffsets::Extent device_extent(const plan::PlanExtent& dim, std::int64_t items);
  void fetch(int array, std::size_t steps);
  void fetch_sizes(int array, std::size_t steps);
  void wait_for_sizes(std::size_t steps);
  void raise_first(std::size_t steps);
  void fetch_offsets(const plan::PlanLayout& of);
  std::vector<int> sizes_of_results() const;
  void download();
  const std::int64_t* values(int array) const override;
  bool knows_values(int array) const override;

  DeviceRun& run_;
  RunContext& context_;
  RunBackend& backend_;
  GlobalValues& global_;
  DeviceStream stream_;
  UploadStaging in_;
  DownloadStaging out_;
  DevicePieces pieces_;
  std::vector<Copy> copies_;
  StreamMemory memory_;
  std::vector<std::vector<bool>> read_;  ///< per group array and component: whether it is uploaded
  std::vector<DeviceMemory> held_;       ///< until the chunk is done
  /// Per group array and component, while it lives; empty where no kernel reads the component, or another array has its
  /// memory now.
  std::vector<std::vector<DeviceMemory>> blocks_of_;
  std::vector<std::vector<cuda::Address>> arrays_;  ///< the same, biased
  std::vector<std::vector<cuda::Address>> item_extents_;
  std::map<int, cuda::Address> device_offsets_;      ///< per descriptor
  std::map<int, std::vector<std::int64_t>> host_;    ///< per array: values that sizes depend on
  std::map<int, const std::int64_t*> staged_sizes_;  ///< the same, downloaded with the results
  std::map<int, const std::int64_t*>
      wide_offsets_;                        ///< per descriptor whose offsets have 32 bits: in 64, on the GPU
  std::vector<cuda::ErrorRecord> records_;  ///< per step
  std::vector<device::Failure> failures_;   ///< per step, where there are rearrangements
  cuda::Address device_records_ = 0, device_failures_ = 0;
  std::vector<std::vector<std::byte*>> staged_;  ///< per stage result and component
  const std::byte* staged_records_ = nullptr;
  const std::byte* staged_failures_ = nullptr;
  bool busy_ = false;
};

}  // namespace anabranch::runtime
