#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <anabranch/source.h>

#include "support/host_arrays.h"

/// A Source over a list of items, in every form a source may have. It packs the items into flat buffers once
/// and gives chunks that are views of them.
namespace anabranch::testing {

using Item = std::vector<HostArray>;

class MemorySource : public SourceBase {
 public:
  /// `arrays` declares which extents are uniform; the items must agree.
  MemorySource(std::string name, std::vector<ArrayInfo> arrays, const std::vector<Item>& items,
               bool rewindable = true)
      : given_(items), items_(items.size()) {
    info_.name = std::move(name);
    info_.arrays = std::move(arrays);
    info_.items = static_cast<std::int64_t>(items.size());
    info_.rewindable = rewindable;
    info_.in_memory = true;
    for (std::size_t a = 0; a < info_.arrays.size(); ++a)
      components_.push_back(pack(info_.arrays[a], items, a));
    std::int64_t work = 0;
    for (std::size_t i = 0; i < items_; ++i) work += work_of(i, i + 1);
    info_.work = work;
  }

  const SourceInfo& info() const override { return info_; }

  bool next(const Limit& limit, SourceChunk& chunk) override {
    if (position_ == items_) return false;
    if (const std::int64_t bytes = bytes_of(position_, position_ + 1);
        refuses_large_items && bytes > limit.memory)
      throw ItemTooBig("an item of " + std::to_string(bytes) + " bytes", bytes);
    std::size_t end = position_ + 1;
    while (end < items_ && static_cast<std::int64_t>(end - position_) < limit.items &&
           work_of(position_, end + 1) <= limit.work && bytes_of(position_, end + 1) <= limit.bytes)
      ++end;
    chunk = {};
    chunk.items = static_cast<std::int64_t>(end - position_);
    chunk.work = work_of(position_, end);
    if (!info_.in_memory) chunk.bytes = bytes_of(position_, end);
    for (std::size_t a = 0; a < components_.size(); ++a) chunk.arrays.push_back(view(a));
    position_ = end;
    ++chunks_given;
    return true;
  }

  /// From now on it is read in pieces, as a file is: handed out in order, read by several threads at once. Or it is not.
  /// Some leave open how many items they have, where they may.
  void read_in_pieces(bool in_pieces = true) {
    info_.in_memory = info_.live = !in_pieces;
    info_.splits = in_pieces;
  }
  /// From now on its items come one after the other, and may have to be waited for.
  void read_as_live() {
    info_.in_memory = info_.splits = false;
    info_.live = true;
  }
  /// Called with the first item and the number of items of a piece; may throw.
  std::function<void(std::int64_t first, std::int64_t items)> on_read, on_complete;

  std::unique_ptr<SourcePiece> split(const Limit& limit) override {
    const auto first = static_cast<std::int64_t>(position_);
    SourceChunk chunk;
    if (!next(limit, chunk)) return nullptr;
    chunk.bytes = bytes_of(static_cast<std::size_t>(first), position_);
    const bool counted = limit.counted || first % 2 == 0;
    return std::make_unique<Piece>(*this, first, counted, std::move(chunk));
  }

  void rewind() override {
    if (!info_.rewindable) SourceBase::rewind();
    position_ = 0;
    ++rewinds;
  }

  const std::vector<Item>& items() const { return given_; }

  bool refuses_large_items =
      false;  ///< an item for which there is no memory now is not given, as by sources of files
  int chunks_given = 0;
  int rewinds = 0;

 private:
  class Piece final : public SourcePiece {
   public:
    Piece(const MemorySource& source, std::int64_t first, bool counted, SourceChunk chunk)
        : source_(source), first_(first), items_(chunk.items), counted_(counted), chunk_(std::move(chunk)) {}
    std::int64_t items() const override { return counted_ ? items_ : -1; }
    std::int64_t work() const override { return chunk_.work; }
    std::int64_t bytes() const override { return chunk_.bytes; }
    void read(SourceChunk& chunk) override {
      if (source_.on_read) source_.on_read(first_, items_);
      chunk = chunk_;
    }
    void complete() override {
      if (source_.on_complete) source_.on_complete(first_, items_);
    }

   private:
    const MemorySource& source_;
    std::int64_t first_, items_;
    bool counted_;
    SourceChunk chunk_;
  };

  struct Packed {
    std::vector<std::shared_ptr<void>> data;
    std::vector<std::int64_t> begin;  ///< items + 1, in elements
    std::shared_ptr<void> offsets;
    std::vector<std::shared_ptr<std::int64_t>> extents;
  };

