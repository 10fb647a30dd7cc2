#include "csr_stream.h"

#include <algorithm>
#include <cstring>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "convert.h"
#include "csr_check.h"

namespace anabranch::io::detail {

namespace {

constexpr std::int64_t block_bytes = 64 << 10;
// Columns are checked piece by piece, right after the read that brought them into the cache.
constexpr std::int64_t piece_bytes = 256 << 10;
constexpr std::int64_t staging_bytes = 128 << 10;
// Recycled buffers are up to an eighth larger than what they hold; for small ones that is ignored.
constexpr std::int64_t without_slack(std::int64_t bytes) {
  return bytes < 64 << 10 ? bytes : bytes - bytes / 8;
}

std::int64_t width(ScalarType type) { return static_cast<std::int64_t>(size_of(type)); }

}  // namespace

CsrStream::CsrStream(CsrLayout layout, ScalarType index, ScalarType value, std::int64_t memory)
    : layout_(std::move(layout)),
      index_(index),
      value_(value),
      cost_{width(layout_.indptr.type), width(index) + width(value)},
      block_(block_bytes / sizeof(std::int64_t)) {
  if (index_ != layout_.indices.type || value_ != layout_.values.type) staging_.resize(staging_bytes);
  chunk_limit_ = std::max<std::int64_t>(memory - resident_bytes(), 0);
  ArrayInfo array;
  array.scalars = {index, value};
  array.extents = {std::nullopt};
  array.offsets = layout_.indptr.type == ScalarType::int32 ? OffsetType::int32 : OffsetType::int64;
  info_.name = layout_.name;
  info_.arrays = {array};
  info_.items = layout_.header.rows;
  info_.work = layout_.header.nnz;
  info_.rewindable = true;
  info_.live = false;
  // Types are converted through one buffer, and what is compressed is read from first to last.
  info_.splits =
      staging_.empty() && layout_.indices.cursor->reads_anywhere() && layout_.values.cursor->reads_anywhere();
  rewind();
}

std::int64_t CsrStream::resident_bytes() const {
  return block_bytes + static_cast<std::int64_t>(staging_.size()) + layout_.indptr.cursor->resident_bytes() +
         layout_.indices.cursor->resident_bytes() + layout_.values.cursor->resident_bytes();
}

void CsrStream::rewind() {
  for (StoredArray* array : {&layout_.indptr, &layout_.indices, &layout_.values})
    array->cursor->rewind(array->begin);
  row_ = entry_ = block_begin_ = block_end_ = last_offset_ = 0;
  // indptr[0] is known to be 0; the block then holds row ends only.
  unsigned char zero[8];
  layout_.indptr.cursor->read(zero, width(layout_.indptr.type));
  offsets_read_ = 1;
}

/// Reads and checks the next piece of indptr.
template <class P>
void CsrStream::refill() {
  auto* block = reinterpret_cast<P*>(block_.data());
  const std::int64_t n =
      std::min<std::int64_t>(block_bytes / sizeof(P), layout_.indptr.count - offsets_read_);
  layout_.indptr.cursor->read(block, n * static_cast<std::int64_t>(sizeof(P)));
  const std::string& name = layout_.indptr.name;
  if (const auto at = first_decrease(block, n, static_cast<P>(last_offset_)); at != n)
    throw DataError(fmt::format("{}: offset {} is {}, smaller than the one before it, {}", name,
                                offsets_read_ + at, block[at],
                                at == 0 ? last_offset_ : std::int64_t{block[at - 1]}));
  const std::int64_t entries = layout_.indices.count;
  if (block[n - 1] > entries) {
    const std::int64_t at = std::upper_bound(block, block + n, entries) - block;
    throw DataError(fmt::format("{}: offset {} is {}, but there are only {} entries", name,
                                offsets_read_ + at, block[at], entries));
  }
  offsets_read_ += n;
  last_offset_ = block[n - 1];
  if (offsets_read_ == layout_.indptr.count && last_offset_ != entries)
    throw DataError(fmt::format("{}: ends with {}, but there are {} entries", name, last_offset_, entries));
  block_begin_ = 0;
  block_end_ = n;
}

/// Chooses the rows of the next chunk and writes their offsets, counted from the chunk's first entry.
template <class P>
CsrStream::Rows CsrStream::next_rows(const Limit& limit) {
  const std::int64_t rows_left = layout_.header.rows - row_;
  const std::int64_t most = std::min({rows_left, std::max<std::int64_t>(limit.items, 1),
                                      std::max<std::int64_t>(limit.bytes / std::int64_t{sizeof(P)}, 1)});
  // The number of rows is not known yet: take room for as many as last time, doubled when too little.
  std::int64_t room = std::min(most, std::max<std::int64_t>(expected_rows_ + expected_rows_ / 8, 1024));
  Rows out;
  out.offsets = offset_pool_->take((room + 1) * std::int64_t{sizeof(P)});
  auto* offsets = static_cast<P*>(out.offsets.memory.get());
  offsets[0] = 0;
  while (out.count < rows_left) {
    if (block_begin_ == block_end_) refill<P>();
    const P* ends = reinterpret_cast<const P*>(block_.data()) + block_begin_;
    const std::int64_t here = block_end_ - block_begin_;
    const std::int64_t fit = rows_that_fit(ends, here, entry_, out.count, cost_, limit);
    if (out.count + fit > room) {
      room = std::min(most, std::max(2 * room, out.count + fit));
      auto larger = offset_pool_->take((room + 1) * std::int64_t{sizeof(P)});
      std::memcpy(larger.memory.get(), offsets, static_cast<std::size_t>(out.count + 1) * sizeof(P));
      out.offsets = std::move(larger);
      offsets = static_cast<P*>(out.offsets.memory.get());
    }
    const auto base = static_cast<P>(entry_);
    P* to = offsets + out.count + 1;
    for (std::int64_t i = 0; i < fit; ++i) to[i] = static_cast<P>(ends[i] - base);
    out.count += fit;
    block_begin_ += fit;
    if (fit < here) break;
  }
  out.entries = offsets[out.count];
  expected_rows_ = out.count;
  const std::int64_t used = (out.count + 1) * std::int64_t{sizeof(P)};
  if (out.offsets.capacity > used + used / 8 + 8192) {
    auto smaller = offset_pool_->take(used);
    std::memcpy(smaller.memory.get(), offsets, static_cast<std::size_t>(used));
    out.offsets = std::move(smaller);
  }
  return out;
}

void CsrStream::check_columns(ScalarType type, const void* columns, std::int64_t count, std::int64_t first) {
  const std::int64_t cols = layout_.header.cols;
  std::int64_t at = count;
  std::int64_t column = 0;
  const auto check = [&](const auto* p) {
    at = first_outside(p, count, cols);
    if (at != count) column = p[at];
  };
  if (type == ScalarType::int32)
    check(static_cast<const std::int32_t*>(columns));
  else
    check(static_cast<const std::int64_t*>(columns));
  if (at == count) return;
  const StoredArray& array = layout_.indices;
  throw DataError(fmt::format("{}: entry {} (byte {} of the array) is column {}, outside [0, {})", array.name,
                              first + at, (first + at) * width(type), column, cols));
}

/// Reads `count` elements into a buffer of type `as`. Each part is checked when it has been read: where it
/// is, of how many elements, and the number of its first.
BufferPool::Buffer CsrStream::read_entries(const StoredArray& array, ScalarType as, BufferPool& pool,
                                           std::int64_t count, const Read& read, const Check& check) {
  BufferPool::Buffer out = pool.take(count * width(as));
  auto* to = static_cast<unsigned char*>(out.memory.get());
  const bool same = array.type == as;
  if (same && !check) {
    read(to, count * width(as));
    return out;
  }
  const std::int64_t step = (same ? piece_bytes : staging_bytes) / width(array.type);
  for (std::int64_t i = 0; i < count; i += step) {
    const std::int64_t n = std::min(step, count - i);
    void* raw = same ? to + i * width(as) : staging_.data();
    read(raw, n * width(array.type));
    if (check) check(raw, n, i);
    if (!same) convert(array.type, raw, as, to + i * width(as), n);
  }
  return out;
}

BufferPool::Buffer CsrStream::read_columns(const Read& read, std::int64_t count, std::int64_t first) {
  return read_entries(layout_.indices, index_, *index_pool_, count, read,
                      [&](const void* columns, std::int64_t n, std::int64_t begin) {
                        check_columns(layout_.indices.type, columns, n, first + begin);
                      });
}

BufferPool::Buffer CsrStream::read_values(const Read& read, std::int64_t count) {
  return read_entries(layout_.values, value_, *value_pool_, count, read, nullptr);
}

/// The rows of the next chunk: as many as fit.
CsrStream::Rows CsrStream::take_rows(const Limit& asked) {
  Limit limit = asked;
  limit.bytes = without_slack(std::min(limit.bytes, chunk_limit_));
  Rows rows = layout_.indptr.type == ScalarType::int32 ? next_rows<std::int32_t>(limit)
                                                       : next_rows<std::int64_t>(limit);
  rows.first_entry = entry_;
  const std::int64_t bytes = cost_.bytes(rows.count, rows.entries);
  if (bytes > chunk_limit_)
    throw ResourceError(fmt::format(
        "{}: row {} has {} entries, {} bytes: more than the {} bytes of memory the source may use",
        layout_.name, row_, rows.entries, bytes, chunk_limit_));
  return rows;
}

void CsrStream::fill(SourceChunk& chunk, Rows rows, BufferPool::Buffer columns, BufferPool::Buffer values) {
  chunk.items = rows.count;
  chunk.work = rows.entries;
  chunk.bytes = columns.capacity + values.capacity + rows.offsets.capacity;
  chunk.arrays.resize(1);
  ArrayChunk& array = chunk.arrays[0];
  array.data.clear();
  array.data.push_back(std::move(columns.memory));
  array.data.push_back(std::move(values.memory));
  array.offsets = std::move(rows.offsets.memory);
  array.extents.clear();
}

bool CsrStream::next(const Limit& limit, SourceChunk& chunk) {
  if (row_ == layout_.header.rows) return false;
  Rows rows = take_rows(limit);
  const auto from = [](StoredArray& array) {
    return [&](void* into, std::int64_t bytes) { array.cursor->read(into, bytes); };
  };
  auto columns = read_columns(from(layout_.indices), rows.entries, rows.first_entry);
  auto values = read_values(from(layout_.values), rows.entries);
  row_ += rows.count;
  entry_ += rows.entries;
  fill(chunk, std::move(rows), std::move(columns), std::move(values));
  return true;
}

/// Rows whose offsets are there and whose entries are still to be read, from wherever they lie in the file.
class CsrStream::Piece final : public SourcePiece {
 public:
  Piece(CsrStream& stream, Rows rows)
      : stream_(stream), items_(rows.count), entries_(rows.entries), rows_(std::move(rows)) {}

