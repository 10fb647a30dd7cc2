#pragma once

#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "cuda/kernel_code.h"
#include "tests/support/gpu_host/executor.h"

/// Where a kernel's launches run: on the host, or with
/// ANABRANCH_TEST_GPU in the environment on this machine's GPU.
namespace anabranch::test {

class Target {
 public:
  virtual ~Target() = default;
  /// The address under which the launches find this memory.
  virtual cuda::Address put(void* data, std::size_t bytes) = 0;
  virtual void launch(const cuda::Launch& launch, std::span<const std::uint64_t> words,
                      std::uint64_t seed) = 0;
  /// After it, what the launches wrote is where `put` took it from.
  virtual void finish() = 0;
};

class HostTarget final : public Target {
 public:
  explicit HostTarget(const cuda::Unit& unit)
      : entries_(unit.entries), module_(unit.source, texts(), {.entries = unit.entries}) {}
  cuda::Address put(void* data, std::size_t) override { return reinterpret_cast<cuda::Address>(data); }
  void launch(const cuda::Launch& launch, std::span<const std::uint64_t> words, std::uint64_t seed) override {
    module_.launch(entries_[static_cast<std::size_t>(launch.entry)], launch.grid, launch.block, words, seed);
  }
  void finish() override {}

 private:
  static std::vector<gpu_host::HeaderText> texts() {
    std::vector<gpu_host::HeaderText> out;
    for (const auto& header : cuda::headers()) out.emplace_back(header.name, header.text);
    return out;
  }
  std::vector<std::string> entries_;
  gpu_host::HostModule module_;
};

class GpuTarget final : public Target {
 public:
  explicit GpuTarget(const kernel::Kernel& kernel)
      : device_(cuda::Device::get()), code_(device_, kernel), stream_(device_) {}
  /// Lies to 16 bytes as it does on the host.
  cuda::Address put(void* data, std::size_t bytes) override {
    const auto size = static_cast<std::int64_t>(bytes);
    const cuda::Address shift = reinterpret_cast<cuda::Address>(data) % 16;
    memory_.push_back({data, size, device_->allocate(size + 16), 0});
    Memory& m = memory_.back();
    m.at = m.block.address() + shift;
    if (size > 0) stream_.upload(m.at, data, size);
    return m.at;
  }
  void launch(const cuda::Launch& launch, std::span<const std::uint64_t> words, std::uint64_t) override {
    stream_.launch(code_.function(launch.entry), launch.grid, launch.block, words);
  }
  void finish() override {
    for (const Memory& m : memory_)
      if (m.bytes > 0) stream_.download(m.host, m.at, m.bytes);
    stream_.synchronize();
  }

 private:
  struct Memory {
    void* host;
    std::int64_t bytes;
    cuda::DeviceBlock block;
    cuda::Address at;
  };
  std::shared_ptr<cuda::Device> device_;
  cuda::KernelCode code_;
  std::vector<Memory> memory_;
  cuda::Stream stream_;  // its end waits for the work on that memory
};

inline std::unique_ptr<Target> make_target(const kernel::Kernel& kernel) {
  if (std::getenv("ANABRANCH_TEST_GPU")) return std::make_unique<GpuTarget>(kernel);
  return std::make_unique<HostTarget>(cuda::generate(kernel));
}

}  // namespace anabranch::test
