#include "run/memory/storage.h"

#include <algorithm>

namespace anabranch::runtime {

namespace {

/// A block is used for arrays of this part of its size. Smaller chunks, at the end of a stream or to learn what they cost, then find
/// memory that is in the cache, as they would if all were as small.
constexpr std::int64_t most_waste = 16;

}  // namespace

void* GrowingBuffer::room(std::size_t bytes) {
  const std::size_t wanted = used_ + bytes + 64;
  if (!given_ && wanted > memory_.bytes())
    memory_.grow(std::max(wanted, memory_.bytes() + memory_.bytes() / 2));
  return static_cast<unsigned char*>(data()) + used_;
}

std::shared_ptr<void> GrowingBuffer::finish() {
  if (given_) return std::move(given_);
  const std::size_t needed = used_ + 64;
  if (memory_.bytes() - needed > memory_.bytes() / 8) memory_.shrink(needed);
  return pool_->share(std::move(memory_));
}

BlockPool::~BlockPool() {
  for (Block& block : blocks_) memory_.give(std::move(block.memory));
}

void BlockPool::drop_below(std::int64_t bytes) {
  std::int64_t dropped = 0;
  std::erase_if(blocks_, [&](Block& block) {
    if (block.used || block.bytes >= bytes) return false;
    dropped += block.bytes;
    memory_.give(std::move(block.memory));
    return true;
  });
  reservation_.resize(reservation_.bytes() - dropped);
}

void BlockPool::trim() {
  const std::lock_guard lock(mutex_);
  drop_below(INT64_MAX);
}

void* BlockPool::take(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::int64_t wanted = bytes + 64;
  Block* best = nullptr;
  for (Block& block : blocks_)
    if (!block.used && block.bytes >= wanted && block.bytes / most_waste <= wanted &&
        (!best || block.bytes < best->bytes))
      best = &block;
  if (!best) {
    // Smaller idle blocks are given back first, and the pool may grow one of them into the new one. The
    // budget is asked before the memory is taken.
    drop_below(wanted);
    try {
      reservation_.resize(reservation_.bytes() + wanted);
    } catch (const scheduler::BudgetExceeded&) {
      drop_below(INT64_MAX);  // those that are much larger, too
      reservation_.resize(reservation_.bytes() + wanted);
    }
    try {
      best = &blocks_.emplace_back(memory_.take(static_cast<std::size_t>(wanted)), wanted);
    } catch (...) {
      reservation_.resize(reservation_.bytes() - wanted);
      throw;
    }
  }
  best->used = true;
  return best->memory.data();
}

void BlockPool::give(void* address) {
  const std::lock_guard lock(mutex_);
  const auto given = std::find_if(blocks_.begin(), blocks_.end(),
                                  [&](Block& block) { return block.memory.data() == address; });
  if (given != blocks_.end()) given->used = false;
}

}  // namespace anabranch::runtime
