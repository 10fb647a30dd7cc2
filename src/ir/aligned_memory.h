#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

/// Memory of the heap that is aligned as vectors and cache lines are.
namespace anabranch::ir {

constexpr std::size_t memory_alignment = 64;

#if defined(__SANITIZE_ADDRESS__)  // which sees no further than the heap's blocks
inline void* aligned_from_heap(std::size_t bytes) noexcept {
  const std::size_t wanted = bytes / memory_alignment * memory_alignment + memory_alignment;
  return wanted < bytes ? nullptr : std::aligned_alloc(memory_alignment, wanted);
}
inline void aligned_to_heap(void* at) noexcept { std::free(at); }
#else
/// Null where there is none. Not by std::aligned_alloc: glibc cuts what is aligned out of a larger block each time, and keeps
/// none in its caches for threads. In front of the memory lies where its block begins.
inline void* aligned_from_heap(std::size_t bytes) noexcept {
  static_assert(alignof(std::max_align_t) >= sizeof(void*));
  if (bytes > SIZE_MAX - memory_alignment) return nullptr;
  auto* const block = static_cast<std::byte*>(std::malloc(bytes + memory_alignment));
  if (block == nullptr) return nullptr;
  std::byte* const at = block + memory_alignment - reinterpret_cast<std::uintptr_t>(block) % memory_alignment;
  std::memcpy(at - sizeof block, static_cast<const void*>(&block), sizeof block);
  return at;
}
inline void aligned_to_heap(void* at) noexcept {
  if (at == nullptr) return;
  std::byte* block;
  std::memcpy(static_cast<void*>(&block), static_cast<std::byte*>(at) - sizeof block, sizeof block);
  std::free(block);
}
#endif

}  // namespace anabranch::ir
