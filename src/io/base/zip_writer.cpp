#include "io/base/zip_writer.h"

#include <algorithm>
#include <string>

#include "io/base/checksum.h"
#include "io/base/little_endian.h"

namespace anabranch::io::detail {

namespace {

constexpr std::uint16_t version_zip64 = 45;
constexpr std::uint16_t date = (1 << 5) | 1;  // 1 January 1980: the same input gives the same file
constexpr std::uint32_t see_zip64 = 0xffffffff;

bool is_utf8(const std::string& text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto at = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U; };
    const unsigned first = at(i);
    const std::size_t more = first < 0x80       ? 0
                             : first >> 5 == 6  ? 1
                             : first >> 4 == 14 ? 2
                             : first >> 3 == 30 ? 3
                                                : 4;
    if (more == 4) return false;
    for (std::size_t k = 1; k <= more; ++k)
      if (at(i + k) >> 6 != 2) return false;
    i += more + 1;
  }
  return true;
}

/// Says of which encoding a name is, where it is told; else readers take it for that of the first PCs.
std::uint16_t flags(const std::string& name) { return is_utf8(name) ? 1 << 11 : 0; }

void put_common(std::string& out, const std::string& name, std::uint32_t crc) {
  put<std::uint16_t>(out, flags(name));
  put<std::uint16_t>(out, 0);  // stored
  put<std::uint16_t>(out, 0);  // time
  put<std::uint16_t>(out, date);
  put<std::uint32_t>(out, crc);
  put<std::uint32_t>(out, see_zip64);
  put<std::uint32_t>(out, see_zip64);
}

}  // namespace

std::string ZipWriter::local_header(const Member& member) const {
  std::string out;
  put<std::uint32_t>(out, 0x04034b50);
  put<std::uint16_t>(out, version_zip64);
  put_common(out, member.name, member.crc);
  put(out, static_cast<std::uint16_t>(member.name.size()));
  put<std::uint16_t>(out, 20);
  out += member.name;
  put<std::uint16_t>(out, 1);
  put<std::uint16_t>(out, 16);
  put<std::int64_t>(out, member.size);
  put<std::int64_t>(out, member.size);
  return out;
}

void ZipWriter::begin(const std::string& name, std::int64_t patched) {
  Member member;
  member.name = name;
  member.header = out_.position();
  members_.push_back(member);
  const std::string header = local_header(member) + std::string(static_cast<std::size_t>(patched), '\0');
  out_.append(header.data(), static_cast<std::int64_t>(header.size()));
  patched_ = patched;
  crc_ = 0;
}

void ZipWriter::append(const void* from, std::int64_t bytes) {
  crc_ = crc32(crc_, from, bytes);
  out_.append(from, bytes);
  members_.back().size += bytes;
}

void ZipWriter::end(const std::string& start) {
  Member& member = members_.back();
  const std::uint32_t first = crc32(0, start.data(), static_cast<std::int64_t>(start.size()));
  member.crc = crc32_of_both(first, crc_, member.size);
  member.size += patched_;
  const std::string header = local_header(member) + start;
  out_.flush();
  out_.file()->write(member.header, header.data(), static_cast<std::int64_t>(header.size()));
}

void ZipWriter::member(const std::string& name, const std::string& bytes) {
  begin(name, static_cast<std::int64_t>(bytes.size()));
  end(bytes);
}

void ZipWriter::finish() {
  const std::int64_t begin = out_.position();
  std::string out;
  for (const Member& member : members_) {
    put<std::uint32_t>(out, 0x02014b50);
    put<std::uint16_t>(out, version_zip64);
    put<std::uint16_t>(out, version_zip64);
    put_common(out, member.name, member.crc);
    put(out, static_cast<std::uint16_t>(member.name.size()));
    put<std::uint16_t>(out, 28);
    put<std::uint16_t>(out, 0);  // comment
    put<std::uint16_t>(out, 0);  // disk
    put<std::uint16_t>(out, 0);
    put<std::uint32_t>(out, 0);
    put<std::uint32_t>(out, see_zip64);
    out += member.name;
    put<std::uint16_t>(out, 1);
    put<std::uint16_t>(out, 24);
    put<std::int64_t>(out, member.size);
    put<std::int64_t>(out, member.size);
    put<std::int64_t>(out, member.header);
  }
  const auto directory_bytes = static_cast<std::int64_t>(out.size());
  const auto count = static_cast<std::int64_t>(members_.size());
  put<std::uint32_t>(out, 0x06064b50);  // zip64 end of directory
  put<std::int64_t>(out, 44);
  put<std::uint16_t>(out, version_zip64);
  put<std::uint16_t>(out, version_zip64);
  put<std::uint32_t>(out, 0);
  put<std::uint32_t>(out, 0);
  put<std::int64_t>(out, count);
  put<std::int64_t>(out, count);
  put<std::int64_t>(out, directory_bytes);
  put<std::int64_t>(out, begin);
  put<std::uint32_t>(out, 0x07064b50);  // its locator
  put<std::uint32_t>(out, 0);
  put<std::int64_t>(out, begin + directory_bytes);
  put<std::uint32_t>(out, 1);
  put<std::uint32_t>(out, 0x06054b50);  // end of directory
  put<std::uint16_t>(out, 0);
  put<std::uint16_t>(out, 0);
  for (int i = 0; i < 2; ++i) put(out, static_cast<std::uint16_t>(std::min<std::int64_t>(count, 0xffff)));
  put(out, static_cast<std::uint32_t>(std::min<std::int64_t>(directory_bytes, see_zip64)));
  put<std::uint32_t>(out, see_zip64);
  put<std::uint16_t>(out, 0);
  out_.append(out.data(), static_cast<std::int64_t>(out.size()));
  out_.flush();
}

}  // namespace anabranch::io::detail
