#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "scheduler/budget.h"

/// Memory of a run: results that grow while a stream passes, and blocks for intermediate arrays.
namespace anabranch {

/// Pages from the system. Growing moves page tables, not bytes, so a result is never held twice.
class Pages {
 public:
  Pages() = default;
  explicit Pages(std::size_t bytes);
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// At least `bytes`; may move.
  void grow(std::size_t bytes);

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Pages that earlier results of the same program have given back: a program that is run again writes into
/// warm memory. Thread-safe; outlived by nothing (results hold it weakly).
class PagePool : public std::enable_shared_from_this<PagePool> {
 public:
  /// Smallest kept pages of at least `bytes` and at most twice that, or new ones.
  Pages take(std::size_t bytes);
  void give(Pages pages) noexcept;
  /// Wraps pages so that they come back when the last owner lets go.
  std::shared_ptr<void> share(Pages pages);

 private:
  static constexpr std::size_t kept_at_most = 8;
  std::mutex mutex_;
  std::multimap<std::size_t, Pages> kept_;
};

/// One component of a result that grows chunk by chunk.
class GrowingBuffer {
 public:
  GrowingBuffer(PagePool& pool, std::size_t expected_bytes)
      : pool_(&pool), pages_(pool.take(expected_bytes)) {}
  /// Address of the end, with room for `bytes` more.
  void* room(std::size_t bytes);
  void commit(std::size_t bytes) { used_ += bytes; }
  std::size_t used() const { return used_; }
  std::shared_ptr<void> finish() { return pool_->share(std::move(pages_)); }
  const void* data() const { return pages_.data(); }

 private:
  PagePool* pool_;
  Pages pages_;
  std::size_t used_ = 0;
};

/// Blocks for arrays that live for some steps of one chunk; what is freed is used again by later steps and
/// chunks. Every block is reserved in the budget before it is allocated.
class BlockPool {
 public:
  explicit BlockPool(scheduler::Budget& budget) : reservation_(budget.reserve("intermediate arrays", 0)) {}

  /// At least `bytes` (64 more, so that clamped reads of empty arrays stay inside), 64-byte aligned.
  void* take(std::int64_t bytes);
  void give(void* block);
  /// Forgets blocks that are not in use.
  void trim();

 private:
  struct Block {
    std::shared_ptr<void> memory;
    std::int64_t bytes = 0;
  };
  scheduler::Reservation reservation_;
  std::multimap<std::int64_t, Block> free_;
  std::map<void*, Block> used_;
};

}  // namespace anabranch
