#include "io/base/zip.h"
#include "io/base/shown.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/counted.h"
#include "io/base/little_endian.h"

namespace anabranch::io::detail {

namespace {

constexpr std::uint32_t local_signature = 0x04034b50;
constexpr std::uint32_t central_signature = 0x02014b50;
constexpr std::uint32_t end_signature = 0x06054b50;
constexpr std::uint32_t end64_signature = 0x06064b50;
constexpr std::uint32_t locator64_signature = 0x07064b50;
constexpr std::int64_t header_bytes = 30;  // of a member, before its name
constexpr std::int64_t entry_bytes = 46;   // of the directory, before the name
constexpr std::int64_t end_bytes = 22;     // the end record, before its comment
constexpr std::int64_t end64_bytes = 56;
constexpr std::int64_t locator64_bytes = 20;
constexpr std::int64_t see_zip64 = 0xffffffff;
constexpr std::int64_t see_zip64_short = 0xffff;
constexpr unsigned flag_encrypted = 1, flag_sizes_follow = 8, flag_strong = 0x40, flag_masked = 0x2000;
constexpr std::uint16_t method_stored = 0, method_deflate = 8;
constexpr std::int64_t longest_comment = 0xffff;
// A matrix has six members; this bounds what a hostile file can make us hold.
constexpr std::int64_t largest_directory = 1 << 20;

struct Directory {
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  std::int64_t entries = 0;
};

[[noreturn]] void fail(const ReadFile& file, const std::string& why) {
  throw DataError(
      fmt::format("{}: not a usable zip file: {}", file.name(), printable(why)));  // with names of members
}

/// The zip64 end record that a locator before the end record points to, which begins at `end`. Its numbers
/// are the directory's; those of the end record itself agree, or are all ones. Returns where it begins.
std::int64_t find_directory64(const ReadFile& file, std::int64_t end, const unsigned char* locator,
                              Directory& directory) {
  const std::int64_t begin = load<std::int64_t>(locator + 8);
  if (load<std::uint32_t>(locator + 4) != 0 || load<std::uint32_t>(locator + 16) > 1)
    fail(file, "it spans several disks");
  if (begin < 0 || begin > end - locator64_bytes - end64_bytes)
    fail(file, "the zip64 locator points outside the file");
  unsigned char record[end64_bytes];
  file.read(begin, record, end64_bytes);
  if (load<std::uint32_t>(record) != end64_signature)
    fail(file, "the zip64 end-of-directory record is missing");
  if (load<std::int64_t>(record + 4) != end - locator64_bytes - begin - 12)
    fail(file, "the zip64 end-of-directory record does not end where its locator begins");
  if (load<std::uint32_t>(record + 16) != 0 || load<std::uint32_t>(record + 20) != 0 ||
      load<std::int64_t>(record + 24) != load<std::int64_t>(record + 32))
    fail(file, "it spans several disks");
  const Directory found{load<std::int64_t>(record + 48), load<std::int64_t>(record + 40),
                        load<std::int64_t>(record + 32)};
  if ((directory.offset != see_zip64 && directory.offset != found.offset) ||
      (directory.bytes != see_zip64 && directory.bytes != found.bytes) ||
      (directory.entries != see_zip64_short && directory.entries != found.entries))
    fail(file, "its two end-of-directory records disagree");
  directory = found;
  return begin;
}

/// Readers that look for the directory in other ways find the same one, or the file is refused: the last end
/// record ends the file, and the directory ends where the records begin.
Directory find_directory(const ReadFile& file) {
  const std::int64_t size = file.size();
  if (size < end_bytes) fail(file, fmt::format("{} bytes are too few", size));
  const std::int64_t tail_bytes = std::min(size, end_bytes + longest_comment);
  std::vector<unsigned char> tail(static_cast<std::size_t>(tail_bytes));
  file.read(size - tail_bytes, tail.data(), tail_bytes);
  std::int64_t at = tail_bytes - end_bytes;
  while (at >= 0 && load<std::uint32_t>(&tail[static_cast<std::size_t>(at)]) != end_signature) --at;
  if (at < 0) fail(file, "no end-of-directory record (is the file truncated?)");
  const unsigned char* record = &tail[static_cast<std::size_t>(at)];
  if (at + end_bytes + load<std::uint16_t>(record + 20) != tail_bytes)
    fail(file, "its end-of-directory record is not the end of the file");
  const std::int64_t end = size - tail_bytes + at;
  Directory out{load<std::uint32_t>(record + 16), load<std::uint32_t>(record + 12),
                load<std::uint16_t>(record + 10)};
  std::int64_t limit = end;
  bool zip64 = false;
  if (end >= locator64_bytes) {
    unsigned char locator[locator64_bytes];
    file.read(end - locator64_bytes, locator, locator64_bytes);
    zip64 = load<std::uint32_t>(locator) == locator64_signature;
    if (zip64) limit = find_directory64(file, end, locator, out);
  }
  for (const int field : {4, 6})
    if (const auto disk = load<std::uint16_t>(record + field); disk != 0 && !(zip64 && disk == 0xffff))
      fail(file, "it spans several disks");
  if (load<std::uint16_t>(record + 8) != load<std::uint16_t>(record + 10))
    fail(file, "it spans several disks");
  if (out.offset < 0 || out.bytes < 0 || out.bytes > limit || out.offset > limit - out.bytes)
    fail(file, "its directory lies outside the file");
  if (out.offset + out.bytes != limit)
    fail(file, fmt::format("its directory ends at byte {}, and not at byte {}, where its end record begins",
                           out.offset + out.bytes, limit));
  if (out.bytes > largest_directory)
    fail(file,
         fmt::format("a directory of {} bytes is larger than the {} allowed", out.bytes, largest_directory));
  if (out.entries < 0 || out.entries > out.bytes / entry_bytes)
    fail(file, "its directory is too short for its entries");
  return out;
}

/// What a member's header and its entry in the directory both say.
struct Facts {
  std::uint16_t flags;
  std::uint16_t method;
  std::uint32_t crc;
  std::int64_t compressed;
  std::int64_t size;

