#include "run/item_results.h"

#include <algorithm>

namespace anabranch::runtime {

std::vector<void*> ItemResults::room(int result, std::int64_t elements) {
  rooms_.resize(stage_.results.size());
  Flat& flat = rooms_[static_cast<std::size_t>(result)];
  flat = {};
  const ir::ArrayType& type = array_of(static_cast<std::size_t>(result)).type;
  flat.reservation = context_.budget.reserve("results", elements * width_of(type));
  auto array = std::make_shared<detail::ArrayData>();
  array->scalars = type.scalars;
  array->extents = {elements};
  std::vector<void*> addresses;
  for (ScalarType scalar : type.scalars) {
    array->buffers.push_back(context_.memory.share(
        context_.memory.take(static_cast<std::size_t>(elements) * size_of(scalar) + 64)));
    addresses.push_back(array->buffers.back().get());
  }
  flat.array = std::move(array);
  return addresses;
}

void ItemResults::commit(PartShape shape) {
  largest_.resize(stage_.results.size());
  for (std::int64_t i = 0; i < shape.items; ++i) items_.emplace_back(stage_.results.size());
  for (std::size_t r = 0; r < rooms_.size(); ++r) {
    commit_result(r, shape.items, shape.results[r], std::move(rooms_[r].array));
    reservations_.push_back(std::move(rooms_[r].reservation));
  }
  rooms_.clear();
}

void ItemResults::commit_result(std::size_t result, std::int64_t items, const PartShape::Result& shape,
                                HostArray flat) {
  const std::size_t first = items_.size() - static_cast<std::size_t>(items);
  std::int64_t position = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(items); ++i) {
    auto item = std::make_shared<detail::ArrayData>();
    item->scalars = flat->scalars;
    for (const auto& e : shape.extents) item->extents.push_back(e.size() == 1 ? e[0] : e[i]);
    for (std::size_t c = 0; c < item->scalars.size(); ++c) {
      auto* start = static_cast<unsigned char*>(flat->buffers[c].get()) +
                    static_cast<std::size_t>(position) * size_of(item->scalars[c]);
      item->buffers.push_back(std::shared_ptr<void>(flat, start));
    }
    position += item->size();
    largest_[result] = std::max(largest_[result], item->size());
    items_[first + i][result] = std::move(item);
  }
}

void ItemResults::take(std::vector<std::vector<HostArray>>& items) {
  // Of several items, the one that is handed out is copied out of the chunk.
  if (items_.size() > 1)
    for (std::size_t r = 0; r < largest_.size(); ++r)
      reservations_.push_back(context_.budget.reserve("results", largest_[r] * width_of(array_of(r).type)));
  items = std::exchange(items_, {});
}

void ItemResults::clear() {
  rooms_.clear();
  items_.clear();
  largest_.clear();
  reservations_.clear();
}

}  // namespace anabranch::runtime
