#include "run/stages/item_results.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/extents.h"

namespace anabranch::runtime {

std::vector<void*> ItemResults::room(int result, std::int64_t elements) {
  rooms_.resize(stage_.results.size());
  room_reservations_.resize(stage_.results.size());
  const auto r = static_cast<std::size_t>(result);
  rooms_[r] = {};
  room_reservations_[r] = {};
  const ir::ArrayType& type = array_of(r).type;
  room_reservations_[r] = context_.reserve("results of items", elements * width_of(type));
  auto array = std::make_shared<detail::ArrayData>();
  array->scalars = type.scalars;
  array->extents = {elements};
  std::vector<void*> addresses;
  for (ScalarType scalar : type.scalars) {
    array->buffers.push_back(context_.memory.share(
        context_.memory.take(static_cast<std::size_t>(elements) * size_of(scalar) + 64)));
    addresses.push_back(array->buffers.back().get());
  }
  rooms_[r] = std::move(array);
  return addresses;
}

void ItemResults::commit(PartShape shape) {
  Part& part = parts_.emplace_back();
  part.first = shape.first;
  part.items = shape.items;
  for (std::size_t r = 0; r < rooms_.size(); ++r)
    part.results.push_back({std::move(rooms_[r]), std::move(shape.results[r].extents), 0});
  std::move(room_reservations_.begin(), room_reservations_.end(), std::back_inserter(reservations_));
  rooms_.clear();
  room_reservations_.clear();
  committed_ += shape.items;
  items_ += shape.items;
}

std::vector<std::int64_t> ItemResults::extents_of(const Flat& flat, std::int64_t item) {
  std::vector<std::int64_t> extents;
  extents.reserve(flat.extents.size());
  for (const auto& e : flat.extents) extents.push_back(ir::extent_of_item(e, item));
  return extents;
}

void ItemResults::close() {
  std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.first < b.first; });
  if (committed_ <= 1) return;
  for (std::size_t r = 0; r < stage_.results.size(); ++r) {
    std::int64_t largest = 0;
    for (const Part& part : parts_) {
      const auto& extents = part.results[r].extents;
      const bool uniform =
          std::all_of(extents.begin(), extents.end(), [](const auto& e) { return e.size() == 1; });
      for (std::int64_t item = 0; item < (uniform ? std::min<std::int64_t>(part.items, 1) : part.items);
           ++item)
        largest = std::max(largest, ir::elements_of_item(extents, item));
    }
    reservations_.push_back(context_.reserve("results of items", largest * width_of(array_of(r).type)));
  }
}

std::int64_t ItemResults::bytes() const {
  std::int64_t bytes = 0;
  for (const scheduler::Reservation& r : reservations_) bytes += r.bytes();
  return bytes;
}

HostArray ItemResults::taken(const Flat& flat, std::int64_t number) const {
  auto item = std::make_shared<detail::ArrayData>();
  item->scalars = flat.array->scalars;
  item->extents = extents_of(flat, number);
  const std::int64_t size = item->size();
  item->buffers.reserve(item->scalars.size());
  for (std::size_t c = 0; c < item->scalars.size(); ++c) {
    const std::size_t width = size_of(item->scalars[c]);
    auto* const from = static_cast<unsigned char*>(flat.array->buffers[c].get()) +
                       static_cast<std::size_t>(flat.position) * width;
    if (committed_ == 1) {
      item->buffers.push_back(flat.array->buffers[c]);
      continue;
    }
    const std::size_t bytes = static_cast<std::size_t>(size) * width;
    item->buffers.push_back(detail::allocate_aligned(bytes));
    if (bytes > 0) std::memcpy(item->buffers.back().get(), from, bytes);
  }
  return item;
}

void ItemResults::take(std::vector<HostArray>& item) {
  item.clear();
  while (in_part_ == parts_[part_].items) {
    ++part_;
    in_part_ = 0;
  }
  std::vector<Flat>& results = parts_[part_].results;
  for (const Flat& flat : results) item.push_back(taken(flat, in_part_));
  // Nothing fails any more: an item that could not be taken is the next one still.
  for (std::size_t r = 0; r < results.size(); ++r) results[r].position += item[r]->size();
  ++in_part_;
  --items_;
}

}  // namespace anabranch::runtime
