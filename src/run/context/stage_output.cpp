#include "run/context/stage_output.h"

#include <algorithm>

#include <fmt/format.h>

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

void AppendedLater::add(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_.insert(bytes);
}
void AppendedLater::remove(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  bytes_.erase(bytes_.find(bytes));
}
std::int64_t AppendedLater::most() const {
  const std::lock_guard lock(mutex_);
  return bytes_.empty() ? 0 : *bytes_.rbegin();
}

/// In its turn it may be there twice for a moment, and be joined: what that takes is left, else nothing could be written in
/// order to have more.
std::vector<void*> HeldResults::room(int result, std::int64_t elements) {
  rooms_.resize(stage_.results.size());
  auto& room = rooms_[static_cast<std::size_t>(result)];
  room.clear();
  const ir::ArrayType& type = array_of(static_cast<std::size_t>(result)).type;
  room = take_room(context_, type, elements);
  const std::int64_t later =
      later_ == nullptr || !asks_ ? 0 : std::max(later_->most(), bytes_to_append_(result, elements));
  if (later > 0 && context_.budget.available() < later) {
    room.clear();
    throw scheduler::BudgetExceeded(
        fmt::format("results of {} bytes could not be appended in their turn", elements * width_of(type)),
        "results", later, 0, 0);
  }
  return addresses_of(room);
}

std::int64_t HeldResults::bytes_of(const PartShape& shape) const {
  std::int64_t bytes = 0;
  for (std::size_t r = 0; r < shape.results.size(); ++r)
    bytes += bytes_to_append_(static_cast<int>(r), shape.results[r].elements);
  return bytes;
}

void HeldResults::keep(PartResults&& part) {
  if (parts_.size() == parts_.capacity()) parts_.reserve(2 * parts_.size() + 1);
  part.later = later_ == nullptr ? 0 : bytes_of(part.shape);
  if (later_ != nullptr) later_->add(part.later);  // where there is no memory for that it is not kept
  parts_.push_back(std::move(part));
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
  keep(std::move(part));
}

void HeldResults::append(PartResults&& part) {
  if (part.owned.empty()) return StageOutput::append(std::move(part));
  keep(std::move(part));
}

void HeldResults::move_to(StageOutput& sink) {
  std::size_t moved = 0;
  try {
    for (; moved < parts_.size(); ++moved) {
      sink.append(std::move(parts_[moved]));
      if (later_ != nullptr) later_->remove(parts_[moved].later);
      parts_[moved] = {};  // gives back its memory before the next one takes some
    }
  } catch (...) {
    parts_.erase(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(moved));
    throw;
  }
  parts_.clear();
}

void HeldResults::clear() {
  for (const PartResults& part : parts_)
    if (later_ != nullptr) later_->remove(part.later);
  rooms_.clear();
  parts_.clear();
}

}  // namespace anabranch::runtime
