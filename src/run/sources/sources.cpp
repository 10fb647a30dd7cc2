#include "run/sources/sources.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "ir/offsets.h"
#include "run/sources/item_range.h"

namespace anabranch::runtime {

namespace {

class Counter final : public SourceBase {
 public:
  Counter(std::int64_t count, bool stored) : count_(count), stored_(stored) {
    info_.name = "produce";
    info_.arrays.push_back({{ScalarType::int64}, {}, 0, OffsetType::int64});
    info_.items = count;
    info_.work = count;
    info_.rewindable = true;
    info_.in_memory = true;
  }
  const SourceInfo& info() const override { return info_; }

  bool next(const Limit& limit, SourceChunk& chunk) override {
    const std::int64_t left = count_ - at_;
    if (left <= 0) return false;
    const std::int64_t bytes = stored_ ? limit.bytes / 8 : INT64_MAX;
    const std::int64_t items = std::max<std::int64_t>(1, std::min({left, limit.items, limit.work, bytes}));
    chunk = SourceChunk{items, items, stored_ ? 8 * items : 0, {}};
    chunk.arrays.resize(1);
    chunk.arrays[0].data.push_back(stored_ ? numbers(items) : nullptr);
    at_ += items;
    return true;
  }
  void rewind() override { at_ = 0; }

 private:
  std::shared_ptr<const void> numbers(std::int64_t items) const {
    auto numbers = std::make_shared_for_overwrite<std::int64_t[]>(static_cast<std::size_t>(items));
    std::iota(numbers.get(), numbers.get() + items, at_);
    return {numbers, numbers.get()};
  }

  std::int64_t count_;
  bool stored_;
  std::int64_t at_ = 0;
  SourceInfo info_;
};

class Rows final : public SourceBase {
 public:
  explicit Rows(std::shared_ptr<detail::ArrayData> array) : array_(std::move(array)) {
    info_.name = "rows";
    ArrayInfo item;
    item.scalars = array_->scalars;
    for (std::size_t d = 1; d < array_->extents.size(); ++d) {
      item.extents.push_back(array_->extents[d]);
      size_ = ir::times(size_, array_->extents[d]);
    }
    info_.arrays.push_back(std::move(item));
    info_.items = array_->extents[0];
    info_.work = array_->extents[0] * std::max<std::int64_t>(size_, 1);
    info_.rewindable = true;
    info_.in_memory = true;
  }
  const SourceInfo& info() const override { return info_; }

  bool next(const Limit& limit, SourceChunk& chunk) override {
    const std::int64_t left = *info_.items - at_;
    if (left <= 0) return false;
    const std::int64_t by_work = limit.work / std::max<std::int64_t>(size_, 1);
    const std::int64_t items = std::max<std::int64_t>(1, std::min({left, limit.items, by_work}));
    chunk = SourceChunk{items, items * std::max<std::int64_t>(size_, 1), 0, {}};
    chunk.arrays.resize(1);
    for (std::size_t c = 0; c < array_->scalars.size(); ++c) {
      const auto* start = static_cast<const unsigned char*>(array_->buffers[c].get()) +
                          static_cast<std::size_t>(at_ * size_) * size_of(array_->scalars[c]);
      chunk.arrays[0].data.push_back(std::shared_ptr<const void>(array_, start));
    }
    at_ += items;
    return true;
  }
  void rewind() override { at_ = 0; }

