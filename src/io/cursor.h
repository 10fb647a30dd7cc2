#pragma once

#include <zlib.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "file.h"
#include "zip.h"

/// Reading the bytes of one array from first to last, stored or compressed.
namespace anabranch::io::detail {

class Cursor {
 public:
  virtual ~Cursor() = default;
  /// The next `bytes` bytes. DataError if there are fewer or they do not decompress.
  virtual void read(void* into, std::int64_t bytes) = 0;
  /// Back to byte `to`.
  virtual void rewind(std::int64_t to) = 0;
  /// Where the next byte lies, for messages: in the file if stored, in the decompressed array if not.
  virtual std::int64_t position() const = 0;
  virtual std::int64_t resident_bytes() const { return 0; }
};

/// Bytes [offset, offset + size) of a file as they are.
class StoredCursor final : public Cursor {
 public:
  StoredCursor(std::shared_ptr<const ReadFile> file, std::int64_t offset, std::int64_t size);
  void read(void* into, std::int64_t bytes) override;
  void rewind(std::int64_t to) override { at_ = begin_ + to; }
  std::int64_t position() const override { return at_; }

 private:
  std::shared_ptr<const ReadFile> file_;
  std::int64_t begin_;
  std::int64_t end_;
  std::int64_t at_;
  std::int64_t since_prefetch_ = 0;
};

/// A DEFLATE member of a zip file, decompressed as it is read.
/// Its length and CRC-32 are checked when its end is read.
class InflateCursor final : public Cursor {
 public:
  InflateCursor(std::shared_ptr<const ReadFile> file, const ZipEntry& entry);
  ~InflateCursor() override;
  InflateCursor(const InflateCursor&) = delete;
  InflateCursor& operator=(const InflateCursor&) = delete;
  void read(void* into, std::int64_t bytes) override;
  void rewind(std::int64_t to) override;
  std::int64_t position() const override { return produced_; }
  std::int64_t resident_bytes() const override;

 private:
  bool inflate_some(void* into, std::int64_t bytes, std::int64_t& got);
  void check_end();
  [[noreturn]] void fail(const char* why) const;

  std::shared_ptr<const ReadFile> file_;
  ZipEntry entry_;
  z_stream stream_{};
  std::vector<unsigned char> input_;
  std::int64_t consumed_ = 0;  ///< compressed bytes handed to zlib
  std::int64_t produced_ = 0;
  unsigned long crc_ = 0;
};

std::unique_ptr<Cursor> open_cursor(std::shared_ptr<const ReadFile> file, const ZipEntry& entry);

}  // namespace anabranch::io::detail
