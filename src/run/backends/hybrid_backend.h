#pragma once

#include <memory>

#include "run/chunks/backend.h"

/// Two back ends that share the chunks of a stage.
namespace anabranch::runtime {

/// A chunk goes to the device if that would begin with it now. Else the host computes its first items, so many as are
/// expected to be done before the device's queue runs dry (scheduler/dealer.h), and asks again.
/// An item that only the device has no room for goes to the host. Arrays of the global group are computed on the host.
class HybridBackend final : public RunBackend {
 public:
  /// `host` completes at once.
  HybridBackend(RunContext& context, std::unique_ptr<RunBackend> host, std::unique_ptr<RunBackend> device)
      : context_(context), host_(std::move(host)), device_(std::move(device)) {}

  std::string name() const override { return host_->name() + "+" + device_->name(); }
  BackendTraits traits() const override { return device_->traits(); }
  const scheduler::Budget* device_memory() const override { return device_->device_memory(); }
  ChunkMemory chunk_memory() override { return device_->chunk_memory(); }
  void prepare() override;
  void compute_global(const plan::KernelStep& step, GlobalValues& values) override {
    host_->compute_global(step, values);
    for (const int output : step.outputs) device_->written_by_host(values.place(output));
  }
  void written_by_host(const HostArray& array) override { device_->written_by_host(array); }
  std::unique_ptr<StageBackend> open_stage(const StageWork& work) override;
  void conclude(RunReport* report) override;

 private:
  RunContext& context_;
  std::unique_ptr<RunBackend> host_, device_;
};

}  // namespace anabranch::runtime
