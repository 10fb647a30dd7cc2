#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "io/base/block_store.h"
#include "io/sparse/entry.h"

/// The first half of the external bucket sort: entries go, in the order they come, into buckets of
/// consecutive rows (or of consecutive columns of one row), each a chain of blocks in one store.
namespace anabranch::io::detail {

/// The entries with first_row <= row < first_row + rows and first_col <= col < first_col + cols.
struct EntryRange {
  std::int64_t first_row = 0, rows = 0;
  std::int64_t first_col = 0, cols = 0;
};

/// Entries of one bucket.
struct Bucket {
  EntryRange range;
  std::int64_t count = 0;
  std::vector<std::int64_t> blocks;  ///< in the store
};

/// Entries put together by bucket, each bucket's in the order they came.
template <class E>
struct DealtEntries {
  std::vector<E> entries;          ///< room for so many, or more
  std::vector<std::int64_t> ends;  ///< of each bucket's
};

/// E: an Entry or a Link.
template <class E>
class EntryBuckets {
 public:
  /// About `wanted` buckets over the range, write buffers of `buffer_bytes` in all.
  EntryBuckets(BlockStore& store, const EntryRange& range, std::int64_t wanted, std::int64_t buffer_bytes);

  void add(const E& entry) {
    const std::size_t b = bucket_of(entry);
    Slot& slot = slots_[b];
    buffer_[b * static_cast<std::size_t>(block_entries_) + static_cast<std::size_t>(slot.used++)] = entry;
    if (slot.used == block_entries_) flush(b);
  }
  /// For `add`; changes nothing here, so that several threads may. each(f) calls f of all entries in order: it is called
  /// twice.
  template <class Each>
  void deal(Each each, DealtEntries<E>& out) const {
    out.ends.assign(slots_.size() + 1, 0);
    each([&](const E& entry) { ++out.ends[bucket_of(entry) + 1]; });
    std::partial_sum(out.ends.begin(), out.ends.end(), out.ends.begin());
    const auto count = static_cast<std::size_t>(out.ends.back());
    if (out.entries.size() < count) {
      out.entries = std::vector<E>();
      out.entries.resize(count);
    }
    // Now each is where its bucket begins, and becomes where it ends.
    each(
        [&](const E& entry) { out.entries[static_cast<std::size_t>(out.ends[bucket_of(entry)]++)] = entry; });
    out.ends.pop_back();
  }
  /// The same as each of them one by one.
  void add(const DealtEntries<E>& dealt);
  /// The buckets in order of their range. Ends the use of this object.
  std::vector<Bucket> finish();

  std::int64_t block_entries() const { return block_entries_; }

 private:
  struct Slot {
    std::int64_t used = 0;
    Bucket bucket;
  };
  std::size_t bucket_of(const E& entry) const {
    const std::int64_t key = by_row_ ? entry.row - range_.first_row : entry.col - range_.first_col;
    return static_cast<std::size_t>(key >> shift_);
  }
  void flush(std::size_t b);

  BlockStore& store_;
  EntryRange range_;
  bool by_row_;
  int shift_ = 0;
  std::int64_t block_entries_;
  std::vector<Slot> slots_;
  std::vector<E> buffer_;
};

/// Takes the next blocks of a bucket out, in the order its entries were added.
template <class E>
class BucketReader {
 public:
  BucketReader(BlockStore& store, const Bucket& bucket, std::int64_t block_entries)
      : store_(store), bucket_(bucket), block_entries_(block_entries), left_(bucket.count) {}

  /// Reads up to block_entries entries; 0 at the end.
  std::int64_t next(E* into) {
    const std::int64_t n = std::min(block_entries_, left_);
    if (n == 0) return 0;
    store_.take(bucket_.blocks[block_++], into, n * static_cast<std::int64_t>(sizeof(E)));
    left_ -= n;
    return n;
  }

 private:
  BlockStore& store_;
  const Bucket& bucket_;
  std::int64_t block_entries_;
  std::int64_t left_;
  std::size_t block_ = 0;
};

}  // namespace anabranch::io::detail
