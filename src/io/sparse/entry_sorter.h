#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "io/sparse/entry_buckets.h"

/// Sorting entries that come in any order, and of which there may be more than fit into memory.
namespace anabranch::io::detail {

/// How a sort divides its memory.
struct SortMemory {
  int threads = 1;
  std::int64_t buffers = 0;  ///< of all buckets, while entries come
  std::int64_t sorting = 0;  ///< entries and scratch of one bucket, per thread

  /// Three quarters of `total`: what entries are read with is held beside the buffers. `threads` as for reading_threads.
  SortMemory(std::int64_t total, int threads);
};

/// The external bucket sort. First half: entries are put, in the order they come, into buckets of consecutive rows.
/// Second half: bucket after bucket is taken out, sorted and joined in memory, on several threads, and given in order. A
/// bucket too large for its share of memory is first split into smaller ones: by row, within one row by column, and what
/// then remains is a single place. So what is given does not depend on the number of threads or the memory.
///
/// E: an Entry or a Link.
template <class E>
class EntrySorter {
 public:
  /// Gets the entries in order, part by part, one call at a time (on any thread).
  using Give = std::function<void(std::span<const E>)>;
  /// Gets an entry whose sum has been rounded.
  using Rounded = std::function<void(const E&)>;
  /// Gets the entries once more: those of each column in order, one call at a time. Different columns' come in several
  /// calls at once, and in any order.
  using OfColumns = Give;

  /// At most `most` entries will come, all within the range.
  EntrySorter(BlockStore& store, const EntryRange& range, std::int64_t most, const SortMemory& memory);

  void add(const E& entry) { buckets_.add(entry); }
  /// Ends the use of this object. What the functions throw comes out.
  void finish(const Give& give, const Rounded& rounded = {}, const OfColumns& of_columns = {});

  /// Whether entries are put together by bucket by the threads that have parsed them, as EntryPart does: where there are
  /// so many of these that they would wait for the one that adds. What they put together lies in memory that is for
  /// sorting afterwards.
  bool deals() const { return memory_.threads > 2 && memory_.sorting >= least_sorting; }
  /// As EntryBuckets'.
  template <class Each>
  void deal(Each each, DealtEntries<E>& out) const {
    buckets_.deal(each, out);
  }
  void add(const DealtEntries<E>& dealt) { buckets_.add(dealt); }

 private:
  static constexpr std::int64_t least_sorting = 64 << 10;

  struct Buckets {
    std::vector<Bucket> list;
    std::int64_t block_entries = 0;
  };
  void sort(const Buckets& buckets, int threads);
  void split(const Bucket& bucket, std::int64_t block_entries);
  void give_whole(std::span<const E> entries);
  bool fits(const Bucket& bucket) const;

  BlockStore& store_;
  SortMemory memory_;
  EntryBuckets<E> buckets_;
  Give give_;
  Rounded rounded_;
  OfColumns of_columns_;
};

/// One thread's entries on their way into a sorter, part by part.
template <class E>
class EntryPart {
 public:
  explicit EntryPart(EntrySorter<E>& sorter) : sorter_(sorter) {}

  /// Beside other threads. each(f) calls f of all entries of the part, in order; here twice.
  template <class Each>
  void prepare(Each each) {
    if (sorter_.deals()) sorter_.deal(each, dealt_);
  }
  /// The same entries, one thread at a time, in the order of the parts.
  template <class Each>
  void add(Each each) {
    if (sorter_.deals())
      sorter_.add(dealt_);
    else
      each([this](const E& entry) { sorter_.add(entry); });
  }

 private:
  EntrySorter<E>& sorter_;
  DealtEntries<E> dealt_;
};

}  // namespace anabranch::io::detail
