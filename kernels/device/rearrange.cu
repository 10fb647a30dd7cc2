#include "device/calls.h"

namespace anabranch::device {
namespace {

constexpr unsigned threads = 256;
/// Counters that a block of threads has in shared memory, where many elements would wait for few counters of all.
constexpr std::int64_t few_counters = 4096;
constexpr unsigned counting_blocks = 1024;  ///< at most: each adds its counters to those of all

template <class F>
__global__ void __launch_bounds__(threads) do_each(std::int64_t n, F f) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i < n) f(i);
}

__device__ void add_to(std::int64_t* counter, unsigned long long more) {
  atomicAdd(reinterpret_cast<unsigned long long*>(counter), more);
}

template <class F>
struct CountEach {
  F f;
  std::int64_t* counts;
  __device__ void operator()(std::int64_t i) const {
    if (const std::int64_t at = f(i); at >= 0) add_to(counts + at, 1);
  }
};

/// No block has 2^32 elements.
template <class F>
__global__ void __launch_bounds__(threads) count_few(std::int64_t n, F f, std::int64_t* counts, int total) {
  __shared__ unsigned own[few_counters];
  for (int c = threadIdx.x; c < total; c += threads) own[c] = 0;
  __syncthreads();
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < n; i += step)
    if (const std::int64_t at = f(i); at >= 0) atomicAdd(own + at, 1u);
  __syncthreads();
  for (int c = threadIdx.x; c < total; c += threads)
    if (own[c] != 0) add_to(counts + c, own[c]);
}

template <class F, class Value, class W>
struct JoinEach {
  F f;
  Value value;
  Joining<W> how;
  W* to;
  __device__ void operator()(std::int64_t i) const {
    if (const std::int64_t at = f(i); at >= 0) how(to + at, value(i));
  }
};

/// Bytes of shared memory in which a block of threads joins for itself.
constexpr std::int64_t joined_in_shared = 16384;

template <class F, class Value, class W>
__global__ void __launch_bounds__(threads)
    join_few(std::int64_t n, F f, Value value, Joining<W> how, W* to, int total) {
  __shared__ W own[joined_in_shared / sizeof(W)];
  for (int c = threadIdx.x; c < total; c += threads) own[c] = how.neutral;
  __syncthreads();
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * threads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * threads + threadIdx.x; i < n; i += step)
    if (const std::int64_t at = f(i); at >= 0) how(own + at, value(i));
  __syncthreads();
  for (int c = threadIdx.x; c < total; c += threads)
    if (own[c] != how.neutral) how(to + c, own[c]);
}

template <class F>
struct StoreNumber {
  F f;
  std::int64_t* to;
  __device__ void operator()(std::int64_t i) const { to[i] = f(i); }
};

/// The steps of rearrange.h on a stream. After an error nothing more is done.
class Engine {
 public:
  /// `storage`: bytes of it that CUB's algorithms have: the most that one of them needs.
  Engine(const Temporary& temporary, std::size_t storage, cudaStream_t stream)
      : temporary_(temporary), stream_(stream), used_(padded(storage)) {}

  bool sizing() const { return !temporary_.at; }
  std::size_t most_storage() const { return most_storage_; }
  /// With so much storage.
  std::size_t used() const { return used_ + padded(most_storage_); }
  cudaError_t error() const { return error_; }

  template <class T>
  T* take(std::int64_t n) {
    return reinterpret_cast<T*>(take_bytes(static_cast<std::size_t>(n) * sizeof(T)));
  }

  template <class F>
  void each(std::int64_t n, const F& f) {
    if (!works() || n <= 0) return;
    do_each<<<static_cast<unsigned>((n + threads - 1) / threads), threads, 0, stream_>>>(n, f);
    error_ = cudaGetLastError();
  }

  template <class Key>
  void sort(Twice<Key>& keys, std::int64_t n, int bits) {
    with_storage([&](Storage& s) { return sort_keys(s, keys, n, bits, stream_); });
  }
  template <class Key>
  void sort(Twice<Key>& keys, Twice<std::uint32_t>& numbers, std::int64_t n, int bits) {
    with_storage([&](Storage& s) { return sort_pairs(s, keys, numbers, n, bits, stream_); });
  }
  template <class Key>
  void sort_parts(Twice<Key>& keys, Twice<std::uint32_t>& numbers, const Parts& parts) {
    with_storage([&](Storage& s) { return device::sort_parts(s, keys, numbers, parts, stream_); });
  }

