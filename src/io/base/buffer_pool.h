#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <anabranch/source.h>

/// Buffers of one kind (say: the values of a source's chunks), 64-byte aligned, reused when their last owner
/// releases them. Fresh memory costs a page fault and a cleared page every 4 KiB, several times what reading
/// it from the page cache costs.
///
/// Memory rule: a fresh buffer is allocated only after idle buffers of as many bytes were freed, those first that were
/// released first, or all where they have fewer. So the pool never holds more than the largest sum of buffers its users
/// held at one time: with a fresh buffer it holds no more than before, or nothing that is idle. Buffers of other sizes
/// and of other threads stay, which a stream in pieces on many threads soon asks for. Of many small ones some stay idle,
/// the others are freed.
namespace anabranch::io::detail {

class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  struct Buffer {
    std::shared_ptr<void> memory;
    /// Bytes that it really keeps alive: at least those asked for, at most about 1/8 more.
    std::int64_t capacity = 0;
  };

  Buffer take(std::int64_t bytes);
  /// Where fresh buffers come from; empty: the heap. What comes from elsewhere is not used again.
  void use_memory(const ChunkMemory& memory);

 private:
  struct Fresh {
    Buffer buffer;
    std::int64_t uses_of_memory;  ///< calls of use_memory before it was allocated
  };
  void give_back(Fresh fresh);
  void make_room(std::int64_t bytes);

  std::mutex mutex_;
  std::vector<Buffer> idle_;  ///< those first that were released first
  ChunkMemory memory_;
  std::int64_t uses_of_memory_ = 0;
};

/// Bytes of the largest buffer of a pool that has at most so many.
std::int64_t largest_buffer(std::int64_t bytes);

/// Buffers of a pool are up to an eighth larger than what they hold; for small ones that is ignored.
constexpr std::int64_t without_slack(std::int64_t bytes) {
  return bytes < 64 << 10 ? bytes : bytes - bytes / 8;
}

}  // namespace anabranch::io::detail
