#pragma once

#include <array>
#include <atomic>
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
/// chunks. Every block is reserved in the budget before it is allocated. Thread-safe: many threads compute pieces, and
/// one chunk may be completed while another is computed.
///
/// A block belongs to the thread that took it last, in whose core's cache it presumably is. Threads that compute pieces
/// side by side take their own blocks only: neither do they wait for each other nor fetch what another core has written.
class BlockPool {
 public:
  enum class From : std::uint8_t {
    own,  ///< idle blocks of this thread, else a new one, unless most of all blocks lie idle
    all   ///< idle blocks of any thread, this one's first
  };

  BlockPool(scheduler::Budget& budget, MemoryPool& memory) : budget_(budget), memory_(memory) {}
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// At least `bytes` (64 more, so that clamped reads of empty arrays stay inside), 64-byte aligned. Throws
  /// BudgetExceeded if there is not so much even without any idle block.
  void* take(std::int64_t bytes, From from = From::all);
  /// To the thread that took it.
  void give(void* block) noexcept;
  /// Forgets blocks that are not in use.
  void trim() { drop_below(INT64_MAX); }

 private:
  struct Shelf;
  struct Head;  ///< before what is given out: whose it is
  struct Block {
    Memory memory;
    scheduler::Reservation reservation;
    Shelf* shelf = nullptr;  ///< changes only while the block is idle
    bool used = false;

    std::int64_t bytes() const { return reservation.bytes(); }
    void* data() const;
  };
  /// The blocks of a thread, or of several where there are many threads.
  struct Shelf {
    std::mutex mutex;
    std::vector<std::unique_ptr<Block>> blocks;
  };
  static constexpr std::size_t most_shelves = 64;

  Shelf& own_shelf();
  std::unique_ptr<Block> take_idle(Shelf& shelf, std::int64_t bytes);
  std::unique_ptr<Block> take_idle(std::int64_t bytes);
  bool is_mostly_idle(std::int64_t beside);
  std::unique_ptr<Block> make(std::int64_t bytes, From from);
  /// Forgets blocks that are not in use and smaller than this.
  void drop_below(Shelf& shelf, std::int64_t bytes);
  void drop_below(std::int64_t bytes);

  scheduler::Budget& budget_;
  MemoryPool& memory_;
  std::array<std::atomic<Shelf*>, most_shelves>
      shelves_{};  ///< by the number of the thread; made when it is needed
};

}  // namespace anabranch::runtime
