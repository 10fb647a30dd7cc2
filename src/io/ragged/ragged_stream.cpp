#include "io/ragged/ragged_stream.h"

#include <algorithm>
#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

namespace anabranch::io::detail {

namespace {

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
      cost_(cost_of(layout_)),
      memory_(memory) {
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
  const std::int64_t elements = layout_.arrays[0]->array().count;
  info_.name = layout_.name;
  info_.arrays = {array};
  info_.items = items_;
  info_.work = elements;
  info_.rewindable = true;
  info_.live = false;
  ends_ = item_ends(std::move(layout_.offsets), {layout_.elements, elements, cost_});
  chunk_limit_ = std::max<std::int64_t>(memory - resident_bytes(), 0);
  rewind();
}

std::int64_t RaggedStream::resident_bytes() const {
  std::int64_t bytes = ends_->resident_bytes();
  for (const auto& array : layout_.arrays) bytes += array->resident_bytes();
  return bytes;
}

void RaggedStream::use_memory(const ChunkMemory& memory) {
  ends_->use_memory(memory);
  for (const auto& array : layout_.arrays) array->use_memory(memory);
}

void RaggedStream::rewind() {
  ends_->rewind();
  for (const auto& array : layout_.arrays) array->rewind();
  refused_.reset();
  item_ = 0;
}

/// The items of the next chunk: as many as fit.
ChosenItems RaggedStream::take_items(const Limit& asked) {
  Limit limit = asked;
  limit.bytes = without_slack(std::min({limit.bytes, limit.memory, chunk_limit_}));
  ChosenItems items = refused_ ? std::move(*refused_) : ends_->choose(limit);
  refused_.reset();
  const std::int64_t bytes = cost_.bytes(items.count, items.elements);
  const auto too_much = [&](const std::string& more_than) {
    return fmt::format("{}: {} {} has {} {}, {} bytes{}", layout_.name, layout_.item, items.first,
                       items.elements, layout_.elements, bytes, more_than);
  };
  if (bytes > chunk_limit_)
    throw ResourceError(too_much(
        fmt::format(", beside {} that reading takes: more than the {} bytes of memory the source may use",
                    resident_bytes(), memory_)));
  if (bytes > asked.memory) {  // then it is one item
    const std::string message =
        too_much(fmt::format(": more than the {} bytes that are left of the memory", asked.memory));
    refused_ = std::move(items);
    throw ItemTooBig(message, bytes);
  }
  item_ += items.count;
  return items;
}

/// Reads the elements of items whose offsets are known.
template <class F>
std::vector<StoredElements::Buffers> RaggedStream::read_arrays(const ChosenItems& items, F read_array) const {
  std::vector<StoredElements::Buffers> arrays;
  try {
    for (std::size_t a = 0; a < layout_.arrays.size(); ++a) arrays.push_back(read_array(a));
  } catch (const BadElement& bad) {
    const std::int64_t element = bad.element() - items.first_element;
    const auto item_of = [&](const auto* offsets) {
      return items.first + (std::upper_bound(offsets, offsets + items.count + 1, element) - offsets) - 1;
    };
    const void* const offsets = items.offsets.memory.get();
    const std::int64_t item = info_.arrays[0].offsets == OffsetType::int32
                                  ? item_of(static_cast<const std::int32_t*>(offsets))
                                  : item_of(static_cast<const std::int64_t*>(offsets));
    throw DataError(fmt::format("{}, in {} {}", bad.what(), layout_.item, item));
  }
  return arrays;
}

void RaggedStream::fill(SourceChunk& chunk, ChosenItems items, std::vector<StoredElements::Buffers> arrays) {
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

void RaggedStream::check_unchanged() const {
  for (const auto& file : layout_.files) file->check_unchanged();
}

bool RaggedStream::next(const Limit& limit, SourceChunk& chunk) {
  if (at_end()) return false;
  ChosenItems items = take_items(limit);
  ends_->read(items);
  auto arrays = read_arrays(
      items, [&](std::size_t a) { return layout_.arrays[a]->read(items.first_element, items.elements); });
  ends_->pass(items);
  if (at_end()) check_unchanged();
  fill(chunk, std::move(items), std::move(arrays));
  return true;
}

/// Items that have been chosen, and are still to be read, from wherever they lie in the file.
class RaggedStream::Piece final : public SourcePiece {
 public:
  Piece(RaggedStream& stream, ChosenItems items)
      : stream_(stream),
        last_(stream.at_end()),
        items_(std::move(items)),
        sums_(stream.layout_.arrays.size()) {}

  std::int64_t items() const override { return items_.count; }
  std::int64_t work() const override { return items_.elements; }
  std::int64_t bytes() const override { return stream_.cost_.bytes(items_.count, items_.elements); }

  void read(SourceChunk& chunk) override {
    stream_.ends_->read(items_);
    auto arrays = stream_.read_arrays(items_, [&](std::size_t a) {
      return stream_.layout_.arrays[a]->read_at(items_.first_element, items_.elements, sums_[a]);
    });
    ChosenItems given = items_;
    items_.offsets = {};
    fill(chunk, std::move(given), std::move(arrays));
  }

  void complete() override {
    stream_.ends_->pass(items_);
    for (std::size_t a = 0; a < sums_.size(); ++a) stream_.layout_.arrays[a]->pass(items_.elements, sums_[a]);
    if (last_) stream_.check_unchanged();
  }

 private:
  RaggedStream& stream_;
  bool last_;
  ChosenItems items_;
  std::vector<std::uint32_t> sums_;
};

std::unique_ptr<SourcePiece> RaggedStream::split(const Limit& limit) {
  if (!info_.splits) return SourceBase::split(limit);
  if (at_end()) return nullptr;
  return std::make_unique<Piece>(*this, take_items(limit));
}

}  // namespace anabranch::io::detail
