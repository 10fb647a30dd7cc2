#include "run/sources/pushed_items.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "run/sources/sources.h"

namespace anabranch::runtime {

PushedItems::PushedItems(const std::vector<std::vector<ScalarType>>& scalars, const std::vector<int>& ranks,
                         Place at)
    : at_(at) {
  info_.name = "pushed items";
  info_.independent = true;
  for (std::size_t a = 0; a < scalars.size(); ++a) {
    packers_.push_back(std::make_unique<detail::ItemPacker>(scalars[a], ranks[a], std::nullopt, at));
    info_.arrays.push_back(packers_.back()->info());
  }
}

std::int64_t PushedItems::items() const { return packed_.items - next_ + packers_[0]->items(); }
std::int64_t PushedItems::bytes() const {
  std::int64_t bytes = packed_.bytes;
  for (const auto& packer : packers_) bytes += packer->bytes();
  return bytes;
}

std::int64_t PushedItems::bytes_of(std::span<const std::shared_ptr<detail::ArrayData>> item) {
  std::int64_t bytes = 0;
  for (const auto& array : item) {
    bytes += 8 * static_cast<std::int64_t>(1 + array->extents.size());
    for (const ScalarType s : array->scalars) bytes += array->size() * static_cast<std::int64_t>(size_of(s));
  }
  return bytes;
}

void PushedItems::push(std::span<const std::shared_ptr<detail::ArrayData>> item, std::int64_t memory) {
  if (const std::int64_t more = bytes_of(item); more > memory)
    throw ItemTooBig(fmt::format("push ({}): item {} takes {} bytes of memory, and {} are left",
                                 to_string(at_), number_, more, memory),
                     more);
  for (std::size_t a = 0; a < packers_.size(); ++a) packers_[a]->add(item[a], number_, Limit{});
  ++number_;
}

/// The items of all packers as one chunk.
void PushedItems::pack() {
  SourceChunk all;
  for (auto& packer : packers_) {
    SourceChunk chunk;
    packer->take(chunk);
    all.items = chunk.items;
    all.work = std::max(all.work, chunk.work);
    all.bytes += chunk.bytes;
    all.arrays.push_back(std::move(chunk.arrays[0]));
  }
  packed_ = std::move(all);
  next_ = 0;
}

bool PushedItems::next(const Limit& limit, SourceChunk& chunk) {
  if (next_ == packed_.items && packers_[0]->items() > 0) pack();
  if (next_ == packed_.items) {
    if (ended_) return false;
    throw NothingPushed();
  }
  const std::int64_t end = std::min(packed_.items, next_ + std::min(limit.items, packed_.items));
  chunk = slice(packed_, info_.arrays, next_, end);
  next_ = end;
  if (next_ == packed_.items && !info_.rewindable) {
    packed_ = {};
    next_ = 0;
  }
  return true;
}

}  // namespace anabranch::runtime
