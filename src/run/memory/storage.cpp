#include "run/memory/storage.h"

#include <algorithm>
#include <new>
#include <utility>

#include "ir/aligned_memory.h"

namespace anabranch::runtime {

namespace {

/// A block is used for arrays of this part of its size. Smaller chunks, at the end of a stream or to learn what they cost, then find
/// memory that is in the cache, as they would if all were as small.
constexpr std::int64_t most_waste = 16;

constexpr const char* name_in_budget = "intermediate arrays";

/// Bytes before what is given out, for a Head: as many as it is aligned to.
constexpr std::size_t head_bytes = ir::memory_alignment;
/// Behind it: what clamped reads of empty arrays may touch.
constexpr std::int64_t tail_bytes = 64;

/// Threads in the order in which they have asked.
std::size_t number_of_this_thread() {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return number;
}

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

struct BlockPool::Head {
  Block* block;
};

void* BlockPool::Block::data() const { return static_cast<std::byte*>(memory.data()) + head_bytes; }

BlockPool::~BlockPool() {
  for (const auto& at : shelves_) {
    const std::unique_ptr<Shelf> shelf(at.load());
    if (!shelf) continue;
    for (const auto& block : shelf->blocks) memory_.give(std::move(block->memory));
  }
}

BlockPool::Shelf& BlockPool::own_shelf() {
  std::atomic<Shelf*>& at = shelves_[number_of_this_thread() % most_shelves];
  if (Shelf* const known = at.load(std::memory_order_acquire)) return *known;
  auto made = std::make_unique<Shelf>();
  Shelf* other = nullptr;
  return at.compare_exchange_strong(other, made.get()) ? *made.release() : *other;
}

/// The smallest one that is large enough; its place on the shelf is given up.
std::unique_ptr<BlockPool::Block> BlockPool::take_idle(Shelf& shelf, std::int64_t bytes) {
  const std::lock_guard lock(shelf.mutex);
  auto best = shelf.blocks.end();
  for (auto at = shelf.blocks.begin(); at != shelf.blocks.end(); ++at) {
    const Block& block = **at;
    if (!block.used && block.bytes() >= bytes && block.bytes() / most_waste <= bytes &&
        (best == shelf.blocks.end() || block.bytes() < (*best)->bytes()))
      best = at;
  }
  if (best == shelf.blocks.end()) return nullptr;
  std::swap(*best, shelf.blocks.back());
  std::unique_ptr<Block> block = std::move(shelf.blocks.back());
  shelf.blocks.pop_back();
  return block;
}

std::unique_ptr<BlockPool::Block> BlockPool::take_idle(std::int64_t bytes) {
  for (const auto& at : shelves_)
    if (Shelf* const shelf = at.load(std::memory_order_acquire))
      if (auto block = take_idle(*shelf, bytes)) return block;
  return nullptr;
}

/// Four of five bytes: threads come and go, as in arenas that are smaller than the pool of threads, and do not come back.
bool BlockPool::is_mostly_idle(std::int64_t beside) {
  std::int64_t used = beside, idle = 0;
  for (const auto& at : shelves_) {
    Shelf* const shelf = at.load(std::memory_order_acquire);
    if (!shelf) continue;
    const std::lock_guard lock(shelf->mutex);
    for (const auto& block : shelf->blocks) (block->used ? used : idle) += block->bytes();
  }
  return idle / 4 > used;
}

/// Smaller idle blocks are given back first, and the pool may grow one of them into the new one. The budget is asked
/// before the memory is taken.
std::unique_ptr<BlockPool::Block> BlockPool::make(std::int64_t bytes, From from) {
  if (from == From::all)
    drop_below(bytes);
  else
    drop_below(own_shelf(), bytes);
  auto block = std::make_unique<Block>();
  auto reservation = budget_.try_reserve(name_in_budget, bytes);
  if (!reservation) trim();  // those that are much larger, and other threads', too
  block->reservation = reservation ? std::move(*reservation) : budget_.reserve(name_in_budget, bytes);
  block->memory = memory_.take(static_cast<std::size_t>(bytes));
  return block;
}

void BlockPool::drop_below(Shelf& shelf, std::int64_t bytes) {
  const std::lock_guard lock(shelf.mutex);
  std::erase_if(shelf.blocks, [&](const std::unique_ptr<Block>& block) {
    if (block->used || block->bytes() >= bytes) return false;
    memory_.give(std::move(block->memory));
    return true;
  });
}

void BlockPool::drop_below(std::int64_t bytes) {
  for (const auto& at : shelves_)
    if (Shelf* const shelf = at.load(std::memory_order_acquire)) drop_below(*shelf, bytes);
}

void* BlockPool::take(std::int64_t bytes, From from) {
  const std::int64_t wanted = bytes + static_cast<std::int64_t>(head_bytes) + tail_bytes;
  Shelf& own = own_shelf();
  std::unique_ptr<Block> block = take_idle(own, wanted);
  if (!block && (from == From::all || is_mostly_idle(wanted))) block = take_idle(wanted);
  if (!block) block = make(wanted, from);
  block->used = true;
  block->shelf = &own;
  Block* const taken = block.get();
  new (taken->memory.data()) Head{taken};
  const std::lock_guard lock(own.mutex);
  own.blocks.push_back(std::move(block));
  return taken->data();
}

void BlockPool::give(void* address) noexcept {
  Block* const block =
      reinterpret_cast<const Head*>(static_cast<const std::byte*>(address) - head_bytes)->block;
  const std::lock_guard lock(block->shelf->mutex);
  block->used = false;
}

}  // namespace anabranch::runtime
