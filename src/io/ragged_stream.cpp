#include "ragged_stream.h"

#include <algorithm>
#include <cstring>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "csr_check.h"

namespace anabranch::io::detail {

namespace {

constexpr std::int64_t block_bytes = 64 << 10;

std::int64_t width(ScalarType type) { return static_cast<std::int64_t>(size_of(type)); }

RaggedCost cost_of(const RaggedLayout& layout) {
  RaggedCost cost{width(layout.offsets.type), 0};
  for (const auto& array : layout.arrays) cost.per_element += array->element_bytes();
  return cost;
}

}  // namespace

RaggedStream::RaggedStream(RaggedLayout layout, std::int64_t memory)
    : layout_(std::move(layout)),
      items_(layout_.offsets.count - 1),
      elements_(layout_.arrays[0]->array().count),
      cost_(cost_of(layout_)),
      block_(block_bytes / sizeof(std::int64_t)) {
  chunk_limit_ = std::max<std::int64_t>(memory - resident_bytes(), 0);
  ArrayInfo array;
  array.extents = {std::nullopt};
  array.offsets = layout_.offsets.type == ScalarType::int32 ? OffsetType::int32 : OffsetType::int64;
  // What is compressed is read from first to last.
  info_.splits = true;
  for (const auto& elements : layout_.arrays) {
    array.scalars.insert(array.scalars.end(), static_cast<std::size_t>(elements->array().parts),
                         elements->type());
    info_.splits = info_.splits && elements->reads_anywhere();
  }
  info_.name = layout_.name;
  info_.arrays = {array};
  info_.items = items_;
  info_.work = elements_;
  info_.rewindable = true;
  info_.live = false;
  rewind();
}

std::int64_t RaggedStream::resident_bytes() const {
  std::int64_t bytes = block_bytes + layout_.offsets.cursor->resident_bytes();
  for (const auto& array : layout_.arrays) bytes += array->resident_bytes();
  return bytes;
}

void RaggedStream::rewind() {
  layout_.offsets.cursor->rewind(layout_.offsets.begin);
  for (const auto& array : layout_.arrays) array->rewind();
  refused_.reset();
  item_ = element_ = block_begin_ = block_end_ = last_offset_ = 0;
  // The first offset is known to be 0; the block then holds ends only.
  unsigned char zero[8];
  layout_.offsets.cursor->read(zero, width(layout_.offsets.type));
  offsets_read_ = 1;
}

/// Reads and checks the next piece of the offsets.
template <class P>
void RaggedStream::refill() {
  auto* block = reinterpret_cast<P*>(block_.data());
  const std::int64_t n =
      std::min<std::int64_t>(block_bytes / sizeof(P), layout_.offsets.count - offsets_read_);
  layout_.offsets.cursor->read(block, n * static_cast<std::int64_t>(sizeof(P)));
  const std::string& name = layout_.offsets.name;
  if (const auto at = first_decrease(block, n, static_cast<P>(last_offset_)); at != n)
    throw DataError(fmt::format("{}: offset {} is {}, smaller than the one before it, {}", name,
                                offsets_read_ + at, block[at],
                                at == 0 ? last_offset_ : std::int64_t{block[at - 1]}));
  if (block[n - 1] > elements_) {
    const std::int64_t at = std::upper_bound(block, block + n, elements_) - block;
    throw DataError(fmt::format("{}: offset {} is {}, but there are only {} {}", name, offsets_read_ + at,
                                block[at], elements_, layout_.elements));
  }
  offsets_read_ += n;
  last_offset_ = block[n - 1];
  if (offsets_read_ == layout_.offsets.count && last_offset_ != elements_)
    throw DataError(fmt::format("{}: ends with {}, but there are {} {}", name, last_offset_, elements_,
                                layout_.elements));
  block_begin_ = 0;
  block_end_ = n;
}

/// Chooses the items of the next chunk and writes their offsets, counted from the chunk's first element.
template <class P>
RaggedStream::Items RaggedStream::next_items(const Limit& limit) {
  const std::int64_t left = items_ - item_;
  const std::int64_t most = std::min({left, std::max<std::int64_t>(limit.items, 1),
                                      std::max<std::int64_t>(limit.bytes / std::int64_t{sizeof(P)}, 1)});
  // The number of items is not known yet: take room for as many as last time, doubled when too little.
  std::int64_t room = std::min(most, std::max<std::int64_t>(expected_items_ + expected_items_ / 8, 1024));
  Items out;
  out.first_element = element_;
  out.offsets = offset_pool_->take((room + 1) * std::int64_t{sizeof(P)});
  auto* offsets = static_cast<P*>(out.offsets.memory.get());
  offsets[0] = 0;
  while (out.count < left) {
    if (block_begin_ == block_end_) refill<P>();
    const P* ends = reinterpret_cast<const P*>(block_.data()) + block_begin_;
    const std::int64_t here = block_end_ - block_begin_;
    const std::int64_t fit = items_that_fit(ends, here, element_, out.count, cost_, limit);
    if (out.count + fit > room) {
      room = std::min(most, std::max(2 * room, out.count + fit));
      auto larger = offset_pool_->take((room + 1) * std::int64_t{sizeof(P)});
      std::memcpy(larger.memory.get(), offsets, static_cast<std::size_t>(out.count + 1) * sizeof(P));
      out.offsets = std::move(larger);
      offsets = static_cast<P*>(out.offsets.memory.get());
    }
    const auto base = static_cast<P>(element_);
    P* to = offsets + out.count + 1;
    for (std::int64_t i = 0; i < fit; ++i) to[i] = static_cast<P>(ends[i] - base);
    out.count += fit;
    block_begin_ += fit;
    if (fit < here) break;
  }
  out.elements = offsets[out.count];
  expected_items_ = out.count;
  const std::int64_t used = (out.count + 1) * std::int64_t{sizeof(P)};
  if (out.offsets.capacity > used + used / 8 + 8192) {
    auto smaller = offset_pool_->take(used);
    std::memcpy(smaller.memory.get(), offsets, static_cast<std::size_t>(used));
    out.offsets = std::move(smaller);
  }
  return out;
}

/// The items of the next chunk: as many as fit.
RaggedStream::Items RaggedStream::take_items(const Limit& asked) {
  Limit limit = asked;
  limit.bytes = without_slack(std::min({limit.bytes, limit.memory, chunk_limit_}));
  const auto choose = [&] {
    return layout_.offsets.type == ScalarType::int32 ? next_items<std::int32_t>(limit)
                                                     : next_items<std::int64_t>(limit);
  };
  Items items = refused_ ? std::move(*refused_) : choose();
  refused_.reset();
  const std::int64_t bytes = cost_.bytes(items.count, items.elements);
  const auto too_much = [&](const char* what, std::int64_t most) {
    return fmt::format("{}: {} {} has {} {}, {} bytes: more than the {} bytes {}", layout_.name, layout_.item,
                       item_, items.elements, layout_.elements, bytes, most, what);
  };
  if (bytes > chunk_limit_) throw ResourceError(too_much("of memory the source may use", chunk_limit_));
  if (bytes > asked.memory) {  // then it is one item
    const std::string message = too_much("that are left of the memory", asked.memory);
    refused_ = std::move(items);
    throw ItemTooBig(message, bytes);
  }
  return items;
}

void RaggedStream::fill(SourceChunk& chunk, Items items, std::vector<StoredElements::Buffers> arrays) {
  chunk.items = items.count;
  chunk.work = items.elements;
  chunk.bytes = items.offsets.capacity;
  chunk.arrays.resize(1);
  ArrayChunk& array = chunk.arrays[0];
  array.data.clear();
  for (StoredElements::Buffers& buffers : arrays)
    for (BufferPool::Buffer& buffer : buffers) {
      chunk.bytes += buffer.capacity;
      array.data.push_back(std::move(buffer.memory));
    }
  array.offsets = std::move(items.offsets.memory);
  array.extents.clear();
}

void RaggedStream::pass(const Items& items) {
  item_ += items.count;
  element_ += items.elements;
}

void RaggedStream::check_unchanged() const {
  for (const auto& file : layout_.files) file->check_unchanged();
}

bool RaggedStream::next(const Limit& limit, SourceChunk& chunk) {
  if (at_end()) return false;
  Items items = take_items(limit);
  std::vector<StoredElements::Buffers> arrays;
  for (const auto& array : layout_.arrays) arrays.push_back(array->read(items.first_element, items.elements));
  pass(items);
  if (at_end()) check_unchanged();
  fill(chunk, std::move(items), std::move(arrays));
  return true;
}

/// Items whose offsets are there and whose elements are still to be read, from wherever they lie in the file.
class RaggedStream::Piece final : public SourcePiece {
 public:
  Piece(RaggedStream& stream, Items items)
      : stream_(stream),
        count_(items.count),
        elements_(items.elements),
        last_(stream.at_end()),
        items_(std::move(items)),
        sums_(stream.layout_.arrays.size()) {}

  std::int64_t items() const override { return count_; }
  std::int64_t work() const override { return elements_; }
  std::int64_t bytes() const override { return stream_.cost_.bytes(count_, elements_); }

  void read(SourceChunk& chunk) override {
    std::vector<StoredElements::Buffers> arrays;
    for (std::size_t a = 0; a < sums_.size(); ++a)
      arrays.push_back(stream_.layout_.arrays[a]->read_at(items_.first_element, elements_, sums_[a]));
    fill(chunk, std::move(items_), std::move(arrays));
  }

  void complete() override {
    for (std::size_t a = 0; a < sums_.size(); ++a) stream_.layout_.arrays[a]->pass(elements_, sums_[a]);
    if (last_) stream_.check_unchanged();
  }

 private:
  RaggedStream& stream_;
  std::int64_t count_, elements_;
  bool last_;
  Items items_;
  std::vector<std::uint32_t> sums_;
};

std::unique_ptr<SourcePiece> RaggedStream::split(const Limit& limit) {
  if (!info_.splits) return SourceBase::split(limit);
  if (at_end()) return nullptr;
  Items items = take_items(limit);
  pass(items);
  return std::make_unique<Piece>(*this, std::move(items));
}

}  // namespace anabranch::io::detail
