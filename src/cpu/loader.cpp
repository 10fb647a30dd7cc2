#include "cpu/loader.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <anabranch/error.h>

namespace anabranch::cpu {

LoadedImage::LoadedImage(std::span<const std::byte> image) {
  ImageHeader header;
  if (image.size() < sizeof header) throw InternalError("kernel image: truncated");
  std::memcpy(&header, image.data(), sizeof header);
  if (std::memcmp(header.magic, image_magic, sizeof header.magic) != 0)
    throw InternalError("kernel image: not an image");
  if (header.abi != abi_version)
    throw InternalError("kernel image: made for ABI " + std::to_string(header.abi));
  if (header.blob_bytes != image.size() - sizeof header || header.entries == 0 || header.entries > 4)
    throw InternalError("kernel image: damaged header");
  for (std::uint32_t e = 0; e < header.entries; ++e)
    if (header.entry[e] >= header.blob_bytes) throw InternalError("kernel image: damaged header");

  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t bytes = (image.size() + page - 1) / page * page;
  void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    throw ResourceError(std::string("no memory for a kernel: ") + std::strerror(errno));
  std::memcpy(pages, image.data(), image.size());
  if (::mprotect(pages, bytes, PROT_READ | PROT_EXEC) != 0) {
    const int reason = errno;
    ::munmap(pages, bytes);
    throw ResourceError(std::string("no executable memory for a kernel: ") + std::strerror(reason));
  }
  pages_ = pages;
  bytes_ = bytes;
  count_ = static_cast<int>(header.entries);
  auto* blob = static_cast<char*>(pages) + sizeof header;
  for (int e = 0; e < count_; ++e) entries_[e] = reinterpret_cast<Entry>(blob + header.entry[e]);
}

LoadedImage::LoadedImage(LoadedImage&& other) noexcept { *this = std::move(other); }

LoadedImage& LoadedImage::operator=(LoadedImage&& other) noexcept {
  std::swap(pages_, other.pages_);
  std::swap(bytes_, other.bytes_);
  std::swap(entries_, other.entries_);
  std::swap(count_, other.count_);
  return *this;
}

LoadedImage::~LoadedImage() {
  if (pages_) ::munmap(pages_, bytes_);
}

}  // namespace anabranch::cpu
