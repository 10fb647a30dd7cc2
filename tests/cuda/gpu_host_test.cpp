#include "support/gpu_host/executor.h"

#include <array>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "support/catch.h"

using namespace anabranch::gpu_host;

namespace {

template <class T>
std::uint64_t word(T* at) {
  return reinterpret_cast<std::uint64_t>(at);
}

std::string message_of(const HostModule& module, const std::string& entry, Dim grid, Dim block,
                       std::vector<std::uint64_t> words, std::uint64_t seed) {
  try {
    module.launch(entry, grid, block, words, seed);
  } catch (const HostError& e) {
    return e.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const char* const reduce_text = R"(
#include "sum.cuh"
struct Words { const double* from; double* to; long long n; };
extern "C" __global__ void __launch_bounds__(128) reduce(Words w) {
  __shared__ double partial[4];
  double sum = 0;
  for (long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x; k < w.n; k += gridDim.x * (long long)blockDim.x)
    sum += __ldg(w.from + k);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) w.to[blockIdx.x] = partial[0] + partial[1] + partial[2] + partial[3];
}
extern "C" __global__ void without_barrier(Words w) {
  __shared__ double partial[128];
  partial[threadIdx.x] = threadIdx.x;
  w.to[threadIdx.x] = partial[127 - threadIdx.x];
}
)";
const std::vector<HeaderText> sum_header = {{"sum.cuh", R"(
__device__ __forceinline__ double warp_sum(double x) {
  for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xffffffffu, x, d);
  return x;
}
)"}};

}  // namespace

TEST_CASE("a reduce kernel runs on the host, in any order of threads and blocks") {
  const HostModule module(reduce_text, sum_header, {.sanitize = true});
  CHECK(module.entries() == std::vector<std::string>{"reduce", "without_barrier"});
  CHECK(module.parameter_bytes("reduce") == 24);
  std::vector<double> from(10000);
  std::iota(from.begin(), from.end(), 1.0);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> to(7, -1.0);
    const std::vector<std::uint64_t> words{word(from.data()), word(to.data()), from.size()};
    module.launch("reduce", 7, 128, words, seed, seed % 3 == 0 ? 3 : 1);
    CHECK(std::accumulate(to.begin(), to.end(), 0.0) == 10000.0 * 10001 / 2);
  }
  const int before = compiled_texts();
  const HostModule again(reduce_text, sum_header, {.sanitize = true});
  CHECK(compiled_texts() == before);
}

TEST_CASE("a missing barrier shows under some seed") {
  const HostModule module(reduce_text, sum_header, {.sanitize = true});
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<double> to(128, -1.0);
    const std::vector<std::uint64_t> words{0, word(to.data()), 0};
    module.launch("without_barrier", 1, 128, words, seed);
    for (std::size_t t = 0; t < 128; ++t) wrong += !(to[t] == 127.0 - static_cast<double>(t));
  }
  CHECK(wrong > 0);
}

TEST_CASE("parameters, entries and sizes are checked") {
  const HostModule module(reduce_text, sum_header);
  CHECK(contains(message_of(module, "reduce", 1, 128, {0, 0}, 0), "takes 24 bytes"));
  CHECK(contains(message_of(module, "other", 1, 128, {}, 0), "no entry other"));
  CHECK(contains(message_of(module, "reduce", 1, 2048, {0, 0, 0}, 0), "2048 threads"));
  CHECK(contains(message_of(module, "reduce", 0, 128, {0, 0, 0}, 0), "0 blocks"));
  CHECK_THROWS_WITH(HostModule("extern \"C\" __global__ void f(int n) { undeclared = n; }", {}),
                    Catch::Matchers::Contains("undeclared"));
}

TEST_CASE("barriers and warp primitives that not all threads reach are errors") {
  const HostModule module(R"(
extern "C" __global__ void some(int n) {
  if (threadIdx.x < n) __syncthreads();
}
extern "C" __global__ void both() {
  if (threadIdx.x < 16)
    __syncthreads();
  else
    __syncthreads();
}
extern "C" __global__ void loop(int n) {
  for (int k = 0; k < (threadIdx.x == 5 ? n : 3); ++k) __syncthreads();
}
extern "C" __global__ void shuffle() {
  if (threadIdx.x % 2) __shfl_sync(0xffffffffu, 1, 0);
}
extern "C" __global__ void mask() { __shfl_sync(1u, 1, 0); }
extern "C" __global__ void trap() {
  if (blockIdx.x == 2 && threadIdx.x == 7) __trap();
  __syncthreads();
}
extern "C" __global__ void asserts() { assert(threadIdx.x < 3); }
)",
                          {});
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    CHECK(contains(message_of(module, "some", 3, 64, {16}, seed),
                   "barrier divergence: threads 0-15 at __syncthreads"));
    CHECK(contains(message_of(module, "some", 3, 64, {16}, seed), "threads 16-63 ended"));
    CHECK(message_of(module, "some", 3, 64, {64}, seed).empty());
    CHECK(message_of(module, "some", 3, 64, {0}, seed).empty());
    CHECK(contains(message_of(module, "both", 1, 32, {}, seed), "entry both, block 0: different barriers"));
    CHECK(contains(message_of(module, "loop", 1, 32, {4}, seed), "thread 5 at __syncthreads"));
    CHECK(message_of(module, "loop", 1, 32, {3}, seed).empty());
    CHECK(contains(message_of(module, "shuffle", 1, 32, {}, seed), "at __shfl_sync of 0xffffffff"));
    CHECK(contains(message_of(module, "mask", 1, 32, {}, seed), "mask without itself"));
    CHECK(contains(message_of(module, "trap", 4, 32, {}, seed), "block 2: thread 7: __trap"));
    CHECK(contains(message_of(module, "asserts", 1, 32, {}, seed), "assertion failed: threadIdx.x < 3"));
  }
}

