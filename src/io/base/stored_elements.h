#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <anabranch/detail/io_erased.h>
#include <anabranch/error.h>

#include "io/base/buffer_pool.h"
#include "io/base/cursor.h"
#include "io/base/element_parts.h"

/// Arrays in files, and the way of their elements into the buffers of chunks.
namespace anabranch::io::detail {

/// One array in a file.
struct StoredArray {
  std::string name;                ///< for messages
  std::unique_ptr<Cursor> cursor;  ///< stands at element 0
  std::int64_t begin = 0;          ///< where that is, for Cursor::rewind
  ScalarType type = ScalarType::int32;
  int parts = 1;  ///< scalars of an element: 2 of a complex number
  std::int64_t count = 0;

  std::int64_t element_bytes() const { return static_cast<std::int64_t>(size_of(type)) * parts; }
};

/// Reads the next bytes of an array.
using ReadBytes = std::function<void(void* into, std::int64_t bytes)>;
/// Looks at elements as they lie in the file, `first` the number of the first one.
using CheckElements = std::function<void(const void* elements, std::int64_t count, std::int64_t first)>;

/// An element that may not be there, for whoever knows which item it is of.
class BadElement : public DataError {
 public:
  BadElement(const std::string& message, std::int64_t element) : DataError(message), element_(element) {}
  std::int64_t element() const noexcept { return element_; }

 private:
  std::int64_t element_;
};

/// Bytes of each of the two places that `read_elements` needs where elements are converted or have parts.
inline constexpr std::int64_t staged_bytes = 128 << 10;

/// Reads elements into one place for each part, as `as`. They are checked piece by piece, right after the read that
/// brought them into the cache. `staging`: 2 * staged_bytes, or null where types are equal and elements have one part.
void read_elements(const ReadBytes& read, const NpyElement& from, ScalarType as, const PartBytes& to,
                   std::int64_t count, unsigned char* staging, const CheckElements& check);

/// DataError naming the first byte that is neither 0 nor 1.
void check_bools(const void* values, std::int64_t count, std::int64_t first, const std::string& name);

PartBytes places_of(const std::vector<BufferPool::Buffer>& buffers);

/// The elements of one array for the chunks of a source: read, checked, converted.
class StoredElements {
 public:
  using Buffers = std::vector<BufferPool::Buffer>;

  /// Handed out as `as`; the caller has checked that they may be converted.
  StoredElements(StoredArray array, ScalarType as, CheckElements check = {});

  const StoredArray& array() const { return array_; }
  ScalarType type() const { return as_; }
  /// Of an element as it is handed out.
  std::int64_t element_bytes() const { return static_cast<std::int64_t>(size_of(as_)) * array_.parts; }
  std::int64_t resident_bytes() const;
  bool reads_anywhere() const { return array_.cursor->reads_anywhere(); }
  void rewind() { array_.cursor->rewind(array_.begin); }
  void use_memory(const ChunkMemory& memory) { pool_->use_memory(memory); }

  /// One buffer for each part of so many elements.
  Buffers buffers(std::int64_t count) const;
  /// The next elements. `first`: the number of the first one.
  Buffers read(std::int64_t first, std::int64_t count);
  /// Elements from `first` on, wherever they lie; several threads may. `sum`: the checksum of their bytes.
  Buffers read_at(std::int64_t first, std::int64_t count, std::uint32_t& sum) const;
  /// The same into one place for each part.
  void read_at(std::int64_t first, std::int64_t count, const PartBytes& to) const;
  /// The next `count` elements have been read so.
  void pass(std::int64_t count, std::uint32_t sum);

 private:
  bool is_staged() const { return array_.type != as_ || array_.parts > 1; }
  void read_with(const ReadBytes& read, std::int64_t first, std::int64_t count, const PartBytes& to) const;

  StoredArray array_;
  ScalarType as_;
  CheckElements check_;
  std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
  std::shared_ptr<BufferPool> staging_ = std::make_shared<BufferPool>();
};

}  // namespace anabranch::io::detail
