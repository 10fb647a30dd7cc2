#include "io/base/cursor.h"

#include <algorithm>
#include <chrono>
#include <new>

#include <anabranch/error.h>

#include <fmt/format.h>

namespace anabranch::io::detail {

namespace {
constexpr std::int64_t input_bytes = 64 << 10;
constexpr std::int64_t inflate_state_bytes = 48 << 10;  // zlib's state and its 32 KiB window
constexpr std::int64_t piece_bytes = 4 << 20;           // read ahead at a time
constexpr std::int64_t smallest_timed = 64 << 10;  // shorter reads say nothing about where the data come from
constexpr double cached_bytes_per_second = 4e9;    // between a fast disk and the page cache
constexpr std::int64_t summed_bytes = 128 << 10;   // read at a time where a checksum has to find it cached

using Clock = std::chrono::steady_clock;
}  // namespace

void Cursor::rewind(std::int64_t to) {
  restart();
  unsigned char skipped[4096];
  while (to > 0) {
    const std::int64_t n = std::min<std::int64_t>(to, sizeof skipped);
    read(skipped, n);
    to -= n;
  }
}

std::uint32_t Cursor::read_at(std::int64_t, void*, std::int64_t) const {
  throw InternalError("this array is read from first to last");
}
void Cursor::pass(std::int64_t, std::uint32_t) {
  throw InternalError("this array is read from first to last");
}

StoredCursor::StoredCursor(std::shared_ptr<const ReadFile> file, std::int64_t offset, std::int64_t size)
    : file_(std::move(file)), begin_(offset), end_(offset + size), at_(offset) {}

StoredCursor::StoredCursor(std::shared_ptr<const ReadFile> file, const ZipEntry& entry)
    : StoredCursor(std::move(file), entry.offset, entry.size) {
  checksum_.emplace(file_->name(), entry.name, entry.crc);
}

void StoredCursor::restart() {
  at_ = begin_;
  if (checksum_) checksum_->begin();
}

void StoredCursor::check_range(std::int64_t from, std::int64_t bytes) const {
  if (bytes > end_ - from)
    throw DataError(fmt::format("{}: {} bytes wanted at byte {}, but the array ends at byte {}",
                                file_->name(), bytes, from, end_));
}

std::uint32_t StoredCursor::read_at(std::int64_t at, void* into, std::int64_t bytes) const {
  check_range(begin_ + at, bytes);
  std::uint32_t sum = 0;
  const std::int64_t step = checksum_ ? summed_bytes : bytes;
  for (std::int64_t i = 0; i < bytes; i += step) {
    const std::int64_t n = std::min(step, bytes - i);
    auto* to = static_cast<unsigned char*>(into) + i;
    file_->read(begin_ + at + i, to, n);
    if (checksum_) sum = crc32(sum, to, n);
  }
  return sum;
}

void StoredCursor::prefetch(std::int64_t at, std::int64_t bytes) const {
  const std::int64_t from = begin_ + at;
  if (from < end_) file_->prefetch(from, std::min(bytes, end_ - from));
}

void StoredCursor::pass(std::int64_t bytes, std::uint32_t sum) {
  at_ += bytes;
  if (!checksum_) return;
  checksum_->add_sum(sum, bytes);
  if (at_ == end_ && bytes > 0) checksum_->check();
}

void StoredCursor::read(void* into, std::int64_t bytes) {
  check_range(at_, bytes);
  std::chrono::duration<double> spent{};
  const std::int64_t step = checksum_ ? summed_bytes : bytes;
  for (std::int64_t i = 0; i < bytes; i += step) {
    const std::int64_t n = std::min(step, bytes - i);
    auto* to = static_cast<unsigned char*>(into) + i;
    const auto before = Clock::now();
    file_->read(at_ + i, to, n);
    spent += Clock::now() - before;
    if (checksum_) checksum_->add(to, n);
  }
  // Three arrays are read in turn from one file, which defeats the kernel's own reading ahead. Asking for the
  // next piece of this array helps where the data come from disk, but halves the speed where they are cached:
  // only ask when this read was slower than memory.
  since_prefetch_ += bytes;
  if (bytes >= smallest_timed && since_prefetch_ >= piece_bytes / 2 &&
      static_cast<double>(bytes) < cached_bytes_per_second * spent.count()) {
    file_->prefetch(at_ + bytes, std::min(std::max(2 * bytes, piece_bytes), end_ - at_ - bytes));
    since_prefetch_ = 0;
  }
  at_ += bytes;
  if (checksum_ && at_ == end_ && bytes > 0) checksum_->check();
}

InflateCursor::InflateCursor(std::shared_ptr<const ReadFile> file, const ZipEntry& entry)
    : file_(std::move(file)),
      entry_(entry),
      input_(static_cast<std::size_t>(std::min(input_bytes, entry.compressed))),
      checksum_(file_->name(), entry.name, entry.crc) {
  // Negative window bits: raw DEFLATE, as in zip files.
  if (::inflateInit2(&stream_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
}

InflateCursor::~InflateCursor() { ::inflateEnd(&stream_); }

void InflateCursor::fail(const char* why) const {
  throw DataError(fmt::format("{}: {}: {} (after {} of {} bytes)", file_->name(), entry_.name, why, produced_,
                              entry_.size));
}

/// One step of zlib; false at the end of the compressed stream.
bool InflateCursor::inflate_some(void* into, std::int64_t bytes, std::int64_t& got) {
  if (stream_.avail_in == 0 && consumed_ < entry_.compressed) {
    const std::int64_t n = std::min(static_cast<std::int64_t>(input_.size()), entry_.compressed - consumed_);
    file_->read(entry_.offset + consumed_, input_.data(), n);
    consumed_ += n;
    stream_.next_in = input_.data();
    stream_.avail_in = static_cast<unsigned>(n);
  }
  const auto room = static_cast<unsigned>(std::min<std::int64_t>(bytes, 1 << 30));
  stream_.next_out = static_cast<unsigned char*>(into);
  stream_.avail_out = room;
  const int status = ::inflate(&stream_, Z_NO_FLUSH);
  got = room - stream_.avail_out;
  if (status == Z_STREAM_END) return false;
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  if (status == Z_BUF_ERROR || (status == Z_OK && got == 0 && stream_.avail_in == 0)) {
    if (consumed_ == entry_.compressed) fail("the compressed data end too early");
    return true;
  }
  if (status != Z_OK) fail("the compressed data are damaged");
  return true;
}

void InflateCursor::read(void* into, std::int64_t bytes) {
  auto* at = static_cast<unsigned char*>(into);
  while (bytes > 0) {
    std::int64_t got = 0;
    const bool more = inflate_some(at, bytes, got);
    checksum_.add(at, got);
    at += got;
    bytes -= got;
    produced_ += got;
    if (!more && (bytes > 0 || produced_ != entry_.size)) fail("the compressed data end too early");
    if (!more) {
      check_end();
      return;
    }
  }
  if (produced_ == entry_.size && entry_.size > 0) {
    unsigned char beyond;
    std::int64_t got = 0;
    while (inflate_some(&beyond, 1, got))
      if (got > 0) fail("the compressed data go on after their declared end");
    if (got > 0) fail("the compressed data go on after their declared end");
    check_end();
  }
}

void InflateCursor::check_end() {
  if (stream_.avail_in != 0 || consumed_ != entry_.compressed)
    fail("there are bytes after the compressed data");
  checksum_.check();
}

void InflateCursor::restart() {
  ::inflateReset(&stream_);
  stream_.avail_in = 0;
  consumed_ = 0;
  produced_ = 0;
  checksum_.begin();
}

std::int64_t InflateCursor::resident_bytes() const {
  return static_cast<std::int64_t>(input_.size()) + inflate_state_bytes;
}

std::unique_ptr<Cursor> open_cursor(std::shared_ptr<const ReadFile> file, const ZipEntry& entry) {
  if (entry.deflated) return std::make_unique<InflateCursor>(std::move(file), entry);
  return std::make_unique<StoredCursor>(std::move(file), entry);
}

}  // namespace anabranch::io::detail
