#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <anabranch/detail/arrow_abi.h>
#include <anabranch/sink.h>
#include <anabranch/source.h>

/// How arrays of items lie in the columns of an Arrow stream.
namespace anabranch::io::detail {

/// Lists in a column, from the outermost one on.
struct ArrowList {
  enum class Kind : std::uint8_t {
    offsets32,  ///< list, and string and binary, whose elements are in the same array
    offsets64,
    fixed,  ///< each has `size` elements
  };
  Kind kind = Kind::fixed;
  std::int64_t size = 0;
};

/// One array of an item.
struct ArrowColumn {
  std::string name;              ///< for messages
  std::int64_t child = -1;       ///< of the record batch; -1: the batch itself
  std::vector<ArrowList> lists;  ///< one for each dimension
  bool bytes = false;            ///< strings: offsets and bytes in one array
  bool structs = false;          ///< elements are structs; else numbers
  /// Of each scalar the way to it through structs, by numbers of children.
  std::vector<std::vector<std::int64_t>> paths;
  ArrayInfo info;
};

/// Finds the arrays that an item is to have. `name` of the stream, for messages. Throws DataError where they are not
/// there, or of other types.
std::vector<ArrowColumn> match_columns(const std::string& name, const ArrowSchema& schema,
                                       const std::vector<SinkArray>& arrays,
                                       const std::vector<std::string>& columns);

/// "c" and the like.
const char* arrow_format(ScalarType type);

}  // namespace anabranch::io::detail
