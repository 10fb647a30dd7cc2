#pragma once

#include <cstdint>
#include <string>

/// CRC-32 as zip files carry it (polynomial 0xEDB88320).
namespace anabranch::io::detail {

/// The sum of bytes with this sum before them. 0 is the sum of nothing.
std::uint32_t crc32(std::uint32_t before, const void* bytes, std::int64_t count);
/// Of a page of an Ogg stream: the same polynomial, the highest bit first, from 0 on.
std::uint32_t ogg_crc32(const void* bytes, std::int64_t count);
/// The sum of two ranges one after the other, the second `second_bytes` long.
std::uint32_t crc32_of_both(std::uint32_t first, std::uint32_t second, std::int64_t second_bytes);

/// The sum of a zip member, taken while the member is read from its beginning.
class MemberChecksum {
 public:
  /// `file` and `member` for messages.
  MemberChecksum(std::string file, std::string member, std::uint32_t expected)
      : file_(std::move(file)), member_(std::move(member)), expected_(expected) {}

  void begin() { sum_ = 0; }
  void add(const void* bytes, std::int64_t count) { sum_ = crc32(sum_, bytes, count); }
  /// The next `count` bytes, whose sum is known.
  void add_sum(std::uint32_t sum, std::int64_t count) { sum_ = crc32_of_both(sum_, sum, count); }
  /// At the member's end: DataError with both sums unless they agree.
  void check() const;

 private:
  std::string file_, member_;
  std::uint32_t expected_;
  std::uint32_t sum_ = 0;
};

}  // namespace anabranch::io::detail