  /// From the fields that stand in this order in both.
  explicit Facts(const unsigned char* at)
      : flags(load<std::uint16_t>(at)),
        method(load<std::uint16_t>(at + 2)),
        crc(load<std::uint32_t>(at + 8)),
        compressed(load<std::uint32_t>(at + 12)),
        size(load<std::uint32_t>(at + 16)) {}
  bool encrypted() const { return (flags & (flag_encrypted | flag_strong | flag_masked)) != 0; }
  bool sizes_follow() const { return (flags & flag_sizes_follow) != 0; }
};

/// Replaces those of these fields that are all ones by their zip64 values, which stand in this order.
void apply_zip64(const ReadFile& file, const std::string& name, const unsigned char* extra,
                 std::int64_t bytes, std::initializer_list<std::int64_t*> fields) {
  bool seen = false;
  while (bytes >= 4) {
    const auto id = load<std::uint16_t>(extra);
    const std::int64_t length = load<std::uint16_t>(extra + 2);
    if (length > bytes - 4 || (id == 1 && seen))
      fail(file, fmt::format("the extra fields of {} are damaged", name));
    if (id == 1) {
      seen = true;
      const unsigned char* field = extra + 4;
      std::int64_t left = length;
      for (std::int64_t* value : fields) {
        if (*value != see_zip64) continue;
        if (left < 8) fail(file, fmt::format("the zip64 sizes of {} are missing", name));
        *value = load<std::int64_t>(field);
        field += 8;
        left -= 8;
      }
    }
    extra += 4 + length;
    bytes -= 4 + length;
  }
}

/// Refuses a member whose own header contradicts the directory: readers that trust the one would read other
/// numbers than readers that trust the other.
void compare(const ReadFile& file, const std::string& name, const Facts& header, const Facts& directory) {
  const auto differ = [&](const char* what, const auto& in_header, const auto& in_directory) {
    fail(file, fmt::format("{}: its header and the directory disagree on the {}: {} and {}", name, what,
                           in_header, in_directory));
  };
  if (header.encrypted() != directory.encrypted())
    differ("encryption", header.encrypted() ? "yes" : "no", directory.encrypted() ? "yes" : "no");
  if (header.method != directory.method) differ("method", header.method, directory.method);
  if (header.sizes_follow() != directory.sizes_follow())
    differ("place of the sizes", header.sizes_follow() ? "after the data" : "before the data",
           directory.sizes_follow() ? "after the data" : "before the data");
  // A writer to a pipe knows these three only after the data: then the header may have zeros.
  const auto agree = [&](std::int64_t in_header, std::int64_t in_directory) {
    return in_header == in_directory || (header.sizes_follow() && in_header == 0);
  };
  if (!agree(header.crc, directory.crc))
    differ("checksum (CRC-32)", fmt::format("{:08x}", header.crc), fmt::format("{:08x}", directory.crc));
  if (!agree(header.compressed, directory.compressed))
    differ("compressed size", header.compressed, directory.compressed);
  if (!agree(header.size, directory.size)) differ("size", header.size, directory.size);
}

/// Reads the member's own header, and turns its offset into that of the data.
void find_data(const ReadFile& file, std::int64_t directory, const Facts& facts, ZipEntry& entry) {
  unsigned char local[header_bytes];
  if (entry.header < 0 || entry.header > directory - header_bytes)
    fail(file, fmt::format("{} lies outside the file", entry.name));
  file.read(entry.header, local, header_bytes);
  if (load<std::uint32_t>(local) != local_signature)
    fail(file, fmt::format("no member header for {} at byte {}", entry.name, entry.header));
  const std::int64_t name_bytes = load<std::uint16_t>(local + 26);
  const std::int64_t extra_bytes = load<std::uint16_t>(local + 28);
  std::vector<unsigned char> rest(static_cast<std::size_t>(name_bytes + extra_bytes));
  entry.offset = entry.header + header_bytes + name_bytes + extra_bytes;
  if (entry.offset > directory) fail(file, fmt::format("{} lies outside the file", entry.name));
  file.read(entry.header + header_bytes, rest.data(), name_bytes + extra_bytes);
  if (std::string_view(reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(name_bytes)) !=
      entry.name)
    fail(file, fmt::format("the directory says {}, the member header at byte {} another name", entry.name,
                           entry.header));
  Facts header(local + 6);
  apply_zip64(file, entry.name, rest.data() + name_bytes, extra_bytes, {&header.size, &header.compressed});
  compare(file, entry.name, header, facts);

  if (entry.compressed < 0 || entry.size < 0 || entry.compressed > directory - entry.offset)
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

/// An entry of the directory; `extra` are its extra fields.
ZipEntry read_entry(const ReadFile& file, std::int64_t directory, const unsigned char* at, std::string name,
                    std::int64_t extra_bytes) {
  ZipEntry entry;
  Facts facts(at + 8);
  entry.header = load<std::uint32_t>(at + 42);
  if (name.find('\0') != std::string::npos) fail(file, "a member's name holds a zero byte");
  apply_zip64(file, name, at + entry_bytes + name.size(), extra_bytes,
              {&facts.size, &facts.compressed, &entry.header});
  if (load<std::uint16_t>(at + 34) != 0) fail(file, fmt::format("{} lies on another disk", name));
  if (facts.encrypted()) fail(file, fmt::format("{} is encrypted", name));
  if (facts.method != method_stored && facts.method != method_deflate)
    fail(file, fmt::format("{} is compressed by method {}; only 0 (stored) and 8 (deflate) are read", name,
                           facts.method));
  entry.name = std::move(name);
  entry.deflated = facts.method == method_deflate;
  entry.crc = facts.crc;
  entry.compressed = facts.compressed;
  entry.size = facts.size;
  find_data(file, directory, facts, entry);
  return entry;
}

/// No name twice, no byte in two members: which of them is meant would depend on the reader.
void check_apart(const ReadFile& file, const std::vector<ZipEntry>& entries) {
  std::vector<const ZipEntry*> order;
  for (const ZipEntry& e : entries) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->name < b->name; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i]->name == order[i - 1]->name)
      fail(file, fmt::format("two members are called {}", order[i]->name));
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->header < b->header; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i]->header < order[i - 1]->offset + order[i - 1]->compressed)
      fail(file, fmt::format("{} and {} overlap", order[i - 1]->name, order[i]->name));
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
    const auto damaged = [&] {
      fail(file, fmt::format("directory entry {} of {} is damaged", i + 1, directory.entries));
    };
    if (left < entry_bytes || load<std::uint32_t>(at) != central_signature) damaged();
    const std::int64_t name_bytes = load<std::uint16_t>(at + 28);
    const std::int64_t extra_bytes = load<std::uint16_t>(at + 30);
    const std::int64_t whole = entry_bytes + name_bytes + extra_bytes + load<std::uint16_t>(at + 32);
    if (whole > left) damaged();
    out.push_back(read_entry(
        file, directory.offset, at,
        std::string(reinterpret_cast<const char*>(at + entry_bytes), static_cast<std::size_t>(name_bytes)),
        extra_bytes));
    at += whole;
    left -= whole;
  }
  if (left != 0)
    fail(file, fmt::format("its directory goes on for {} after the last of {}", counted(left, "byte"),
                           counted(static_cast<std::int64_t>(directory.entries), "entry")));
  check_apart(file, out);
  return out;
}

}  // namespace anabranch::io::detail