  template <class F>
  void sum(std::int64_t n, const F& f, std::int64_t* sums) {
    each(1, Fill<std::int64_t>{sums, 0});
    each(n, StoreNumber<F>{f, sums + 1});
    with_storage([&](Storage& s) { return running_sums(s, sums + 1, n, stream_); });
  }

  void select(const std::uint8_t* mask, std::int64_t n, std::uint32_t* numbers, std::int64_t* count) {
    with_storage([&](Storage& s) { return select_numbers(s, mask, n, numbers, count, stream_); });
  }

  template <class F>
  void count(std::int64_t n, const F& f, std::int64_t* counts, std::int64_t total) {
    if (total > few_counters) return each(n, CountEach<F>{f, counts});
    if (!works() || n <= 0) return;
    count_few<<<blocks_of_few(n), threads, 0, stream_>>>(n, f, counts, static_cast<int>(total));
    error_ = cudaGetLastError();
  }

  template <class F, class Value, class W>
  void join(std::int64_t n, const F& f, const Value& value, const Joining<W>& how, W* to,
            std::int64_t total) {
    each(total, Fill<W>{to, how.neutral});
    if (total * static_cast<std::int64_t>(sizeof(W)) > joined_in_shared)
      return each(n, JoinEach<F, Value, W>{f, value, how, to});
    if (!works() || n <= 0) return;
    join_few<<<blocks_of_few(n), threads, 0, stream_>>>(n, f, value, how, to, static_cast<int>(total));
    error_ = cudaGetLastError();
  }

 private:
  /// Of kernels whose blocks of threads each have memory of their own for all places.
  static unsigned blocks_of_few(std::int64_t n) {
    return static_cast<unsigned>(smaller<std::int64_t>((n + threads - 1) / threads, counting_blocks));
  }
  bool works() const { return !sizing() && error_ == cudaSuccess; }

  static std::size_t padded(std::size_t bytes) {
    constexpr std::size_t alignment = 256;
    return (bytes + alignment - 1) / alignment * alignment;
  }
  std::byte* take_bytes(std::size_t bytes) {
    const std::size_t begin = used_;
    used_ += padded(bytes);
    return sizing() ? nullptr : static_cast<std::byte*>(temporary_.at) + begin;
  }

  template <class Call>
  void with_storage(Call&& call) {
    if (error_ != cudaSuccess) return;
    Storage storage{nullptr, 0};
    error_ = call(storage);
    if (error_ != cudaSuccess) return;
    // Steps come one after the other: all have the same storage, before what is taken.
    storage.bytes = larger<std::size_t>(storage.bytes, 1);
    most_storage_ = larger(most_storage_, storage.bytes);
    storage.at = temporary_.at;
    if (works()) error_ = call(storage);
  }

  Temporary temporary_;
  cudaStream_t stream_;
  std::size_t used_, most_storage_ = 0;
  cudaError_t error_ = cudaSuccess;
};

/// First for the storage alone: what does not fit in it is refused before anything is computed.
template <class What>
Status rearranged(const What* what, Temporary* temporary, Stream stream,
                  Status (*operation)(Engine&, const What&)) {
  Engine sizing({nullptr, 0}, 0, cuda(stream));
  if (const Status status = operation(sizing, *what); status != done) return status;
  if (sizing.error() != cudaSuccess) return static_cast<Status>(sizing.error());
  const std::size_t needed = larger<std::size_t>(sizing.used(), 1);
  if (!temporary->at) {
    temporary->bytes = needed;
    return done;
  }
  if (temporary->bytes < needed) return bad_argument;
  Engine engine(*temporary, sizing.most_storage(), cuda(stream));
  const Status status = operation(engine, *what);
  return status != done ? status : static_cast<Status>(engine.error());
}

}  // namespace

Status call_sort(const Sort* what, Temporary* temporary, Stream stream) {
  return rearranged<Sort>(what, temporary, stream, sort<Engine>);
}
Status call_select(const Select* what, Temporary* temporary, Stream stream) {
  return rearranged<Select>(what, temporary, stream, select<Engine>);
}
Status call_group(const Group* what, Temporary* temporary, Stream stream) {
  return rearranged<Group>(what, temporary, stream, group<Engine>);
}
Status call_last_at(const LastAt* what, Temporary* temporary, Stream stream) {
  return rearranged<LastAt>(what, temporary, stream, last_at<Engine>);
}
Status call_accumulate(const Accumulate* what, Temporary* temporary, Stream stream) {
  return rearranged<Accumulate>(what, temporary, stream, accumulate<Engine>);
}
Status call_repeat(const Repeat* what, Temporary* temporary, Stream stream) {
  return rearranged<Repeat>(what, temporary, stream, repeat<Engine>);
}

}  // namespace anabranch::device
