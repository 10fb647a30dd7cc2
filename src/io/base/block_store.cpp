#include "io/base/block_store.h"

#include <cstring>

namespace anabranch::io::detail {

std::int64_t BlockStore::put(const void* from, std::int64_t bytes) {
  if (file_) {
    file_->write(end_, from, bytes);
    end_ += bytes;
    return end_ - bytes;
  }
  auto block = std::make_unique_for_overwrite<unsigned char[]>(static_cast<std::size_t>(bytes));
  std::memcpy(block.get(), from, static_cast<std::size_t>(bytes));
  const std::lock_guard lock(mutex_);
  blocks_.push_back(std::move(block));
  return static_cast<std::int64_t>(blocks_.size()) - 1;
}

void BlockStore::take(std::int64_t block, void* into, std::int64_t bytes) {
  if (file_) {
    file_->read(block, into, bytes);
    file_->discard(block, bytes);
    return;
  }
  std::unique_ptr<unsigned char[]> taken;
  {
    const std::lock_guard lock(mutex_);
    taken = std::move(blocks_[static_cast<std::size_t>(block)]);
  }
  std::memcpy(into, taken.get(), static_cast<std::size_t>(bytes));
}

}  // namespace anabranch::io::detail
