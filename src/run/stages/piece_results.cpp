#include "run/stages/piece_results.h"

#include <utility>

#include <fmt/format.h>

namespace anabranch::runtime {

bool HeldBytes::add(std::int64_t bytes) {
  std::int64_t held = held_;
  do {
    if (bytes > most_ - held) return false;
  } while (!held_.compare_exchange_weak(held, held + bytes));
  return true;
}

void PieceResults::begin(std::optional<std::int64_t> first_item) {
  clear();
  is_numbered_ = first_item.has_value();
  next_item_ = first_item.value_or(0);
}

void PieceResults::number_from(std::int64_t first_item) {
  if (std::exchange(is_numbered_, true)) return;
  for (Part& part : parts_) part.shape.first += first_item;
}

std::vector<void*> PieceResults::room(int result, std::int64_t elements) {
  rooms_.resize(stage_.results.size());
  Room& room = rooms_[static_cast<std::size_t>(result)];
  give_back(room);
  if (is_numbered_)
    if (auto place = results_.place(result, next_item_, elements); !place.empty()) return place;
  const ir::ArrayType& type = array_of(static_cast<std::size_t>(result)).type;
  const std::int64_t bytes = elements * width_of(type);
  if (!held_.add(bytes))
    throw scheduler::BudgetExceeded(fmt::format("results of {} bytes wait for those of earlier items", bytes),
                                    "results", bytes, 0, 0);
  room.bytes = bytes;
  for (ScalarType s : type.scalars)
    room.blocks.push_back(context_.take_block(elements * static_cast<std::int64_t>(size_of(s))));
  // In its turn it is there twice for a moment, and is joined perhaps.
  if (context_.budget.available() < bytes + results_.bytes_to_commit(result, elements)) {
    give_back(room);
    throw scheduler::BudgetExceeded(
        fmt::format("results of {} bytes could not be appended in their turn", bytes), "results", bytes, 0,
        0);
  }
  return room.blocks;
}

void PieceResults::commit(PartShape shape) {
  next_item_ = shape.first + shape.items;
  rooms_.resize(stage_.results.size());
  parts_.push_back({std::move(shape), std::exchange(rooms_, {})});
}

void PieceResults::move_to(StageResults& results) {
  for (; !parts_.empty(); parts_.pop_front()) {
    Part& part = parts_.front();
    for (std::size_t r = 0; r < part.rooms.size(); ++r) {
      Room& room = part.rooms[r];
      if (room.blocks.empty()) continue;
      results.append_held(static_cast<int>(r), {room.blocks.begin(), room.blocks.end()},
                          part.shape.results[r].elements);
    }
    results.commit(std::move(part.shape));
    for (Room& room : part.rooms) give_back(room);
  }
}

void PieceResults::clear() {
  for (Room& room : rooms_) give_back(room);
  for (Part& part : parts_)
    for (Room& room : part.rooms) give_back(room);
  rooms_.clear();
  parts_.clear();
}

void PieceResults::give_back(Room& room) {
  for (void* const block : room.blocks) context_.blocks.give(block);
  room.blocks.clear();
  held_.remove(std::exchange(room.bytes, 0));
}

}  // namespace anabranch::runtime
