#include <numeric>
#include <string>
#include <vector>

#include "cuda/unit.h"
#include "support/catch.h"
#include "support/gpu_host/executor.h"
#include "tests/cpu/support/map_kernels.h"

// How positions find their items (kernels/cuda/items.cuh): together, not each by a search of its own.
using namespace anabranch;
using namespace anabranch::test;

namespace {

/// Counts how often the beginning of an item is read.
const char* const counting_text = R"(
#include "items.cuh"
using namespace anabranch;
struct Words { const i64* offsets; i64* item_of; u64* reads; i64 items; i64 positions; };
struct Counted {
  Words w;
  ANABRANCH_DEVICE i64 start(i64 item) const {
    atomicAdd(reinterpret_cast<unsigned long long*>(w.reads), 1ull);
    return w.offsets[item];
  }
};
constexpr int size = 1024;
extern "C" __global__ void __launch_bounds__(256) find(Words w) {
  __shared__ ItemTile<size> tile;
  const Counted k{w};
  for (i64 begin = static_cast<i64>(blockIdx.x) * size; begin < w.positions; begin += static_cast<i64>(gridDim.x) * size) {
    const i32 count = static_cast<i32>(lesser(size, w.positions - begin));
    find_items(tile, k, w.items, begin, count);
    for (i32 at = static_cast<i32>(threadIdx.x); at < count; at += static_cast<i32>(blockDim.x))
      w.item_of[begin + at] = tile.first + tile.number[at];
    __syncthreads();
  }
}
)";

template <class T>
std::uint64_t word(T* at) {
  return reinterpret_cast<std::uint64_t>(at);
}

}  // namespace

TEST_CASE("cuda: the elements of a chunk do not search their items one by one") {
  std::vector<gpu_host::HeaderText> texts;
  for (const auto& header : cuda::headers()) texts.emplace_back(header.name, header.text);
  const gpu_host::HostModule module(counting_text, texts);
  for (const auto& [items, longest] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{3000, 14}, {10'000, 3}, {40, 1500}, {2, 30'000}}) {
    std::vector<std::int64_t> offsets{0}, expected;
    for (std::int64_t i = 0; i < items; ++i) {
      offsets.push_back(offsets.back() + (i * 7 + 1) % longest);
      expected.resize(static_cast<std::size_t>(offsets.back()), i);
    }
    const auto positions = static_cast<std::uint64_t>(offsets.back());
    std::vector<std::int64_t> found(expected.size(), -1);
    std::uint64_t reads = 0;
    const std::vector<std::uint64_t> words{word(offsets.data()), word(found.data()), word(&reads),
                                           static_cast<std::uint64_t>(items), positions};
    module.launch("find", 3, 256, words, 5);
    CHECK(found == expected);
    // Two searches a tile, each of up to three probes of 31 items, and each item twice, once more where it goes on from tile to
    // tile.
    const std::uint64_t tiles = (positions + 1023) / 1024;
    INFO(items << " items, " << positions << " positions, " << reads << " reads");
    CHECK(reads <= 2 * static_cast<std::uint64_t>(items) + tiles * (2 * 3 * 31 + 2));
    CHECK(reads > 0);
  }
}

TEST_CASE("cuda: maps over items of different sizes find them so, or do not ask") {
  Ragged r({3, 0, 5, 1});
  r.segmented_output(ScalarType::float64);
  const ir::Ref i = r.k.kernel().index[0];
  const ir::Ref value = ir::index(r.values, i, {}, true);
  r.k.kernel().body = {plus(value, ir::cast(ScalarType::float64, i))};
  CHECK_THAT(cuda::generate(r.k.kernel()).source, Catch::Contains("map_segments<anabranch::Kernel>(args)"));
  r.k.kernel().body = {plus(value, ir::literal(1.0))};  // the same for all items
  const std::string text = cuda::generate(r.k.kernel()).source;
  CHECK_THAT(text, !Catch::Contains("map_segments") && !Catch::Contains("search_item"));
}
