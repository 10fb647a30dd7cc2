#include "run/context/stage_output.h"

namespace anabranch::runtime {

std::int64_t width_of(const ir::ArrayType& type) {
  std::int64_t width = 0;
  for (ScalarType s : type.scalars) width += static_cast<std::int64_t>(size_of(s));
  return width;
}

std::vector<std::shared_ptr<void>> take_room(RunContext& context, const ir::ArrayType& type,
                                             std::int64_t elements) {
  std::vector<std::shared_ptr<void>> memory;
  for (const ScalarType s : type.scalars)
    memory.push_back(context.take_counted("results", elements * static_cast<std::int64_t>(size_of(s))));
  return memory;
}

std::vector<void*> addresses_of(const std::vector<std::shared_ptr<void>>& memory) {
  std::vector<void*> addresses;
  for (const auto& piece : memory) addresses.push_back(piece.get());
  return addresses;
}

void StageOutput::append(PartResults&& part) {
  for (std::size_t r = 0; r < part.shape.results.size(); ++r)
    copy_part(part.components[r], part.shape.results[r].elements, static_cast<int>(r));
  commit(std::move(part.shape));
}

void StageOutput::copy_part(const std::vector<const void*>& components, std::int64_t elements, int result) {
  const std::vector<void*> to = room(result, elements);
  for (std::size_t c = 0; c < to.size() && elements > 0; ++c) {
    const ScalarType s = array_of(static_cast<std::size_t>(result)).type.scalars[c];
    copy_on_all_threads(context_.executor, to[c], components[c],
                        elements * static_cast<std::int64_t>(size_of(s)));
  }
}

std::vector<void*> HeldResults::room(int result, std::int64_t elements) {
  rooms_.resize(stage_.results.size());
  auto& room = rooms_[static_cast<std::size_t>(result)];
  room.clear();
  room = take_room(context_, array_of(static_cast<std::size_t>(result)).type, elements);
  return addresses_of(room);
}

void HeldResults::commit(PartShape shape) {
  PartResults part;
  part.shape = std::move(shape);
  for (const auto& room : rooms_) {
    const std::vector<void*> addresses = addresses_of(room);
    part.components.emplace_back(addresses.begin(), addresses.end());
  }
  part.owned = std::move(rooms_);
  rooms_.clear();
  parts_.push_back(std::move(part));
}

void HeldResults::append(PartResults&& part) {
  if (part.owned.empty()) return StageOutput::append(std::move(part));
  parts_.push_back(std::move(part));
}

void HeldResults::move_to(StageOutput& sink) {
  std::size_t moved = 0;
  try {
    for (; moved < parts_.size(); ++moved) {
      sink.append(std::move(parts_[moved]));
      parts_[moved] = {};  // gives back its memory before the next one takes some
    }
  } catch (...) {
    parts_.erase(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(moved));
    throw;
  }
  parts_.clear();
}

void HeldResults::clear() {
  rooms_.clear();
  parts_.clear();
}

}  // namespace anabranch::runtime
