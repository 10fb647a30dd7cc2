#include "run/sinks/collector.h"

#include <algorithm>

namespace anabranch::runtime {

namespace {
/// Of so many elements; where that is more than there can be, what no machine has.
std::int64_t bytes_of(std::int64_t elements, std::int64_t width) {
  constexpr std::int64_t most = std::int64_t{1} << 62;
  return elements > most / std::max<std::int64_t>(width, 1) ? most : elements * width;
}
}  // namespace

Collector::Collector(const SinkWork& work, bool directly)
    : context_(work.context),
      array_(work.array),
      into_(work.into),
      directly_(directly),
      placed_(directly && work.context.budget.unlimited() ? work.into->capacity() : work.size.certain),
      reservation_(work.context.reserve("results", bytes_of(work.size.certain, width_of(work.array.type)))) {
  const ResultSize& size = work.size;
  if (directly_) {
    check_capacity(*into_, size.certain, *array_.node);
    for (const auto& memory : into_->buffers) buffers_.emplace_back(memory);
    return;
  }
  MemoryPool& pool = work.context.memory;
  const auto bytes = [](std::int64_t elements, ScalarType s) {
    return static_cast<std::size_t>(bytes_of(elements, static_cast<std::int64_t>(size_of(s)))) + 64;
  };
  for (ScalarType s : array_.type.scalars) {
    try {
      buffers_.emplace_back(pool, bytes(std::max(size.certain, size.likely), s));
    } catch (const ResourceError&) {
      if (size.likely <= size.certain) throw;
      buffers_.emplace_back(pool, bytes(size.certain, s));
    }
  }
}

std::vector<void*> Collector::room(std::int64_t elements) {
  if (directly_) check_capacity(*into_, elements_ + elements, *array_.node, true);
  const std::int64_t bytes = (elements_ + elements) * width_of(array_.type);
  if (bytes > reservation_.bytes()) context_.resize(reservation_, bytes);
  std::vector<void*> addresses;
  for (std::size_t c = 0; c < buffers_.size(); ++c)
    addresses.push_back(
        buffers_[c].room(static_cast<std::size_t>(elements) * size_of(array_.type.scalars[c])));
  return addresses;
}

/// Buffers that hold all from the beginning stay where they are, and so does memory of the caller's; but how much of that may
/// be used a memory bound says, part by part.
std::vector<void*> Collector::place(std::int64_t first, std::int64_t elements) const {
  std::vector<void*> addresses;
  if (first > placed_ - elements) return addresses;
  for (std::size_t c = 0; c < buffers_.size(); ++c)
    addresses.push_back(static_cast<std::byte*>(buffers_[c].data()) +
                        static_cast<std::size_t>(first) * size_of(array_.type.scalars[c]));
  return addresses;
}

void Collector::keep(std::int64_t elements) {
  for (std::size_t c = 0; c < buffers_.size(); ++c)
    buffers_[c].commit(static_cast<std::size_t>(elements) * size_of(array_.type.scalars[c]));
  elements_ += elements;
  const std::int64_t bytes = elements_ * width_of(array_.type);
  if (bytes > reservation_.bytes()) context_.resize(reservation_, bytes);  // of what had a place without room
}

void Collector::cut(std::int64_t elements) {
  for (std::size_t c = 0; c < buffers_.size(); ++c)
    buffers_[c].cut(static_cast<std::size_t>(elements) * size_of(array_.type.scalars[c]));
  elements_ = elements;
}

HostArray Collector::array_of(std::vector<std::int64_t> extents) {
  if (into_) return in_memory_of(*into_, std::move(extents));
  auto array = std::make_shared<detail::ArrayData>();
  array->scalars = array_.type.scalars;
  array->extents = std::move(extents);
  for (GrowingBuffer& b : buffers_) array->buffers.push_back(b.finish());
  return array;
}

}  // namespace anabranch::runtime
