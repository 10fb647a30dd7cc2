#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <anabranch/source.h>

#include "io/base/buffer_pool.h"
#include "io/base/stored_elements.h"
#include "io/ragged/ragged_pick.h"

/// Where the items of a ragged stream end: of each chunk so many are chosen as fit.
namespace anabranch::io::detail {

/// Items that follow one another.
struct ChosenItems {
  std::int64_t first = 0, count = 0;
  std::int64_t first_element = 0, elements = 0;
  BufferPool::Buffer offsets{};  ///< count + 1, counted from the first element; nothing until they are read
  std::uint32_t sum = 0;         ///< the checksum of their bytes in the file
};

class ItemEnds {
 public:
  /// The elements that items consist of.
  struct Elements {
    const char* name;    ///< what they are called: "entries"
    std::int64_t count;  ///< of all items
    RaggedCost cost;     ///< of a chunk
  };

  virtual ~ItemEnds() = default;
  virtual std::int64_t resident_bytes() const = 0;
  virtual void rewind() = 0;
  virtual void use_memory(const ChunkMemory& memory) = 0;  ///< SourceBase::use_memory
  /// The next items, as many as fit, one at least; not called at the end. DataError where an offset that was looked at
  /// is smaller than one before it, or beyond the elements.
  virtual ChosenItems choose(const Limit& limit) = 0;
  /// Their offsets, where they have not been read for choosing; several threads may. DataError where one is smaller than
  /// the one before it, or the last of all is not the number of elements.
  virtual void read(ChosenItems& items) const = 0;
  /// The items have been read, as all those before them: the last ones' DataError where the checksum of the offsets is
  /// not the file's.
  virtual void pass(const ChosenItems& items) = 0;
};

/// `offsets`: items + 1 of int32 or int64, the first of which is known to be 0. Of an array that can be read anywhere
/// choosing looks at a few offsets close to where the items end, and takes the same time for many as for few.
std::unique_ptr<ItemEnds> item_ends(StoredArray offsets, const ItemEnds::Elements& elements);

}  // namespace anabranch::io::detail
