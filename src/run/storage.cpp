#include "run/storage.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include <anabranch/array.h>
#include <anabranch/error.h>

namespace anabranch {

namespace {
constexpr std::size_t page = 4096;
constexpr std::size_t huge_from = std::size_t{4} << 20;  // below this, large pages waste more than they save
std::size_t rounded(std::size_t bytes) { return std::max(page, (bytes + page - 1) / page * page); }

[[noreturn]] void no_memory(std::size_t bytes) {
  throw ResourceError(fmt::format("the system gives no {} of memory",
                                  scheduler::format_bytes(static_cast<std::int64_t>(bytes))));
}
}  // namespace

Pages::Pages(std::size_t bytes) : bytes_(rounded(bytes)) {
  data_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data_ == MAP_FAILED) {
    data_ = nullptr;
    no_memory(bytes_);
  }
  if (bytes_ >= huge_from) ::madvise(data_, bytes_, MADV_HUGEPAGE);
}
Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
Pages::~Pages() {
  if (data_) ::munmap(data_, bytes_);
}

void Pages::grow(std::size_t bytes) {
  const std::size_t wanted = rounded(bytes);
  if (wanted <= bytes_) return;
  void* moved = ::mremap(data_, bytes_, wanted, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) no_memory(wanted);
  data_ = moved;
  bytes_ = wanted;
  if (bytes_ >= huge_from) ::madvise(data_, bytes_, MADV_HUGEPAGE);
}

Pages PagePool::take(std::size_t bytes) {
  const std::size_t wanted = rounded(bytes);
  {
    const std::lock_guard lock(mutex_);
    const auto it = kept_.lower_bound(wanted);
    if (it != kept_.end() && it->first <= 2 * wanted) {
      Pages pages = std::move(it->second);
      kept_.erase(it);
      return pages;
    }
  }
  return Pages(wanted);
}

void PagePool::give(Pages pages) noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t bytes = pages.bytes();
  try {
    kept_.emplace(bytes, std::move(pages));
  } catch (const std::bad_alloc&) {
    return;  // then the system gets them
  }
  if (kept_.size() > kept_at_most) kept_.erase(kept_.begin());
}

std::shared_ptr<void> PagePool::share(Pages pages) {
  void* data = pages.data();
  auto owner = std::make_shared<Pages>(std::move(pages));
  return {data, [owner, pool = weak_from_this()](void*) mutable {
            if (const auto alive = pool.lock()) alive->give(std::move(*owner));
          }};
}

void* GrowingBuffer::room(std::size_t bytes) {
  const std::size_t wanted = used_ + bytes + 64;
  if (wanted > pages_.bytes()) pages_.grow(std::max(wanted, pages_.bytes() + pages_.bytes() / 2));
  return static_cast<unsigned char*>(pages_.data()) + used_;
}

void* BlockPool::take(std::int64_t bytes) {
  const std::int64_t wanted = bytes + 64;
  auto it = free_.lower_bound(wanted);
  Block block;
  if (it != free_.end() && it->first <= 4 * wanted) {
    block = std::move(it->second);
    free_.erase(it);
  } else {
    // Smaller blocks that lie idle make room first;
    // then the budget is asked, and only then the memory is taken.
    while (!free_.empty() && free_.begin()->first < wanted) {
      reservation_.resize(reservation_.bytes() - free_.begin()->first);
      free_.erase(free_.begin());
    }
    reservation_.resize(reservation_.bytes() + wanted);
    try {
      block = {detail::allocate_aligned(static_cast<std::size_t>(wanted)), wanted};
    } catch (const std::bad_alloc&) {
      reservation_.resize(reservation_.bytes() - wanted);
      no_memory(static_cast<std::size_t>(wanted));
    }
  }
  void* address = block.memory.get();
  used_.emplace(address, std::move(block));
  return address;
}

void BlockPool::give(void* address) {
  const auto it = used_.find(address);
  if (it == used_.end()) return;
  const std::int64_t bytes = it->second.bytes;
  try {
    free_.emplace(bytes, std::move(it->second));
  } catch (const std::bad_alloc&) {
    reservation_.resize(reservation_.bytes() - bytes);  // then the system gets it
  }
  used_.erase(it);
}

void BlockPool::trim() {
  for (const auto& [bytes, block] : free_) reservation_.resize(reservation_.bytes() - bytes);
  free_.clear();
}

}  // namespace anabranch
