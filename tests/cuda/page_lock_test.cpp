#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "cuda/device.h"
#include "support/catch.h"
#include "support/gpu_host/fake_driver.h"

// What the driver tells of memory: a simulated one, or with ANABRANCH_TEST_GPU in the environment this machine's. What it does
// not tell to be page-locked is copied once more than it has to be.
namespace anabranch::test {
namespace {

constexpr std::int64_t MiB = 1 << 20;

/// Memory of the user's that can be page-locked, from a page on.
class Memory {
 public:
  explicit Memory(std::int64_t bytes)
      : data_(static_cast<std::byte*>(std::aligned_alloc(4096, static_cast<std::size_t>(bytes))), std::free) {
  }
  std::byte* data() const { return data_.get(); }

 private:
  std::unique_ptr<std::byte, void (*)(void*)> data_;
};

class Gpu {
 public:
  Gpu() {
    if (std::getenv("ANABRANCH_TEST_GPU") == nullptr) simulated_.emplace();
    device_ = cuda::Device::get();
    device_->make_current();
  }
  bool is_real() const { return !simulated_; }
  const std::shared_ptr<cuda::Device>& device() const { return device_; }
  bool is_page_locked(const void* memory, std::int64_t bytes) const {
    return device_->is_page_locked(memory, bytes);
  }

  void page_lock(std::byte* memory, std::int64_t bytes) {
    const auto size = static_cast<std::size_t>(bytes);
    if (!is_real()) return fake().page_lock(memory, size);
    REQUIRE(driver<int(void*, std::size_t, unsigned)>("cuMemHostRegister_v2")(memory, size, 0) == 0);
  }
  /// The simulated driver cannot.
  void unlock(std::byte* memory) { REQUIRE(driver<int(void*)>("cuMemHostUnregister")(memory) == 0); }

 private:
  static gpu_host::FakeGpu& fake() { return gpu_host::fake_gpu(); }
  template <class F>
  static F* driver(const char* name) {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr);
    auto* const function = reinterpret_cast<F*>(::dlsym(library, name));
    REQUIRE(function != nullptr);
    return function;
  }
  std::optional<gpu_host::WithFakeGpu> simulated_;
  std::shared_ptr<cuda::Device> device_;
};

}  // namespace

TEST_CASE("memory that the driver allocated is page-locked, other memory is not") {
  const Gpu gpu;
  const cuda::PinnedBlock block(gpu.device(), 5 * MiB + 3);
  CHECK(gpu.is_page_locked(block.data(), 5 * MiB + 3));
  CHECK(gpu.is_page_locked(block.data() + 7, 1));
  CHECK(gpu.is_page_locked(block.data() + 4 * MiB, MiB + 3));

  const std::vector<double> vector(1 << 20);
  const Memory pages(MiB);
  const std::int64_t number = 0;
  const cuda::DeviceBlock on_gpu = gpu.device()->allocate(MiB);
  CHECK_FALSE(gpu.is_page_locked(vector.data(), 8 * MiB));
  CHECK_FALSE(gpu.is_page_locked(vector.data() + 1000, 8));
  CHECK_FALSE(gpu.is_page_locked(pages.data(), MiB));
  CHECK_FALSE(gpu.is_page_locked(&number, sizeof number));
  CHECK_FALSE(gpu.is_page_locked(reinterpret_cast<const void*>(on_gpu.address()), MiB));
}

TEST_CASE("memory that its owner has page-locked is page-locked, but not that of two ranges") {
  Gpu gpu;
  const Memory memory(16 * MiB);
  CHECK_FALSE(gpu.is_page_locked(memory.data(), 8 * MiB));
  gpu.page_lock(memory.data(), 4 * MiB);
  gpu.page_lock(memory.data() + 4 * MiB, 4 * MiB);
  CHECK(gpu.is_page_locked(memory.data(), 4 * MiB));
  CHECK(gpu.is_page_locked(memory.data() + 4 * MiB, 4 * MiB));
  CHECK(gpu.is_page_locked(memory.data() + MiB + 5, 3 * MiB - 5));
  CHECK_FALSE(gpu.is_page_locked(memory.data() + MiB + 5, 6 * MiB));
  CHECK_FALSE(gpu.is_page_locked(memory.data(), 8 * MiB));
  CHECK_FALSE(gpu.is_page_locked(memory.data() + 4 * MiB, 8 * MiB));
  CHECK_FALSE(gpu.is_page_locked(memory.data() + 12 * MiB, MiB));
  if (!gpu.is_real()) return;
  gpu.unlock(memory.data());
  CHECK_FALSE(gpu.is_page_locked(memory.data(), 4 * MiB));
  gpu.unlock(memory.data() + 4 * MiB);
  CHECK_FALSE(gpu.is_page_locked(memory.data(), 8 * MiB));
}

}  // namespace anabranch::test
