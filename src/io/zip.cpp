#include "zip.h"

#include <algorithm>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "little_endian.h"

namespace anabranch::io::detail {

namespace {

constexpr std::uint32_t local_signature = 0x04034b50;
constexpr std::uint32_t central_signature = 0x02014b50;
constexpr std::uint32_t end_signature = 0x06054b50;
constexpr std::uint32_t end64_signature = 0x06064b50;
constexpr std::uint32_t locator64_signature = 0x07064b50;
constexpr std::int64_t end_bytes = 22;
constexpr std::int64_t longest_comment = 0xffff;
// A matrix has six members; this bounds what a hostile file can make us hold.
constexpr std::int64_t largest_directory = 1 << 20;

struct Directory {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int64_t entries = 0;
};

[[noreturn]] void fail(const ReadFile& file, const std::string& why) {
  throw DataError(fmt::format("{}: not a usable zip file: {}", file.name(), why));
}

Directory find_directory(const ReadFile& file) {
  const std::int64_t size = file.size();
  if (size < end_bytes) fail(file, fmt::format("{} bytes are too few", size));
  const std::int64_t tail_bytes = std::min(size, end_bytes + longest_comment);
  std::vector<unsigned char> tail(static_cast<std::size_t>(tail_bytes));
  file.read(size - tail_bytes, tail.data(), tail_bytes);
  std::int64_t at = tail_bytes - end_bytes;
  while (at >= 0 &&
         !(load<std::uint32_t>(&tail[static_cast<std::size_t>(at)]) == end_signature &&
           at + end_bytes + load<std::uint16_t>(&tail[static_cast<std::size_t>(at + 20)]) == tail_bytes))
    --at;
  if (at < 0) fail(file, "no end-of-directory record (is the file truncated?)");
  const unsigned char* record = &tail[static_cast<std::size_t>(at)];
  if (load<std::uint16_t>(record + 4) != load<std::uint16_t>(record + 6))
    fail(file, "it spans several disks");
  const std::int64_t end = size - tail_bytes + at;
  Directory out{load<std::uint32_t>(record + 16), load<std::uint32_t>(record + 12),
                load<std::uint16_t>(record + 10)};

  std::int64_t limit = end;
  if (end >= 20) {
    unsigned char locator[20];
    file.read(end - 20, locator, 20);
    if (load<std::uint32_t>(locator) == locator64_signature) {
      const std::int64_t end64 = load<std::int64_t>(locator + 8);
      if (end64 < 0 || end64 > end - 20 - 56) fail(file, "the zip64 locator points outside the file");
      unsigned char record64[56];
      file.read(end64, record64, 56);
      if (load<std::uint32_t>(record64) != end64_signature)
        fail(file, "the zip64 end-of-directory record is missing");
      out = {load<std::int64_t>(record64 + 48), load<std::int64_t>(record64 + 40),
             load<std::int64_t>(record64 + 32)};
      limit = end64;
    }
  }
  if (out.offset < 0 || out.bytes < 0 || out.bytes > limit || out.offset > limit - out.bytes)
    fail(file, "its directory lies outside the file");
  if (out.bytes > largest_directory)
    fail(file,
         fmt::format("a directory of {} bytes is larger than the {} allowed", out.bytes, largest_directory));
  if (out.entries < 0 || out.entries > out.bytes / 46)
    fail(file, "its directory is too short for its entries");
  return out;
}

/// Replaces the fields that are all ones by their zip64 values, which stand in this fixed order.
void apply_zip64(const ReadFile& file, const unsigned char* extra, std::int64_t bytes, ZipEntry& entry) {
  while (bytes >= 4) {
    const auto id = load<std::uint16_t>(extra);
    const std::int64_t length = load<std::uint16_t>(extra + 2);
    if (length > bytes - 4) break;
    if (id == 1) {
      const unsigned char* field = extra + 4;
      std::int64_t left = length;
      for (std::int64_t* value : {&entry.size, &entry.compressed, &entry.offset}) {
        if (*value != 0xffffffff) continue;
        if (left < 8) fail(file, fmt::format("the zip64 sizes of {} are missing", entry.name));
        *value = load<std::int64_t>(field);
        field += 8;
        left -= 8;
      }
    }
    extra += 4 + length;
    bytes -= 4 + length;
  }
}

/// Turns the offset of the local header into that of the data.
void find_data(const ReadFile& file, std::int64_t directory, ZipEntry& entry) {
  unsigned char local[30];
  if (entry.offset < 0 || entry.offset > directory - 30)
    fail(file, fmt::format("{} lies outside the file", entry.name));
  file.read(entry.offset, local, 30);
  if (load<std::uint32_t>(local) != local_signature)
    fail(file, fmt::format("no member header for {} at byte {}", entry.name, entry.offset));
  const std::int64_t name_bytes = load<std::uint16_t>(local + 26);
  std::string name(static_cast<std::size_t>(name_bytes), '\0');
  if (name_bytes > directory - entry.offset - 30)
    fail(file, fmt::format("{} lies outside the file", entry.name));
  file.read(entry.offset + 30, name.data(), name_bytes);
  if (name != entry.name)
    fail(file, fmt::format("the directory says {}, the member header at byte {} another name", entry.name,
                           entry.offset));
  entry.offset += 30 + name_bytes + load<std::uint16_t>(local + 28);
  if (entry.compressed < 0 || entry.size < 0 || entry.offset > directory ||
      entry.compressed > directory - entry.offset)
    fail(file, fmt::format("{} ({} bytes at byte {}) lies outside the file", entry.name, entry.compressed,
                           entry.offset));
  if (!entry.deflated && entry.size != entry.compressed)
    fail(file, fmt::format("{} is stored, but in {} bytes for a size of {}", entry.name, entry.compressed,
                           entry.size));
  // DEFLATE cannot expand more than 1032 times:
  // a larger claim is false, and is refused before anything is allocated.
  if (entry.deflated && entry.size / 1032 > entry.compressed)
    fail(file, fmt::format("{} cannot have {} bytes, it is compressed to {}", entry.name, entry.size,
                           entry.compressed));
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(const ReadFile& file) {
  const Directory directory = find_directory(file);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(directory.bytes));
  file.read(directory.offset, bytes.data(), directory.bytes);
  std::vector<ZipEntry> out;
  const unsigned char* at = bytes.data();
  std::int64_t left = directory.bytes;
  for (std::int64_t i = 0; i < directory.entries; ++i) {
    if (left < 46 || load<std::uint32_t>(at) != central_signature)
      fail(file, fmt::format("directory entry {} of {} is damaged", i + 1, directory.entries));
    const std::int64_t name_bytes = load<std::uint16_t>(at + 28);
    const std::int64_t extra_bytes = load<std::uint16_t>(at + 30);
    const std::int64_t entry_bytes = 46 + name_bytes + extra_bytes + load<std::uint16_t>(at + 32);
    if (entry_bytes > left)
      fail(file, fmt::format("directory entry {} of {} is damaged", i + 1, directory.entries));
    ZipEntry entry;
    entry.name.assign(reinterpret_cast<const char*>(at + 46), static_cast<std::size_t>(name_bytes));
    entry.crc = load<std::uint32_t>(at + 16);
    entry.compressed = load<std::uint32_t>(at + 20);
    entry.size = load<std::uint32_t>(at + 24);
    entry.offset = load<std::uint32_t>(at + 42);
    apply_zip64(file, at + 46 + name_bytes, extra_bytes, entry);
    const auto flags = load<std::uint16_t>(at + 8);
    const auto method = load<std::uint16_t>(at + 10);
    if (flags & 1) fail(file, fmt::format("{} is encrypted", entry.name));
    if (method != 0 && method != 8)
      fail(file, fmt::format("{} is compressed by method {}; only 0 (stored) and 8 (deflate) are read",
                             entry.name, method));
    entry.deflated = method == 8;
    find_data(file, directory.offset, entry);
    out.push_back(std::move(entry));
    at += entry_bytes;
    left -= entry_bytes;
  }
  return out;
}

}  // namespace anabranch::io::detail