 private:
  std::shared_ptr<detail::ArrayData> array_;
  std::int64_t size_ = 1;
  std::int64_t at_ = 0;
  SourceInfo info_;
};

/// Offsets that fall at last are refused here; each of them is looked at by those who make them from files (src/io).
bool offsets_rise(const ArrayInfo& info, const ArrayChunk& array, std::int64_t items) {
  const std::int64_t first = ir::offset_at(array.offsets.get(), info.offsets, 0);
  return first >= 0 && ir::offset_at(array.offsets.get(), info.offsets, items) >= first;
}

}  // namespace

std::shared_ptr<SourceBase> make_counter(std::int64_t count, bool stored) {
  return std::make_shared<Counter>(count, stored);
}
std::shared_ptr<SourceBase> make_rows(std::shared_ptr<detail::ArrayData> array) {
  return std::make_shared<Rows>(std::move(array));
}

void check_chunk(const SourceInfo& info, const SourceChunk& chunk) {
  bool ok = chunk.arrays.size() == info.arrays.size();
  for (std::size_t a = 0; ok && a < chunk.arrays.size(); ++a) {
    const ArrayInfo& declared = info.arrays[a];
    const ArrayChunk& given = chunk.arrays[a];
    ok = given.data.size() == declared.scalars.size() && (declared.regular() || given.offsets);
    if (!ok || declared.regular() || declared.ragged()) continue;
    ok = given.extents.size() == declared.extents.size();
    for (std::size_t d = 0; ok && d < declared.extents.size(); ++d)
      ok = declared.extents[d] || given.extents[d] || chunk.items == 0;
  }
  if (!ok)
    throw RunError(
        fmt::format("source {}: a chunk does not hold the arrays that the source declared", info.name));
  if (chunk.items < 0 || chunk.work < 0 || chunk.bytes < 0)
    throw RunError(fmt::format("source {}: a chunk of {} items, {} elements and {} bytes", info.name,
                               chunk.items, chunk.work, chunk.bytes));
  for (std::size_t a = 0; a < chunk.arrays.size(); ++a)
    if (!info.arrays[a].regular() && !offsets_rise(info.arrays[a], chunk.arrays[a], chunk.items))
      throw RunError(fmt::format("source {}: the offsets of a chunk's {} items fall, or begin below 0",
                                 info.name, chunk.items));
}

void raise_wrong_items(const SourceInfo& info, std::int64_t given, std::int64_t most) {
  throw RunError(
      fmt::format("source {}: gave {} items where 1 to {} were asked for", info.name, given, most));
}

SourceChunk slice(const SourceChunk& chunk, const std::vector<ArrayInfo>& infos, std::int64_t begin,
                  std::int64_t end) {
  SourceChunk part;
  part.items = end - begin;
  for (std::size_t a = 0; a < chunk.arrays.size(); ++a) {
    const ArrayChunk& from = chunk.arrays[a];
    const ArrayInfo& info = infos[a];
    ArrayChunk to = from;
    std::int64_t elements = 0;
    if (info.regular()) {
      const std::int64_t size = ir::elements_of_item(info);
      const bool lies_over = overlap(from, info);
      if (lies_over) to.extents.back() = {from.extents.back(), from.extents.back().get() + begin};
      for (std::size_t c = 0; c < to.data.size() && !lies_over; ++c) {
        if (!from.data[c]) continue;
        const auto* start = static_cast<const unsigned char*>(from.data[c].get()) +
                            static_cast<std::size_t>(begin * size) * size_of(info.scalars[c]);
        to.data[c] = std::shared_ptr<const void>(from.data[c], start);
      }
      elements = size * part.items;
    } else {
      const auto width = static_cast<std::size_t>(ir::offset_bytes(info.offsets));
      const auto* start =
          static_cast<const unsigned char*>(from.offsets.get()) + static_cast<std::size_t>(begin) * width;
      to.offsets = std::shared_ptr<const void>(from.offsets, start);
      for (auto& e : to.extents)
        if (e) e = std::shared_ptr<const std::int64_t>(e, e.get() + begin);
      elements = ir::offset_at(to.offsets.get(), info.offsets, part.items) -
                 ir::offset_at(to.offsets.get(), info.offsets, 0);
    }
    part.work = std::max(part.work, elements);
    part.arrays.push_back(std::move(to));
  }
  part.first = chunk.first + begin;
  part.bytes = chunk.items == 0 ? 0 : chunk.bytes / chunk.items * part.items;
  return part;
}

}  // namespace anabranch::runtime
