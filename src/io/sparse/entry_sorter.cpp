#include "io/sparse/entry_sorter.h"

#include <algorithm>
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

}  // namespace

SortMemory::SortMemory(std::int64_t total, int asked)
    : threads(reading_threads(asked)),
      buffers(total / 4),
      sorting(std::max<std::int64_t>(total / 2 / threads, 1)) {}

template <class E>
EntrySorter<E>::EntrySorter(BlockStore& store, const EntryRange& range, std::int64_t most,
                            const SortMemory& memory)
    : store_(store), memory_(memory), buckets_(store, range, buckets_for<E>(most), memory.buffers) {}

template <class E>
void EntrySorter<E>::finish(const Give& give, const Rounded& rounded) {
  give_ = give;
  rounded_ = rounded;
  Buckets buckets{{}, buckets_.block_entries()};
  buckets.list = buckets_.finish();
  sort(buckets, memory_.threads);
}

template <class E>
bool EntrySorter<E>::fits(const Bucket& bucket) const {
  return bucket.count <= memory_.sorting / (2 * entry_bytes<E>);
}

template <class E>
void EntrySorter<E>::sort(const Buckets& buckets, int threads) {
  struct State {
    const Bucket* bucket = nullptr;
    std::vector<E> entries, scratch;
    Sorted<E> sorted;
  };
  auto next = buckets.list.begin();
  run_ordered<State>(
      threads,
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
      },
      [&](State& s) {
        if (fits(*s.bucket)) {
          if (s.sorted.rounded && rounded_) rounded_(*s.sorted.rounded);
          give_({s.entries.data(), static_cast<std::size_t>(s.sorted.kept)});
          return;
        }
        s.entries = s.scratch = std::vector<E>();  // its share of memory goes to the parts
        split(*s.bucket, buckets.block_entries);
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
        if (joined) give_({&*joined, 1});
        joined = e;
      }
    if (joined) give_({&*joined, 1});
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