  static Packed pack(const ArrayInfo& info, const std::vector<Item>& items, std::size_t a) {
    Packed out;
    out.begin.push_back(0);
    for (const Item& item : items) {
      const HostArray& array = item.at(a);
      if (array->scalars != info.scalars || array->extents.size() != info.extents.size())
        throw std::logic_error("MemorySource: item of another type than declared");
      for (std::size_t d = 0; d < info.extents.size(); ++d)
        if (info.extents[d] && *info.extents[d] != array->extents[d])
          throw std::logic_error("MemorySource: an extent differs from the declared one");
      out.begin.push_back(out.begin.back() + array->size());
    }
    for (std::size_t c = 0; c < info.scalars.size(); ++c) {
      const std::size_t width = size_of(info.scalars[c]);
      auto buffer = detail::allocate_aligned(static_cast<std::size_t>(out.begin.back()) * width);
      for (std::size_t i = 0; i < items.size(); ++i)
        std::memcpy(
            static_cast<unsigned char*>(buffer.get()) + static_cast<std::size_t>(out.begin[i]) * width,
            items[i][a]->buffers[c].get(), static_cast<std::size_t>(items[i][a]->size()) * width);
      out.data.push_back(std::move(buffer));
    }
    if (info.regular()) return out;
    out.offsets = detail::allocate_aligned((items.size() + 1) * 8);
    for (std::size_t i = 0; i <= items.size(); ++i) {
      if (info.offsets == OffsetType::int32)
        static_cast<std::int32_t*>(out.offsets.get())[i] = static_cast<std::int32_t>(out.begin[i]);
      else
        static_cast<std::int64_t*>(out.offsets.get())[i] = out.begin[i];
    }
    if (info.ragged()) return out;
    for (std::size_t d = 0; d < info.extents.size(); ++d) {
      if (info.extents[d]) {
        out.extents.push_back(nullptr);
        continue;
      }
      auto column = std::static_pointer_cast<std::int64_t>(detail::allocate_aligned(items.size() * 8));
      for (std::size_t i = 0; i < items.size(); ++i) column.get()[i] = items[i][a]->extents[d];
      out.extents.push_back(std::move(column));
    }
    return out;
  }

  /// The chunk that begins at the present position.
  ArrayChunk view(std::size_t a) const {
    const ArrayInfo& info = info_.arrays[a];
    const Packed& packed = components_[a];
    ArrayChunk out;
    for (std::size_t c = 0; c < info.scalars.size(); ++c) {
      // Segmented chunks keep the numbering of the whole buffer; regular ones begin at their first item.
      const auto skip =
          info.regular() ? static_cast<std::size_t>(packed.begin[position_]) * size_of(info.scalars[c]) : 0;
      out.data.emplace_back(packed.data[c], static_cast<unsigned char*>(packed.data[c].get()) + skip);
    }
    if (info.regular()) return out;
    const std::size_t width = info.offsets == OffsetType::int32 ? 4 : 8;
    out.offsets = {packed.offsets, static_cast<unsigned char*>(packed.offsets.get()) + position_ * width};
    for (const auto& column : packed.extents)
      out.extents.push_back(column ? std::shared_ptr<const std::int64_t>(column, column.get() + position_)
                                   : nullptr);
    return out;
  }

  std::int64_t work_of(std::size_t begin, std::size_t end) const {
    std::int64_t most = 0;
    for (const Packed& packed : components_) most = std::max(most, packed.begin[end] - packed.begin[begin]);
    return most;
  }

  std::int64_t bytes_of(std::size_t begin, std::size_t end) const {
    std::int64_t bytes = 0;
    for (std::size_t a = 0; a < components_.size(); ++a) {
      std::int64_t element = 0;
      for (ScalarType s : info_.arrays[a].scalars) element += static_cast<std::int64_t>(size_of(s));
      bytes += element * (components_[a].begin[end] - components_[a].begin[begin]);
      if (!info_.arrays[a].regular())
        bytes += static_cast<std::int64_t>((end - begin + 1) *
                                           (info_.arrays[a].offsets == OffsetType::int32 ? 4 : 8));
    }
    return bytes;
  }

  SourceInfo info_;
  std::vector<Item> given_;
  std::size_t items_;
  std::size_t position_ = 0;
  std::vector<Packed> components_;
};

/// Declares one component: nothing for an extent that differs from item to item.
inline ArrayInfo array_info(std::vector<ScalarType> scalars, std::vector<std::optional<std::int64_t>> extents,
                            int descriptor, OffsetType offsets = OffsetType::int64) {
  ArrayInfo info;
  info.scalars = std::move(scalars);
  info.extents = std::move(extents);
  info.descriptor = descriptor;
  info.offsets = offsets;
  return info;
}

/// A stream of vectors of different lengths.
template <class T>
std::shared_ptr<MemorySource> ragged(std::string name, const std::vector<std::vector<T>>& rows,
                                     bool rewindable = true) {
  std::vector<Item> items;
  for (const auto& row : rows) items.push_back({vector_of<T>(row)});
  return std::make_shared<MemorySource>(std::move(name),
                                        std::vector{array_info({detail::scalar_type<T>}, {std::nullopt}, 0)},
                                        items, rewindable);
}

}  // namespace anabranch::testing
