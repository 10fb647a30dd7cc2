#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "run/memory/memory.h"
#include "scheduler/budget.h"

/// Memory of a run: results that grow while a stream passes, and blocks for intermediate arrays.
namespace anabranch::runtime {

/// One component of a result that grows chunk by chunk.
class GrowingBuffer {
 public:
  /// Room for `bytes` at first. Pages that are not written cost nothing.
  GrowingBuffer(MemoryPool& pool, std::size_t bytes) : pool_(&pool), memory_(pool.take(bytes)) {}
  /// Into memory that somebody else owns and that is large enough for all that will be asked for.
  explicit GrowingBuffer(std::shared_ptr<void> given) : given_(std::move(given)) {}

  /// Address of the end, with room for `bytes` more.
  void* room(std::size_t bytes);
  void commit(std::size_t bytes) { used_ += bytes; }
  /// Only the first `bytes` are kept.
  void cut(std::size_t bytes) { used_ = bytes; }
  /// All of it, in memory that goes back to the pool.
  std::shared_ptr<void> finish();
  void* data() const { return given_ ? given_.get() : memory_.data(); }

 private:
  MemoryPool* pool_ = nullptr;
  Memory memory_;
  std::shared_ptr<void> given_;
  std::size_t used_ = 0;
};

/// Blocks for arrays that live for some steps of one chunk; what is freed is used again by later steps and
/// chunks. Every block is reserved in the budget before it is allocated. Thread-safe: a back end may compute one
/// chunk while it completes another.
class BlockPool {
 public:
  BlockPool(scheduler::Budget& budget, MemoryPool& memory)
      : reservation_(budget.reserve("intermediate arrays", 0)), memory_(memory) {}
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// At least `bytes` (64 more, so that clamped reads of empty arrays stay inside), 64-byte aligned.
  void* take(std::int64_t bytes);
  void give(void* block);
  /// Forgets blocks that are not in use.
  void trim();

 private:
  struct Block {
    Memory memory;
    std::int64_t bytes = 0;
    bool used = false;
  };
  /// Forgets blocks that are not in use and smaller than this.
  void drop_below(std::int64_t bytes);

  std::mutex mutex_;
  scheduler::Reservation reservation_;
  MemoryPool& memory_;
  std::vector<Block> blocks_;
};

}  // namespace anabranch::runtime