  std::int64_t items() const override { return items_; }
  std::int64_t work() const override { return entries_; }
  std::int64_t bytes() const override { return stream_.cost_.bytes(items_, entries_); }

  void read(SourceChunk& chunk) override {
    Part columns(stream_.layout_.indices, rows_.first_entry),
        values(stream_.layout_.values, rows_.first_entry);
    auto read_columns = stream_.read_columns(std::ref(columns), entries_, rows_.first_entry);
    auto read_values = stream_.read_values(std::ref(values), entries_);
    columns_ = columns.sum;
    values_ = values.sum;
    fill(chunk, std::move(rows_), std::move(read_columns), std::move(read_values));
  }

  void complete() override {
    pass(stream_.layout_.indices, columns_);
    pass(stream_.layout_.values, values_);
  }

 private:
  /// Reads an array part by part from an entry on, and sums up its bytes.
  struct Part {
    Part(const StoredArray& stored, std::int64_t entry)
        : array(stored), at(stored.begin + entry * width(stored.type)) {}
    void operator()(void* into, std::int64_t bytes) {
      sum = crc32_of_both(sum, array.cursor->read_at(at, into, bytes), bytes);
      at += bytes;
    }
    const StoredArray& array;
    std::int64_t at;
    std::uint32_t sum = 0;
  };

  void pass(StoredArray& array, std::uint32_t sum) const {
    array.cursor->pass(entries_ * width(array.type), sum);
  }

  CsrStream& stream_;
  std::int64_t items_, entries_;
  Rows rows_;
  std::uint32_t columns_ = 0, values_ = 0;
};

std::unique_ptr<SourcePiece> CsrStream::split(const Limit& limit) {
  if (!info_.splits) return SourceBase::split(limit);
  if (row_ == layout_.header.rows) return nullptr;
  Rows rows = take_rows(limit);
  row_ += rows.count;
  entry_ += rows.entries;
  return std::make_unique<Piece>(*this, std::move(rows));
}

}  // namespace anabranch::io::detail
