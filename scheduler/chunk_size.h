// The numbers that the scheduler works with: the size of a chunk, and limits for the next one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace anabranch::scheduler {

inline constexpr int64_t no_limit = std::numeric_limits<int64_t>::max();

/// What a chunk holds. `work` is in any unit proportional to computing time (elements, usually); `bytes` is
/// what the chunk needs while it is in flight: inputs, temporaries and outputs.
struct ChunkSize {
  int64_t items = 0;
  int64_t work = 0;
  int64_t bytes = 0;

  /// The size that cost models see: an item costs something even if it is empty.
  int64_t weight() const noexcept { return std::max<int64_t>({work, items, 1}); }
  bool operator==(const ChunkSize&) const = default;
};

/// Limits for the next chunk: a source stops before the
/// first one it would exceed, but takes at least one item.
struct Target {
  int64_t items = no_limit;
  int64_t work = no_limit;
  int64_t bytes = no_limit;

  bool operator==(const Target&) const = default;
};

/// Thrown by a phase that finds, before it has had any effect, that the chunk needs more memory than there is.
/// The pipeline tries again with fewer items. With a single item and the whole memory the exception reaches
/// the caller, so its message must be fit for a user: name the item and its size.
class ChunkTooBig : public std::runtime_error {
 public:
  ChunkTooBig(const std::string& message, const ChunkSize& tried)
      : std::runtime_error(message), tried_(tried) {}
  /// What was tried; items is at least 1.
  const ChunkSize& tried() const noexcept { return tried_; }

 private:
  ChunkSize tried_;
};

}  // namespace anabranch::scheduler
