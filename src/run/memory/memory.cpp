#include "run/memory/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <anabranch/error.h>

#include "ir/aligned_memory.h"
#include "scheduler/budget.h"

namespace anabranch::runtime {

namespace {
constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t huge_from = 2 * huge_page;
constexpr std::size_t heap_up_to = std::size_t{32} << 10;

std::size_t rounded(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

[[noreturn]] void no_memory(std::size_t bytes) {
  throw ResourceError(fmt::format("the system gives no {} of memory",
                                  scheduler::format_bytes(static_cast<std::int64_t>(bytes))));
}

void* from_heap(std::size_t bytes) {
  void* const at = ir::aligned_from_heap(bytes);
  if (!at) no_memory(bytes);
  return at;
}

/// Address space, aligned to a large page where that is of use. Null where there is none.
void* map(std::size_t bytes, int protection) {
  const auto at_any_place = [&](std::size_t n) -> std::byte* {
    void* at = ::mmap(nullptr, n, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
  };
  if (bytes < huge_from) return at_any_place(bytes);
  const std::size_t mapped = bytes + huge_page - page;
  std::byte* const begin = at_any_place(mapped);
  if (!begin) return nullptr;
  const std::size_t before =
      rounded(reinterpret_cast<std::uintptr_t>(begin), huge_page) - reinterpret_cast<std::uintptr_t>(begin);
  const std::size_t after = mapped - before - bytes;
  if (before > 0) ::munmap(begin, before);
  if (after > 0) ::munmap(begin + before + bytes, after);
  return begin + before;
}

void on_large_pages(void* at, std::size_t bytes) {
  if (bytes >= huge_from) ::madvise(at, bytes, MADV_HUGEPAGE);
}
}  // namespace

Memory::Memory(std::size_t bytes) {
  if (bytes <= heap_up_to) {
    const std::size_t wanted = std::max(rounded(bytes, ir::memory_alignment), ir::memory_alignment);
    data_ = from_heap(wanted);
    bytes_ = wanted;
    on_heap_ = true;
    return;
  }
  if (bytes > SIZE_MAX / 2) no_memory(bytes);
  const std::size_t wanted = rounded(bytes, page);
  data_ = map(wanted, PROT_READ | PROT_WRITE);
  if (!data_) no_memory(wanted);
  bytes_ = wanted;
  on_large_pages(data_, bytes_);
}

Memory::Memory(Memory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      on_heap_(std::exchange(other.on_heap_, false)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  Memory moved(std::move(other));
  std::swap(data_, moved.data_);
  std::swap(bytes_, moved.bytes_);
  std::swap(on_heap_, moved.on_heap_);
  return *this;
}

Memory::~Memory() {
  if (on_heap_)
    ir::aligned_to_heap(data_);
  else if (data_)
    ::munmap(data_, bytes_);
}

void Memory::grow(std::size_t bytes) {
  if (bytes <= bytes_) return;
  if (!data_ || on_heap_) {
    Memory larger(bytes);
    if (data_) std::memcpy(larger.data_, data_, bytes_);
    *this = std::move(larger);
    return;
  }
  if (bytes > SIZE_MAX / 2) no_memory(bytes);
  const std::size_t wanted = rounded(bytes, page);
  const bool in_place = (wanted < huge_from || reinterpret_cast<std::uintptr_t>(data_) % huge_page == 0) &&
                        ::mremap(data_, bytes_, wanted, 0) != MAP_FAILED;
  if (!in_place) {
    // To an address of the same alignment: else the system splits every large page to move it.
    void* const place = map(wanted, PROT_NONE);
    if (!place) no_memory(wanted);
    // Where this fails, the system may have freed `place` and given it to another thread: it stays.
    if (::mremap(data_, bytes_, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED)
      no_memory(wanted);
    data_ = place;
  }
  bytes_ = wanted;
  on_large_pages(data_, bytes_);
}

void Memory::shrink(std::size_t bytes) {
  if (on_heap_ || !data_) return;
  const std::size_t kept = std::max(rounded(bytes, page), page);
  if (kept >= bytes_) return;
  ::munmap(static_cast<std::byte*>(data_) + kept, bytes_ - kept);
  bytes_ = kept;
}

void Memory::forget() {
  // For less memory the system call costs more than it may save.
  if (!on_heap_ && bytes_ >= huge_from) ::madvise(data_, bytes_, MADV_FREE);
}

MemoryPool& MemoryPool::of_process() {
  static MemoryPool& pool = *new MemoryPool;
  return pool;
}

Memory MemoryPool::remove(std::size_t at) noexcept {
  Memory memory = std::move(idle_[at]);
  std::move(idle_.begin() + static_cast<std::ptrdiff_t>(at) + 1,
            idle_.begin() + static_cast<std::ptrdiff_t>(pieces_),
            idle_.begin() + static_cast<std::ptrdiff_t>(at));
  --pieces_;
  if (at < forgotten_) --forgotten_;
  idle_bytes_ -= memory.bytes();
  return memory;
}

void MemoryPool::drop_to(std::size_t bytes, Dropped& dropped) noexcept {
  for (std::size_t n = 0; idle_bytes_ > bytes && pieces_ > 0; ++n) dropped[n] = remove(0);
}

Memory MemoryPool::take(std::size_t bytes) {
  if (bytes <= heap_up_to) return Memory(bytes);
  // What is beyond the size asked for counts against no memory bound.
  const std::size_t most = bytes + bytes / 8 + 16 * page;
  Memory found;
  {
    const std::lock_guard lock(mutex_);
    std::size_t best = pieces_;
    for (std::size_t i = 0; i < pieces_; ++i) {
      const std::size_t size = idle_[i].bytes();
      if (size > most || size < bytes / 2) continue;
      // Of equal pieces the one that was given back last: more of it is in the caches.
      const auto better = [&](std::size_t than) {
        return (size >= bytes) != (than >= bytes) ? size >= bytes
               : size >= bytes                    ? size <= than
                                                  : size >= than;
      };
      if (best == pieces_ || better(idle_[best].bytes())) best = i;
    }
    if (best < pieces_) found = remove(best);
  }
  if (!found.data()) return Memory(bytes);
  found.grow(bytes);
  return found;
}

void MemoryPool::give(Memory memory) noexcept {
  if (!memory.data() || memory.on_heap()) return;
  Dropped dropped;
  const std::lock_guard lock(mutex_);
  const std::size_t most = bounded_runs_ > 0 ? most_idle_in_bounded_runs : most_idle;
  if (memory.bytes() > most) return;
  drop_to(most - memory.bytes(), dropped);
  if (pieces_ == most_pieces) dropped.back() = remove(0);
  idle_bytes_ += memory.bytes();
  idle_[pieces_++] = std::move(memory);
  forget_older();
}

void MemoryPool::forget_older() noexcept {
  std::size_t remembered = 0, first = pieces_;
  while (first > forgotten_ && remembered + idle_[first - 1].bytes() <= most_remembered)
    remembered += idle_[--first].bytes();
  for (; forgotten_ < first; ++forgotten_) idle_[forgotten_].forget();
}

namespace {
/// Lives as long as somebody owns the memory.
struct Lent {
  Lent(MemoryPool& p, Memory m) : pool(p), memory(std::move(m)) {}
  ~Lent() { pool.give(std::move(memory)); }
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;

  MemoryPool& pool;
  Memory memory;
};
}  // namespace

std::shared_ptr<void> MemoryPool::share(Memory memory) {
  void* const data = memory.data();
  return {std::make_shared<Lent>(*this, std::move(memory)), data};
}

std::size_t MemoryPool::idle_bytes() const {
  const std::lock_guard lock(mutex_);
  return idle_bytes_;
}

MemoryPool::BoundedRun::BoundedRun(MemoryPool& pool) : pool_(pool) {
  Dropped dropped;
  const std::lock_guard lock(pool_.mutex_);
  ++pool_.bounded_runs_;
  pool_.drop_to(most_idle_in_bounded_runs, dropped);
}

MemoryPool::BoundedRun::~BoundedRun() {
  const std::lock_guard lock(pool_.mutex_);
  --pool_.bounded_runs_;
}

}  // namespace anabranch::runtime
