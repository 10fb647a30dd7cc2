#include "buffer_pool.h"

#include <algorithm>
#include <bit>
#include <new>

#include <anabranch/array.h>
#include <anabranch/error.h>

#include <fmt/format.h>

namespace anabranch::io::detail {

namespace {

/// Sizes come in steps of 1/16, so that chunks of nearly equal size can reuse each other's buffers.
std::int64_t round_up(std::int64_t bytes) {
  const auto floor =
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1))));
  const std::int64_t step = std::max<std::int64_t>(floor / 16, 64);
  return (bytes + step - 1) / step * step;
}

}  // namespace

BufferPool::Buffer BufferPool::take(std::int64_t bytes) {
  Buffer found;
  std::vector<Buffer> dropped;
  {
    std::lock_guard lock(mutex_);
    const std::int64_t most = round_up(bytes + bytes / 16);
    auto best = idle_.end();
    for (auto it = idle_.begin(); it != idle_.end(); ++it)
      if (it->capacity >= bytes && it->capacity <= most &&
          (best == idle_.end() || it->capacity < best->capacity))
        best = it;
    if (best != idle_.end()) {
      found = std::move(*best);
      idle_.erase(best);
    } else {
      dropped.swap(idle_);
    }
  }
  if (!found.memory) {
    dropped.clear();
    found.capacity = round_up(bytes);
    try {
      found.memory = anabranch::detail::allocate_aligned(static_cast<std::size_t>(found.capacity));
    } catch (const std::bad_alloc&) {
      throw ResourceError(fmt::format("a read buffer of {} bytes could not be allocated", found.capacity));
    }
  }
  void* at = found.memory.get();
  const std::int64_t capacity = found.capacity;
  // The handle given out owns the pool, not the memory: its deleter returns the buffer, under the lock,
  // whichever thread releases it last.
  auto lent = std::shared_ptr<void>(at, [pool = shared_from_this(), buffer = std::move(found)](
                                            void*) mutable { pool->give_back(std::move(buffer)); });
  return {std::move(lent), capacity};
}

void BufferPool::give_back(Buffer buffer) {
  std::lock_guard lock(mutex_);
  try {
    idle_.push_back(std::move(buffer));
  } catch (const std::bad_alloc&) {
    // Freed instead of kept.
  }
}

}  // namespace anabranch::io::detail
