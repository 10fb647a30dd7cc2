#pragma once

#include <cstdint>
#include <vector>

#include <anabranch/element.h>

/// Elements of several scalars of one type, complex numbers: in a file the parts of an element lie side by side, in
/// arrays each part has a buffer of its own.
namespace anabranch::io::detail {

/// Where each part of the first element is; that of the next one is behind it.
using PartBytes = std::vector<unsigned char*>;

/// From elements to buffers, and back. Parts are 4 or 8 bytes wide.
void split_parts(const unsigned char* elements, std::int64_t count, ScalarType type, const PartBytes& parts);
void join_parts(const PartBytes& parts, std::int64_t count, ScalarType type, unsigned char* elements);

}  // namespace anabranch::io::detail
