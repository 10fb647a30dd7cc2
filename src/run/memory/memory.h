#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

/// Large memory that is written once per run: results and intermediate arrays. Fresh pages are expensive:
/// clearing and mapping them costs several times what a kernel needs to fill them. So large memory lies on large pages
/// wherever the system has them, growing it keeps those whole, and what is given back is used again.
namespace anabranch::runtime {

/// One piece of memory, aligned to 64 bytes: from the heap while it is small, else pages of its own.
class Memory {
 public:
  Memory() = default;
  /// At least `bytes`. Throws ResourceError where the system gives no more.
  explicit Memory(std::size_t bytes);
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  ~Memory();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  bool on_heap() const { return on_heap_; }

  /// At least `bytes`; keeps the contents; may move. Of pages it moves the tables, not the bytes.
  void grow(std::size_t bytes);
  /// Gives back whole pages beyond `bytes`.
  void shrink(std::size_t bytes);
  /// The contents are no longer needed: the system may take the pages back, should it run short, and else
  /// they are still there when they are written again.
  void forget();

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool on_heap_ = false;
};

/// Memory of finished runs, kept for the next ones, of all programs of the process. Bounded, as it
/// counts against no run's memory bound. Thread-safe.
class MemoryPool {
 public:
  /// At most this much lies idle; while a run with a memory bound is under way, the lesser amount.
  static constexpr std::size_t most_idle = std::size_t{256} << 20;
  static constexpr std::size_t most_idle_in_bounded_runs = std::size_t{16} << 20;
  /// Of that, what was given back last is taken next, in each round of a loop: so much of it is not forgotten, which
  /// would make the processor look up all of its pages anew.
  static constexpr std::size_t most_remembered = std::size_t{64} << 20;

  /// The one that runs use. It is never destroyed: results may outlive everything else.
  static MemoryPool& of_process();

  MemoryPool() = default;
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// At least `bytes`, and not much more: idle memory of about that size, smaller idle memory that grows, or
  /// new memory.
  Memory take(std::size_t bytes);
  void give(Memory memory) noexcept;
  /// Memory that is given back when its last owner is destroyed. The pool must outlive it.
  std::shared_ptr<void> share(Memory memory);
  std::size_t idle_bytes() const;

  /// A run with a memory bound is under way.
  class BoundedRun {
   public:
    explicit BoundedRun(MemoryPool& pool);
    ~BoundedRun();
    BoundedRun(const BoundedRun&) = delete;
    BoundedRun& operator=(const BoundedRun&) = delete;

   private:
    MemoryPool& pool_;
  };

 private:
  static constexpr std::size_t most_pieces = 256;  // of many threads, each of which has several
  /// Removes the oldest idle pieces until at most `bytes` are left; they are freed when the lock is not held.
  using Dropped = std::array<Memory, most_pieces>;
  void drop_to(std::size_t bytes, Dropped& dropped) noexcept;
  Memory remove(std::size_t at) noexcept;
  void forget_older() noexcept;

  mutable std::mutex mutex_;
  std::array<Memory, most_pieces> idle_;  ///< the first `pieces_`, the oldest first
  std::size_t pieces_ = 0;
  std::size_t forgotten_ = 0;  ///< the oldest ones
  std::size_t idle_bytes_ = 0;
  int bounded_runs_ = 0;
};

}  // namespace anabranch::runtime
