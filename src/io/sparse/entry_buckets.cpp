#include "io/sparse/entry_buckets.h"

#include <algorithm>
#include <utility>

namespace anabranch::io::detail {

namespace {
constexpr std::int64_t least_block_bytes = 4 << 10;
constexpr std::int64_t most_block_bytes = 256 << 10;
}  // namespace

template <class E>
EntryBuckets<E>::EntryBuckets(BlockStore& store, const EntryRange& range, std::int64_t wanted,
                              std::int64_t buffer_bytes)
    : store_(store), range_(range), by_row_(range.rows > 1) {
  const std::int64_t extent = by_row_ ? range.rows : range.cols;
  wanted = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(buffer_bytes / least_block_bytes, 2));
  while (((extent - 1) >> shift_) + 1 > wanted) ++shift_;
  const std::int64_t count = ((extent - 1) >> shift_) + 1;
  const std::int64_t block_bytes = std::clamp(buffer_bytes / count, least_block_bytes, most_block_bytes);
  block_entries_ = block_bytes / static_cast<std::int64_t>(sizeof(E));
  slots_.resize(static_cast<std::size_t>(count));
  for (std::int64_t b = 0; b < count; ++b) {
    EntryRange part = range;
    const std::int64_t first = b << shift_;
    const std::int64_t length = std::min(std::int64_t{1} << shift_, extent - first);
    (by_row_ ? part.first_row : part.first_col) += first;
    (by_row_ ? part.rows : part.cols) = length;
    slots_[static_cast<std::size_t>(b)].bucket.range = part;
  }
  buffer_.resize(static_cast<std::size_t>(count * block_entries_));
}

template <class E>
void EntryBuckets<E>::add(const DealtEntries<E>& dealt) {
  const E* from = dealt.entries.data();
  for (std::size_t b = 0; b < slots_.size(); ++b) {
    Slot& slot = slots_[b];
    const E* const end = dealt.entries.data() + dealt.ends[b];
    while (from != end) {
      const std::int64_t n = std::min(block_entries_ - slot.used, static_cast<std::int64_t>(end - from));
      std::copy_n(from, n, &buffer_[b * static_cast<std::size_t>(block_entries_)] + slot.used);
      slot.used += n;
      from += n;
      if (slot.used == block_entries_) flush(b);
    }
  }
}

template <class E>
void EntryBuckets<E>::flush(std::size_t b) {
  Slot& slot = slots_[b];
  slot.bucket.blocks.push_back(store_.put(&buffer_[b * static_cast<std::size_t>(block_entries_)],
                                          slot.used * static_cast<std::int64_t>(sizeof(E))));
  slot.bucket.count += slot.used;
  slot.used = 0;
}

template <class E>
std::vector<Bucket> EntryBuckets<E>::finish() {
  std::vector<Bucket> out;
  out.reserve(slots_.size());
  for (std::size_t b = 0; b < slots_.size(); ++b) {
    if (slots_[b].used > 0) flush(b);
    out.push_back(std::move(slots_[b].bucket));
  }
  buffer_ = std::vector<E>();
  return out;
}

template class EntryBuckets<Entry<std::int32_t>>;
template class EntryBuckets<Entry<std::int64_t>>;
template class EntryBuckets<Entry<std::int32_t, std::uint64_t>>;
template class EntryBuckets<Entry<std::int64_t, std::uint64_t>>;
template class EntryBuckets<Link<std::int32_t>>;
template class EntryBuckets<Link<std::int64_t>>;

}  // namespace anabranch::io::detail
