#include "support/gpu_host/fake_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace anabranch::gpu_host {
namespace {

constexpr std::size_t guard = 256, quarantine_bytes = std::size_t{64} << 20;
constexpr unsigned char guard_byte = 0xbd, fresh_byte = 0xcb, freed_byte = 0xdb;

std::size_t whole(std::size_t bytes) { return (bytes + guard - 1) / guard * guard + 2 * guard; }

void poison(const void* at, std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(at, bytes);
#endif
  static_cast<void>(at), static_cast<void>(bytes);
}
void unpoison(const void* at, std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(at, bytes);
#endif
  static_cast<void>(at), static_cast<void>(bytes);
}

}  // namespace

FakeMemory::~FakeMemory() {
  while (!quarantine_.empty()) release_oldest();
  for (auto& [address, bytes] : blocks_) {
    unpoison(address - guard, whole(bytes));
    std::free(address - guard);
  }
}

void* FakeMemory::allocate(std::size_t bytes) {
  auto* base = static_cast<char*>(std::aligned_alloc(guard, whole(bytes)));
  if (!base) throw std::bad_alloc();
  std::memset(base, guard_byte, whole(bytes));
  std::memset(base + guard, fresh_byte, bytes);
  poison(base, guard);
  poison(base + guard + bytes, whole(bytes) - guard - bytes);
  blocks_[base + guard] = bytes;
  in_use_ += bytes;
  return base + guard;
}

bool FakeMemory::free(void* address) {
  const auto at = blocks_.find(static_cast<char*>(address));
  if (at == blocks_.end()) return false;
  const auto [begin, bytes] = *at;
  blocks_.erase(at);
  in_use_ -= bytes;
  unpoison(begin - guard, whole(bytes));
  const auto is_guard = [](char c) { return static_cast<unsigned char>(c) == guard_byte; };
  if (!std::all_of(begin - guard, begin, is_guard))
    violations_.push_back("something wrote before an allocation of " + std::to_string(bytes) + " bytes");
  if (!std::all_of(begin + bytes, begin - guard + whole(bytes), is_guard))
    violations_.push_back("something wrote behind an allocation of " + std::to_string(bytes) + " bytes");
  std::memset(begin, freed_byte, bytes);
  poison(begin - guard, whole(bytes));
  quarantine_.emplace_back(begin, bytes);
  quarantined_ += bytes;
  while (quarantined_ > quarantine_bytes) release_oldest();
  return true;
}

std::pair<void*, std::size_t> FakeMemory::block_of(const void* at) const {
  auto* const address = const_cast<char*>(static_cast<const char*>(at));
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return {nullptr, 0};
  const auto [begin, bytes] = *std::prev(after);
  return address <= begin + bytes ? std::pair<void*, std::size_t>(begin, bytes)
                                  : std::pair<void*, std::size_t>(nullptr, 0);
}

bool FakeMemory::holds(const void* from, std::size_t bytes) const {
  const auto [begin, size] = block_of(from);
  return begin && static_cast<const char*>(from) + bytes <= static_cast<char*>(begin) + size;
}

void FakeMemory::check_quarantine() {
  while (!quarantine_.empty()) release_oldest();
}

void FakeMemory::release_oldest() {
  const auto [begin, bytes] = quarantine_.front();
  quarantine_.pop_front();
  quarantined_ -= bytes;
  unpoison(begin - guard, whole(bytes));
  if (!std::all_of(begin, begin + bytes, [](char c) { return static_cast<unsigned char>(c) == freed_byte; }))
    violations_.push_back("something wrote into freed memory of " + std::to_string(bytes) + " bytes");
  std::free(begin - guard);
}

}  // namespace anabranch::gpu_host
