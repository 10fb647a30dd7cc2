#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <anabranch/io/descriptor.h>
#include <anabranch/source.h>

#include "io/descriptor/descriptor.h"
#include "io/text/text_scan.h"

/// Telling items apart in bytes that arrive one after the other.
namespace anabranch::io::detail {

/// Bytes are looked at from the first one on that has not been handed out.
class Framing {
 public:
  virtual ~Framing() = default;
  virtual SourceInfo info() const = 0;

  /// Nothing has been counted.
  virtual void restart();
  /// Counts more items that are complete, as many as the limit lets join; those that have been counted and their bytes are
  /// still the first. Throws DataError.
  virtual void look(const unsigned char* bytes, std::int64_t size, const Limit& limit) = 0;
  std::int64_t items() const { return items_; }
  /// Of these, and of what belongs to no item before them.
  std::int64_t bytes() const { return bytes_; }
  /// Those bytes are taken away, where no item has been counted.
  virtual void pass(const unsigned char* bytes);
  /// No more of them can join.
  bool full() const { return full_; }
  /// Of a chunk of them.
  virtual std::int64_t memory() const = 0;
  /// Memory that the next item takes, of which `size` bytes have arrived, as far as is known.
  virtual std::int64_t memory_of_next(std::int64_t size) const { return size; }
  /// There are no more bytes: completes the last item, or throws DataError.
  virtual void end(ArrivedBytes& arrived) = 0;
  virtual void use_memory(const ChunkMemory& memory) = 0;  ///< SourceBase::use_memory
  /// Hands out the items that have been counted.
  void hand_out(const unsigned char* bytes, SourceChunk& chunk);

 protected:
  virtual void fill(const unsigned char* bytes, SourceChunk& chunk) = 0;

  std::int64_t number_ = 0;  ///< of the first of them in the stream
  std::int64_t items_ = 0, bytes_ = 0;
  bool full_ = false;
};

std::unique_ptr<Framing> frame_text(const std::string& name, TextItems kind, std::int64_t longest);
/// Records of one shape.
std::unique_ptr<Framing> frame_records(const std::string& name, const std::vector<std::int64_t>& shape,
                                       const NpyElement& element, std::int64_t longest);
/// Elements behind their number, which has so many bytes.
std::unique_ptr<Framing> frame_ragged(const std::string& name, int length_bytes, const NpyElement& element,
                                      std::int64_t longest);

}  // namespace anabranch::io::detail