TEST_CASE("warp primitives give what a GPU gives") {
  const HostModule module(R"(
struct Words { long long* out; };
extern "C" __global__ void primitives(Words w) {
  const int t = threadIdx.x;
  long long* out = w.out + 16 * t;
  out[0] = __shfl_sync(0xffffffffu, (long long)t << 40, 3);
  out[1] = __shfl_up_sync(0xffffffffu, t, 1, 8);
  out[2] = __shfl_down_sync(0xffffffffu, t, 2, 8);
  out[3] = __shfl_xor_sync(0xffffffffu, t, 16);
  out[4] = __ballot_sync(0xffffffffu, t % 3 == 0);
  out[5] = __any_sync(0xffffffffu, t == 40);
  out[6] = __all_sync(0xffffffffu, t < 32);
  out[7] = (long long)(2 * __shfl_sync(0xffffffffu, 0.5 * t, 31));
  out[8] = __shfl_sync(0xffffffffu, 1.5f * t, t + 1, 4) == 1.5f * (t / 4 * 4 + (t + 1) % 4);
  if (t % 32 < 4) out[9] = __shfl_xor_sync(0xfu, t, 1);
  __syncwarp();
  out[10] = __syncthreads_or(t == 63);
  out[11] = __syncthreads_and(t < 63);
  out[12] = __syncthreads_count(t % 2);
  __syncwarp(0xffffffffu);
}
)",
                          {}, {.sanitize = true});
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::vector<std::int64_t> out(64 * 16, -1);
    module.launch("primitives", 1, 64, std::array{word(out.data())}, seed);
    for (std::int64_t t = 0; t < 64; ++t) {
      const auto* o = &out[static_cast<std::size_t>(16 * t)];
      const std::int64_t base = t / 32 * 32;
      CHECK(o[0] == (base + 3) << 40);
      CHECK(o[1] == (t % 8 == 0 ? t : t - 1));
      CHECK(o[2] == (t % 8 >= 6 ? t : t + 2));
      CHECK(o[3] == (t ^ 16));
      std::int64_t ballot = 0;
      for (int l = 0; l < 32; ++l) ballot |= std::int64_t{(base + l) % 3 == 0} << l;
      CHECK(o[4] == ballot);
      CHECK(o[5] == (base == 32));
      CHECK(o[6] == (base == 0));
      CHECK(o[7] == base + 31);
      CHECK(o[8] == 1);
      CHECK(o[9] == (t % 32 < 4 ? t ^ 1 : -1));
      CHECK(o[10] == 1);
      CHECK(o[11] == 0);
      CHECK(o[12] == 32);
    }
  }
}

TEST_CASE("atomics count across blocks on several OS threads") {
  const HostModule module(R"(
struct Words { unsigned long long* sum; int* last; double* total; unsigned* seen; float* most; };
extern "C" __global__ void count(Words w) {
  __shared__ int here;
  if (threadIdx.x == 0) here = 0;
  __syncthreads();
  atomicAdd(&here, 1);
  atomicAdd(w.sum, 1);
  atomicAdd(w.total, 0.5);
  atomicMax(w.last, (int)(blockIdx.x * blockDim.x + threadIdx.x));
  atomicMax(w.most, 0.25f * threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    if (here == blockDim.x) atomicCAS(w.seen + blockIdx.x, 7u, 8u);
  }
}
)",
                          {});
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    std::uint64_t sum = 0;
    int last = -1;
    double total = 0;
    std::vector<unsigned> seen(50, 7);
    float most = -1;
    module.launch("count", 50, 96,
                  std::array{word(&sum), word(&last), word(&total), word(seen.data()), word(&most)}, seed, 4);
    CHECK(sum == 4800);
    CHECK(last == 4799);
    CHECK(total == 2400);
    CHECK(seen == std::vector<unsigned>(50, 8));
    CHECK(most == 23.75f);
  }
}

TEST_CASE("grids and blocks of several dimensions, bits and conversions") {
  const HostModule module(R"(
extern "C" __global__ void __launch_bounds__(64, 2) numbers(long long* out, int n) {
  const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  if (b == n) out[t] = b * 100 + t;
  if (b != n || t) return;
  out += 100;
  out[0] = __popc(0xf0f0u); out[1] = __ffs(8); out[2] = __clz(1); out[3] = __clzll(1); out[4] = __ffsll(0);
  out[5] = __fma_rn(3.0, 4.0, 5.0) == 17; out[6] = __double2ll_rz(1e300); out[7] = __double2ll_rz(-1e300);
  out[8] = __double2int_rz(-2.9); out[9] = min(3, 4ll); out[10] = max(2.0, 1.0) == 2; out[11] = __clz(0);
  out[12] = __longlong_as_double(__double_as_longlong(1.25)) == 1.25; out[13] = __brev(1u);
  out[14] = __double2int_rz(0.0 / 0.0); out[15] = __umul64hi(1ull << 63, 4);
}
)",
                          {}, {.sanitize = true});
  std::vector<std::int64_t> out(116, -1);
  const std::vector<std::uint64_t> words{word(out.data()), 11};
  module.launch("numbers", {2, 3, 2}, {2, 2, 3}, words, 3);
  for (std::int64_t t = 0; t < 12; ++t) CHECK(out[static_cast<std::size_t>(t)] == 1100 + t);
  const std::vector<std::int64_t> expected{8,  4, 31, 63, 0, 1,         INT64_MAX, INT64_MIN,
                                           -2, 3, 1,  32, 1, 1ll << 31, 0,         2};
  CHECK(std::vector(out.begin() + 100, out.end()) == expected);
}
