#include "io/sparse/entry_sorter.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "io/base/ordered_workers.h"
#include "io/sparse/entry_sort.h"
#include "io/text/text_blocks.h"

namespace anabranch::io::detail {

namespace {

template <class E>
constexpr auto entry_bytes = static_cast<std::int64_t>(sizeof(E));

/// Buckets of some 2 MiB sort in the processor's cache.
template <class E>
std::int64_t buckets_for(std::int64_t entries) {
  return std::min<std::int64_t>(entries * entry_bytes<E> / (2 << 20) + 1, 1024);
}

/// So many threads work at the sums of columns at the same time.
constexpr std::size_t column_shares = 8;

/// Sixteen neighbours are one share's: what is written for them are two lines of the cache, which no other thread writes
/// to. A hash, as in many graphs low numbers have most links.
std::size_t share_of_column(std::int64_t column) {
  static_assert(column_shares == std::size_t{1} << 3);
  return static_cast<std::size_t>(static_cast<std::uint64_t>(column) / 16 * 0x9E3779B97F4A7C15U >> 61);
}

/// Where the shares end.
using ShareEnds = std::array<std::int64_t, column_shares>;

/// To `to` share by share, each in the order of the entries.
template <class E>
ShareEnds share_columns(std::span<const E> entries, E* to) {
  std::array<std::int64_t, column_shares + 1> next{};
  for (const E& e : entries) ++next[share_of_column(e.col) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (const E& e : entries) to[next[share_of_column(e.col)]++] = e;
  ShareEnds ends;
  std::copy_n(next.begin(), column_shares, ends.begin());
  return ends;
}

}  // namespace

SortMemory::SortMemory(std::int64_t total, int asked)
    : threads(reading_threads(asked, total)),
      buffers(total / 4),
      sorting(std::max<std::int64_t>(total / 2 / threads, 1)) {}

template <class E>
EntrySorter<E>::EntrySorter(BlockStore& store, const EntryRange& range, std::int64_t most,
                            const SortMemory& memory)
    : store_(store), memory_(memory), buckets_(store, range, buckets_for<E>(most), memory.buffers) {}

template <class E>
void EntrySorter<E>::finish(const Give& give, const Rounded& rounded, const OfColumns& of_columns) {
  give_ = give;
  rounded_ = rounded;
  of_columns_ = of_columns;
  Buckets buckets{{}, buckets_.block_entries()};
  buckets.list = buckets_.finish();
  sort(buckets, threads_for(memory_.threads, std::ssize(buckets.list)));
}

template <class E>
bool EntrySorter<E>::fits(const Bucket& bucket) const {
  return bucket.count <= memory_.sorting / (2 * entry_bytes<E>);
}

template <class E>
void EntrySorter<E>::give_whole(std::span<const E> entries) {
  give_(entries);
  if (of_columns_) of_columns_(entries);
}

template <class E>
void EntrySorter<E>::sort(const Buckets& buckets, int threads) {
  struct State {
    const Bucket* bucket = nullptr;
    std::vector<E> entries, scratch;
    Sorted<E> sorted;
    ShareEnds ends{};  ///< in `scratch`
  };
  auto next = buckets.list.begin();
  const auto kept = [](const State& s) {
    return std::span<const E>(s.entries.data(), static_cast<std::size_t>(s.sorted.kept));
  };
  // Two threads have enough to do beside the one that gives.
  const bool shares = of_columns_ && threads > 2;
  run_ordered_in_steps<State>(
      threads, shares ? 1 + static_cast<int>(column_shares) : 1,
      [&](State& s) {
        if (next == buckets.list.end()) return false;
        s.bucket = &*next++;
        return true;
      },
      [&](State& s) {
        if (!fits(*s.bucket)) return;
        const auto n = static_cast<std::size_t>(s.bucket->count);
        if (s.entries.size() < n) {
          s.entries = std::vector<E>();
          s.scratch = std::vector<E>();
          s.entries.resize(n);
          s.scratch.resize(n);
        }
        E* to = s.entries.data();
        BucketReader<E> reader(store_, *s.bucket, buckets.block_entries);
        while (const std::int64_t got = reader.next(to)) to += got;
        s.sorted = sort_and_join<E>({s.entries.data(), n}, {s.scratch.data(), n});
        if (shares) s.ends = share_columns(kept(s), s.scratch.data());
      },
      // What is split is given whole, columns and all.
      [&](const State& s) { return !fits(*s.bucket); },
      [&](State& s, int step) {
        if (!fits(*s.bucket)) {
          if (step > 0) return;
          s.entries = s.scratch = std::vector<E>();  // its share of memory goes to the parts
          split(*s.bucket, buckets.block_entries);
        } else if (step > 0) {
          const auto share = static_cast<std::size_t>(step - 1);
          const std::int64_t begin = share == 0 ? 0 : s.ends[share - 1];
          of_columns_({s.scratch.data() + begin, static_cast<std::size_t>(s.ends[share] - begin)});
        } else {
          if (s.sorted.rounded && rounded_) rounded_(*s.sorted.rounded);
          if (shares)
            give_(kept(s));
          else
            give_whole(kept(s));
        }
      });
}

template <class E>
void EntrySorter<E>::split(const Bucket& bucket, std::int64_t block_entries) {
  std::vector<E> block(static_cast<std::size_t>(block_entries));
  BucketReader<E> reader(store_, bucket, block_entries);
  if (bucket.range.rows == 1 && bucket.range.cols == 1) {
    std::optional<E> joined;
    while (const std::int64_t n = reader.next(block.data()))
      for (const E& e : std::span(block.data(), static_cast<std::size_t>(n))) {
        const Joined how = joined ? join(*joined, e) : Joined::not_at_all;
        if (how == Joined::rounded && rounded_) rounded_(e);
        if (how != Joined::not_at_all) continue;
        if (joined) give_whole({&*joined, 1});
        joined = e;
      }
    if (joined) give_whole({&*joined, 1});
    return;
  }
  Buckets parts;
  {
    const std::int64_t wanted = 4 * bucket.count * entry_bytes<E> / memory_.sorting + 2;
    EntryBuckets<E> buckets(store_, bucket.range, wanted, memory_.buffers);
    while (const std::int64_t n = reader.next(block.data()))
      for (const E& e : std::span(block.data(), static_cast<std::size_t>(n))) buckets.add(e);
    parts.block_entries = buckets.block_entries();
    parts.list = buckets.finish();
  }
  sort(parts, 1);
}

template class EntrySorter<Entry<std::int32_t>>;
template class EntrySorter<Entry<std::int64_t>>;
template class EntrySorter<Entry<std::int32_t, std::uint64_t>>;
template class EntrySorter<Entry<std::int64_t, std::uint64_t>>;
template class EntrySorter<Link<std::int32_t>>;
template class EntrySorter<Link<std::int64_t>>;

}  // namespace anabranch::io::detail
