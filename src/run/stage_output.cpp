#include "run/stage_output.h"

namespace anabranch::runtime {

std::int64_t width_of(const ir::ArrayType& type) {
  std::int64_t width = 0;
  for (ScalarType s : type.scalars) width += static_cast<std::int64_t>(size_of(s));
  return width;
}

void StageOutput::append(PartResults part) {
  for (std::size_t r = 0; r < part.shape.results.size(); ++r) {
    const std::int64_t elements = part.shape.results[r].elements;
    const std::vector<void*> to = room(static_cast<int>(r), elements);
    for (std::size_t c = 0; c < to.size() && elements > 0; ++c)
      copy_on_all_threads(context_.executor, to[c], part.components[r][c],
                          elements * static_cast<std::int64_t>(size_of(array_of(r).type.scalars[c])));
  }
  commit(std::move(part.shape));
}

std::vector<void*> HeldResults::room(int result, std::int64_t elements) {
  rooms_.resize(stage_.results.size());
  Room& room = rooms_[static_cast<std::size_t>(result)];
  room = {};
  const ir::ArrayType& type = array_of(static_cast<std::size_t>(result)).type;
  room.reservation = context_.budget.reserve("results", elements * width_of(type));
  std::vector<void*> addresses;
  for (ScalarType s : type.scalars) {
    room.memory.push_back(detail::allocate_aligned(static_cast<std::size_t>(elements) * size_of(s)));
    addresses.push_back(room.memory.back().get());
  }
  return addresses;
}

void HeldResults::commit(PartShape shape) {
  PartResults part;
  part.shape = std::move(shape);
  for (Room& room : rooms_) {
    auto& components = part.components.emplace_back();
    for (auto& memory : room.memory) {
      components.push_back(memory.get());
      part.owned.push_back(std::move(memory));
    }
    part.reservations.push_back(std::move(room.reservation));
  }
  rooms_.clear();
  parts_.push_back(std::move(part));
}

void HeldResults::append(PartResults part) {
  if (part.owned.empty()) return StageOutput::append(std::move(part));
  parts_.push_back(std::move(part));
}

void HeldResults::move_to(StageOutput& sink) {
  for (PartResults& part : parts_) sink.append(std::move(part));
  parts_.clear();
}

void HeldResults::clear() {
  rooms_.clear();
  parts_.clear();
}

}  // namespace anabranch::runtime
