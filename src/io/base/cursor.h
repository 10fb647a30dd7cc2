#pragma once

#include <zlib.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/base/checksum.h"
#include "io/base/file.h"
#include "io/base/zip.h"

/// Reading the bytes of one array from first to last, stored or compressed. A member of a zip file has a
/// checksum: each time it is read to its end, from its first byte on, that is checked.
namespace anabranch::io::detail {

class Cursor {
 public:
  virtual ~Cursor() = default;
  /// The next `bytes` bytes. DataError if there are fewer, they do not decompress, or, where they are the
  /// last, the checksum is not the member's.
  virtual void read(void* into, std::int64_t bytes) = 0;
  /// Back to byte `to`, close to the beginning: what is before it is read again, for the checksum.
  void rewind(std::int64_t to);
  /// Where the next byte lies, for messages: in the file if stored, in the decompressed array if not.
  virtual std::int64_t position() const = 0;
  virtual std::int64_t resident_bytes() const { return 0; }

  /// Whether `read_at` may be called: by several threads at once.
  virtual bool reads_anywhere() const { return false; }
  /// Bytes [at, at + bytes) of the array, and their checksum (0 where there is none to compare).
  virtual std::uint32_t read_at(std::int64_t at, void* into, std::int64_t bytes) const;
  /// A hint that these bytes are read next.
  virtual void prefetch(std::int64_t /*at*/, std::int64_t /*bytes*/) const {}
  /// The next `bytes` bytes have been read with `read_at`, and this is their checksum. DataError where they
  /// are the last and the checksum is not the member's.
  virtual void pass(std::int64_t bytes, std::uint32_t sum);

 private:
  virtual void restart() = 0;
};

/// Bytes [offset, offset + size) of a file as they are.
class StoredCursor final : public Cursor {
 public:
  /// Without a checksum: a whole .npy, a spool file.
  StoredCursor(std::shared_ptr<const ReadFile> file, std::int64_t offset, std::int64_t size);
  StoredCursor(std::shared_ptr<const ReadFile> file, const ZipEntry& entry);
  void read(void* into, std::int64_t bytes) override;
  std::int64_t position() const override { return at_; }
  bool reads_anywhere() const override { return true; }
  std::uint32_t read_at(std::int64_t at, void* into, std::int64_t bytes) const override;
  void prefetch(std::int64_t at, std::int64_t bytes) const override;
  void pass(std::int64_t bytes, std::uint32_t sum) override;

 private:
  void restart() override;
  void check_range(std::int64_t from, std::int64_t bytes) const;

  std::shared_ptr<const ReadFile> file_;
  std::optional<MemberChecksum> checksum_;
  std::int64_t begin_;
  std::int64_t end_;
  std::int64_t at_;
  std::int64_t since_prefetch_ = 0;
};

/// A DEFLATE member of a zip file, decompressed as it is read. Its length is checked when its end is read.
class InflateCursor final : public Cursor {
 public:
  InflateCursor(std::shared_ptr<const ReadFile> file, const ZipEntry& entry);
  ~InflateCursor() override;
  InflateCursor(const InflateCursor&) = delete;
  InflateCursor& operator=(const InflateCursor&) = delete;
  void read(void* into, std::int64_t bytes) override;
  std::int64_t position() const override { return produced_; }
  std::int64_t resident_bytes() const override;

 private:
  void restart() override;
  bool inflate_some(void* into, std::int64_t bytes, std::int64_t& got);
  void check_end();
  [[noreturn]] void fail(const char* why) const;

  std::shared_ptr<const ReadFile> file_;
  ZipEntry entry_;
  z_stream stream_{};
  std::vector<unsigned char> input_;
  std::int64_t consumed_ = 0;  ///< compressed bytes handed to zlib
  std::int64_t produced_ = 0;
  MemberChecksum checksum_;
};

std::unique_ptr<Cursor> open_cursor(std::shared_ptr<const ReadFile> file, const ZipEntry& entry);

}  // namespace anabranch::io::detail
