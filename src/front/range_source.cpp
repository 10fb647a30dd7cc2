#include <anabranch/detail/range_source.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ir/type.h"

namespace anabranch::detail {

namespace {
std::vector<std::optional<std::int64_t>> declared(int rank,
                                                  const std::optional<std::vector<std::int64_t>>& shape) {
  if (!shape) return std::vector<std::optional<std::int64_t>>(static_cast<std::size_t>(rank));
  return {shape->begin(), shape->end()};
}

std::string shape_text(const std::vector<std::int64_t>& extents) {
  return fmt::format("[{}]", fmt::join(extents, ", "));
}
}  // namespace

struct ItemPacker::Impl {
  std::vector<std::vector<unsigned char>> data;  // one per scalar component
  std::vector<std::shared_ptr<void>> first;      // of the first item, which has not been copied
  std::vector<std::int64_t> offsets{0};
  std::vector<std::vector<std::int64_t>> extents;  // one per dimension
  std::int64_t items = 0;

  bool is_new() const {
    const auto empty = [](const auto& part) { return part.empty(); };
    return items == 0 && offsets.size() == 1 && first.empty() &&
           std::all_of(data.begin(), data.end(), empty) && std::all_of(extents.begin(), extents.end(), empty);
  }
};

ItemPacker::ItemPacker(std::vector<ScalarType> scalars, int rank,
                       // NOLINTNEXTLINE(performance-unnecessary-value-param): as the public header has it
                       std::optional<std::vector<std::int64_t>> shape, Place at, bool items_stay)
    : at_(at), items_stay_(items_stay), impl_(std::make_unique<Impl>()) {
  info_.scalars = std::move(scalars);
  info_.extents = declared(rank, shape);
  impl_->data.resize(info_.scalars.size());
  impl_->extents.resize(static_cast<std::size_t>(rank));
}
ItemPacker::~ItemPacker() = default;

bool ItemPacker::add(const std::shared_ptr<ArrayData>& given, std::int64_t number, const Limit& limit) {
  if (!given)
    throw ProgramError(fmt::format("stream_in ({}): item {} is an empty handle", to_string(at_), number),
                       at_);
  const ArrayData& item = *given;
  for (std::size_t d = 0; d < info_.extents.size(); ++d) {
    const std::optional<std::int64_t>& extent = info_.extents[d];
    if (!extent || *extent == item.extents[d]) continue;
    std::vector<std::int64_t> wanted;
    for (const auto& e : info_.extents) wanted.push_back(*e);
    throw RunError(fmt::format("stream_in ({}): item {} has shape {}, the stream was declared regular({})",
                               to_string(at_), number, shape_text(item.extents), shape_text(wanted)),
                   at_, number);
  }
  const std::int64_t size = item.size();
  if (!limit.written.empty())
    for (std::size_t c = 0; c < item.buffers.size(); ++c)
      refuse_written(limit.written, item.buffers[c].get(),
                     size * static_cast<std::int64_t>(size_of(info_.scalars[c])));
  std::int64_t more = 8 * static_cast<std::int64_t>(1 + impl_->extents.size());
  for (ScalarType s : info_.scalars) more += size * static_cast<std::int64_t>(size_of(s));
  if (impl_->items > 0 && more > std::min(limit.bytes, limit.memory) - bytes()) return false;
  if (const std::int64_t all = bytes() + more; impl_->items == 0 && all > limit.memory)
    throw ItemTooBig(
        fmt::format("stream_in ({}): item {}, of shape {}, takes {} bytes of memory, and {} are left",
                    to_string(at_), number, shape_text(item.extents), all, limit.memory),
        all);
  const auto copy = [&](const std::vector<std::shared_ptr<void>>& buffers, std::int64_t elements) {
    for (std::size_t c = 0; c < impl_->data.size(); ++c) {
      const auto* bytes = static_cast<const unsigned char*>(buffers[c].get());
      impl_->data[c].insert(impl_->data[c].end(), bytes,
                            bytes + static_cast<std::size_t>(elements) * size_of(info_.scalars[c]));
    }
  };
  if (impl_->items == 0 && items_stay_) {
    impl_->first = item.buffers;
  } else {
    if (!impl_->first.empty()) {
      copy(impl_->first, elements());
      impl_->first.clear();  // not before: without memory for copies it is the chunk
    }
    copy(item.buffers, size);
  }
  for (std::size_t d = 0; d < impl_->extents.size(); ++d) impl_->extents[d].push_back(item.extents[d]);
  impl_->offsets.push_back(impl_->offsets.back() + size);
  ++impl_->items;
  return true;
}

std::int64_t ItemPacker::items() const { return impl_->items; }
std::int64_t ItemPacker::elements() const { return impl_->offsets.back(); }
std::int64_t ItemPacker::bytes() const {
  std::int64_t bytes = 8 * static_cast<std::int64_t>(impl_->offsets.size() * (1 + impl_->extents.size()));
  for (const ScalarType s : info_.scalars) bytes += elements() * static_cast<std::int64_t>(size_of(s));
  return bytes;
}

void ItemPacker::take(SourceChunk& chunk) {
  chunk = SourceChunk{};
  chunk.items = impl_->items;
  chunk.work = elements();
  chunk.bytes = bytes();
  const auto keep = [](auto vector) {
    auto owner = std::make_shared<decltype(vector)>(std::move(vector));
    return std::shared_ptr<const typename decltype(vector)::value_type>(owner, owner->data());
  };
  ArrayChunk array;
  for (const auto& buffer : impl_->first) array.data.push_back(buffer);
  if (impl_->first.empty())
    for (auto& d : impl_->data) array.data.push_back(keep(std::move(d)));
  else
    chunk.bytes = 0;
  if (!info_.regular()) array.offsets = keep(std::move(impl_->offsets));
  for (std::size_t d = 0; d < impl_->extents.size(); ++d) {
    if (info_.regular() || info_.ragged()) break;
    array.extents.push_back(info_.extents[d] ? nullptr : keep(std::move(impl_->extents[d])));
  }
  chunk.arrays.push_back(std::move(array));
  clear();
}

/// An item that could not be added, for want of memory, may have left a part of it.
void ItemPacker::clear() {
  if (impl_->is_new()) return;
  Impl anew;
  anew.data.resize(info_.scalars.size());
  anew.extents.resize(info_.extents.size());
  *impl_ = std::move(anew);
}

}  // namespace anabranch::detail
