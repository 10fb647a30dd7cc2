#pragma once

#include <memory>

#include "run/backends/device_run.h"
#include "run/chunks/backend.h"

/// One GPU: chunks go there and come back, several at a time.
namespace anabranch::runtime {

class ProgramKernels;

class CudaBackend final : public RunBackend {
 public:
  /// `memory_bound`: bytes of device memory that the run may hold; 0: nine tenths of what is free. `beside`: kernels are
  /// compiled while somebody else computes.
  CudaBackend(RunContext& context, ProgramKernels& kernels, std::shared_ptr<cuda::Device> device,
              std::int64_t memory_bound, bool beside);
  ~CudaBackend() override;

  std::string name() const override { return "cuda"; }
  BackendTraits traits() const override;
  const scheduler::Budget* device_memory() const override { return &run_->budget(); }
  /// Page-locked: copies to the GPU need no staging.
  ChunkMemory chunk_memory() override;
  void prepare() override;
  void take_inputs(std::span<const HostArray> inputs) override;
  std::shared_ptr<detail::Residence> keep(const HostArray& array) override;
  void compute_global(const plan::KernelStep& step, GlobalValues& values) override;
  bool rearrange_global(const plan::RearrangeStep& step, GlobalValues& values) override;
  void fetch(const HostArray& array) override;
  void written_by_host(const HostArray& array) override;
  std::unique_ptr<StageBackend> open_stage(const StageWork& work) override;
  void conclude(RunReport* report) override;

 private:
  void report_loads(RunReport& report) const;
  void report_overlap(RunReport* report);

  RunContext& context_;
  std::shared_ptr<cuda::Device> device_;
  ProgramKernels& kernels_;
  std::int64_t memory_bound_;
  bool beside_;
  cuda::LoadStatistics loads_before_;
  std::unique_ptr<DeviceRun> run_;  ///< once it is prepared
};

}  // namespace anabranch::runtime
