#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "io/base/file.h"

/// Where the blocks of a sort wait: in a spool file, or in memory.
namespace anabranch::io::detail {

class BlockStore {
 public:
  /// In memory.
  BlockStore() = default;
  explicit BlockStore(std::shared_ptr<File> file) : file_(std::move(file)) {}

  /// Keeps a copy of these bytes; gives the block's name. One thread at a time.
  std::int64_t put(const void* from, std::int64_t bytes);
  /// Takes a block out, which is gone then: its space, and above all its pages in the page cache, serve the sorted
  /// arrays written meanwhile. Several threads may, also beside `put`.
  void take(std::int64_t block, void* into, std::int64_t bytes);

 private:
  std::shared_ptr<File> file_;  ///< null: in memory
  std::int64_t end_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<unsigned char[]>> blocks_;
};

}  // namespace anabranch::io::detail
