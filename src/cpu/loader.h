#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/abi.h"

namespace anabranch::cpu {

/// A kernel image in executable memory. The pages are written first and made read-execute afterwards: they
/// are never writable and executable at once.
class LoadedImage {
 public:
  LoadedImage() = default;
  /// Throws InternalError if the bytes are no image of this ABI, ResourceError where there are no such pages.
  explicit LoadedImage(std::span<const std::byte> image);
  LoadedImage(LoadedImage&& other) noexcept;
  LoadedImage& operator=(LoadedImage&& other) noexcept;
  LoadedImage(const LoadedImage&) = delete;
  LoadedImage& operator=(const LoadedImage&) = delete;
  ~LoadedImage();

  Entry entry(int number) const { return entries_[number]; }
  int entries() const { return count_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* pages_ = nullptr;
  std::size_t bytes_ = 0;
  Entry entries_[4] = {};
  int count_ = 0;
};

}  // namespace anabranch::cpu
