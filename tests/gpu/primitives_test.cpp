#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "device/support/calls.h"
#include "device/support/random_call.h"
#include "gpu/on_gpu.h"

// The device primitives beside the host's, bit for bit.
namespace anabranch::testing {
namespace {

using namespace anabranch::device;
using anabranch::test::RandomCall;

/// The driver's memory, in the primary context.
class Gpu {
 public:
  static Gpu& get() {
    static Gpu gpu;
    return gpu;
  }
  std::shared_ptr<void> allocate(std::size_t bytes) {
    std::uint64_t address = 0;
    check(call<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2")(&address, bytes + 256));
    return {reinterpret_cast<void*>(address), [this](void* p) {
              call<int(std::uint64_t)>("cuMemFree_v2")(reinterpret_cast<std::uint64_t>(p));
            }};
  }
  void upload(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    check(call<int(std::uint64_t, const void*, std::size_t)>("cuMemcpyHtoD_v2")(
        reinterpret_cast<std::uint64_t>(to), from, bytes));
  }
  void download(void* to, const void* from, std::size_t bytes) {
    check(call<int()>("cuCtxSynchronize")());
    if (bytes == 0) return;
    check(call<int(void*, std::uint64_t, std::size_t)>("cuMemcpyDtoH_v2")(
        to, reinterpret_cast<std::uint64_t>(from), bytes));
  }

 private:
  Gpu() {
    library_ = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (!library_) throw std::runtime_error(::dlerror());
    check(call<int(unsigned)>("cuInit")(0));
    void* context = nullptr;
    check(call<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, 0));
    check(call<int(void*)>("cuCtxSetCurrent")(context));
  }
  template <class F>
  F* call(const char* name) {
    auto* function = reinterpret_cast<F*>(::dlsym(library_, name));
    if (!function) throw std::runtime_error(std::string("libcuda lacks ") + name);
    return function;
  }
  static void check(int result) {
    if (result != 0) throw std::runtime_error("driver error " + std::to_string(result));
  }
  void* library_ = nullptr;
};

/// A vector and its copy on the GPU.
template <class T>
struct Mirrored {
  std::vector<T> host;
  std::shared_ptr<void> device;

  explicit Mirrored(std::vector<T> v) : host(std::move(v)), device(Gpu::get().allocate(bytes())) {
    Gpu::get().upload(device.get(), host.data(), bytes());
  }
  Mirrored(std::int64_t n, T value) : Mirrored(std::vector<T>(static_cast<std::size_t>(n), value)) {}
  std::size_t bytes() const { return host.size() * sizeof(T); }
  T* at(bool on_device) { return on_device ? static_cast<T*>(device.get()) : host.data(); }
  bool agrees() {
    std::vector<T> found(host.size());
    Gpu::get().download(found.data(), device.get(), bytes());
    return std::memcmp(found.data(), host.data(), bytes()) == 0;
  }
};

/// `make(true)` is the call on the GPU's memory, `make(false)` on the host's.
template <class Make>
void both(const Make& make) {
  anabranch::test::perform(Primitives::host(), make(false));
  const Primitives gpu = Primitives::open();
  Temporary temporary{};
  const auto what = make(true);
  gpu.run(what, temporary);
  const auto storage = Gpu::get().allocate(temporary.bytes);
  temporary.at = storage.get();
  gpu.run(what, temporary);
}

constexpr std::int64_t sizes[] = {0, 1, 31, 1000, 100'003, 3'000'000};

}  // namespace

TEST_CASE("offsets of items on the GPU") {
  if (!have_gpu()) return;
  for (const std::int64_t n : sizes)
    for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX}) {
      INFO(n << " items, one of " << bad);
      std::vector<std::int64_t> some(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < some.size(); ++i) some[i] = static_cast<std::int64_t>(i % 97 * i % 11);
      Mirrored<std::int64_t> rows(some);
      if (n > 0) some[some.size() / 3 * 2] = bad;
      Mirrored<std::int64_t> columns(some), offsets(n + 1, -1);
      Mirrored<ItemTotals> totals(1, ItemTotals{-1, -1});
      for (const std::int32_t rank : {0, 1, 3}) {
        both([&](bool d) {
          return ItemOffsets{
              {{columns.at(d), 0}, {nullptr, 3}, {rows.at(d), 0}}, rank, n, offsets.at(d), totals.at(d)};
        });
        CHECK(totals.agrees());
        CHECK(offsets.agrees());
      }
    }
}

TEST_CASE("rearrangements on the GPU") {
  if (!have_gpu()) return;
  using What = RandomCall::What;
  const auto what =
      GENERATE(What::sort, What::select, What::group, What::last_at, What::accumulate, What::repeat);
  std::mt19937_64 random(23 + static_cast<unsigned>(what));
  for (int k = 0; k < 60; ++k) {
    INFO("operation " << static_cast<int>(what) << ", call " << k);
    RandomCall call(what, random, k % 10 == 0 ? 5'000'000 : k % 2 == 0 ? 100'000 : 700);
    std::vector<Mirrored<std::byte>> mirrored;
    for (const auto& piece : call.pieces) mirrored.emplace_back(piece);
    both([&](bool d) { return call.operation([&, d](RandomCall::Piece p) { return mirrored[p].at(d); }); });
    for (std::size_t p = 0; p < mirrored.size(); ++p) {
      INFO("piece " << p);
      if (p != call.failure) CHECK(mirrored[p].agrees());
    }
    // Not byte for byte: between its members nothing is written.
    Failure expected{}, found{};
    std::memcpy(&expected, mirrored[call.failure].at(false), sizeof expected);
    Gpu::get().download(&found, mirrored[call.failure].at(true), sizeof found);
    if (what == What::sort) continue;
    CHECK(found.what == expected.what);
    CHECK(found.part == expected.part);
    CHECK(found.value == expected.value);
    CHECK(found.bound == expected.bound);
  }
}

}  // namespace anabranch::testing
