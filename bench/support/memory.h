#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <span>

/// Arrays for measurements: every contender reads and writes memory of the same kind, page-aligned, on large
/// pages where the system has them, touched before the clock runs.
namespace anabranch::bench {

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) : size_(size) {
    const std::size_t bytes = (size * sizeof(T) + 64 + 4095) / 4096 * 4096;
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    ::madvise(at, bytes, MADV_HUGEPAGE);
    data_ = std::shared_ptr<T>(static_cast<T*>(at), [bytes](T* p) { ::munmap(p, bytes); });
    for (std::size_t i = 0; i < size; i += 4096 / sizeof(T)) data_.get()[i] = T{};
  }

  T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) const { return data_.get()[i]; }
  std::span<const T> span() const { return {data_.get(), size_}; }

 private:
  std::shared_ptr<T> data_;
  std::size_t size_ = 0;
};

}  // namespace anabranch::bench
