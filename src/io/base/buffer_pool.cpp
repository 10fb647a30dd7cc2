#include "io/base/buffer_pool.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include <anabranch/array.h>
#include <anabranch/error.h>

#include <fmt/format.h>

namespace anabranch::io::detail {

namespace {

/// Idle buffers of a pool: each `take` looks at all of them.
constexpr std::size_t most_idle = 64;

/// Sizes come in steps of 1/16, so that chunks of nearly equal size can reuse each other's buffers.
std::int64_t step_of(std::int64_t bytes) {
  const auto floor =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1))));
  return std::max<std::int64_t>(floor / 16, 64);
}
std::int64_t round_up(std::int64_t bytes) {
  const std::int64_t step = step_of(bytes);
  return (bytes + step - 1) / step * step;
}

}  // namespace

std::int64_t largest_buffer(std::int64_t bytes) { return bytes - bytes % step_of(bytes); }

/// Frees idle buffers of so many bytes, as far as there are any: one by one, because a list of them would take memory.
void BufferPool::make_room(std::int64_t bytes) {
  while (bytes > 0) {
    Buffer oldest;  // freed without the lock
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return;
    oldest = std::move(idle_.front());
    idle_.erase(idle_.begin());
    bytes -= oldest.capacity;
  }
}

BufferPool::Buffer BufferPool::take(std::int64_t bytes) {
  Buffer found;
  ChunkMemory memory;
  std::int64_t uses_of_memory = 0;
  {
    std::lock_guard lock(mutex_);
    memory = memory_;
    uses_of_memory = uses_of_memory_;
    const std::int64_t most = round_up(bytes + bytes / 16);
    auto best = idle_.end();
    for (auto it = idle_.begin(); it != idle_.end(); ++it)
      if (it->capacity >= bytes && it->capacity <= most &&
          (best == idle_.end() || it->capacity < best->capacity))
        best = it;
    if (best != idle_.end()) {
      found = std::move(*best);
      idle_.erase(best);
    }
  }
  if (!found.memory) {
    found.capacity = round_up(bytes);
    make_room(found.capacity);
    try {
      found.memory = memory ? memory(found.capacity)
                            : anabranch::detail::allocate_aligned(static_cast<std::size_t>(found.capacity));
    } catch (const std::bad_alloc&) {
      throw ResourceError(fmt::format("a read buffer of {} bytes could not be allocated", found.capacity));
    }
  }
  void* at = found.memory.get();
  const std::int64_t capacity = found.capacity;
  // The handle given out owns the pool, not the memory: its deleter returns the buffer, under the lock,
  // whichever thread releases it last.
  auto lent =
      std::shared_ptr<void>(at, [pool = shared_from_this(), fresh = Fresh{std::move(found), uses_of_memory}](
                                    void*) mutable { pool->give_back(std::move(fresh)); });
  return {std::move(lent), capacity};
}

void BufferPool::use_memory(const ChunkMemory& memory) {
  std::vector<Buffer> dropped;
  const std::lock_guard lock(mutex_);
  if (!memory && !memory_) return;
  memory_ = memory;
  ++uses_of_memory_;
  dropped.swap(idle_);
}

void BufferPool::give_back(Fresh fresh) {
  std::lock_guard lock(mutex_);
  if (fresh.uses_of_memory != uses_of_memory_ || idle_.size() >= most_idle) return;
  try {
    idle_.push_back(std::move(fresh.buffer));
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
    // Freed instead of kept.
  }
}

}  // namespace anabranch::io::detail
