#pragma once

#include <cstdint>

#include <anabranch/element.h>

/// Conversion between element types while reading.
namespace anabranch::io::detail {

/// Whether values of type `from` may be converted to `to` when a user asks for it: to float and double from
/// any type, and between the integer types where the caller has checked the range.
bool convertible(ScalarType from, ScalarType to);

/// Converts `count` elements. The buffers do not overlap.
void convert(ScalarType from, const void* in, ScalarType to, void* out, std::int64_t count);

}  // namespace anabranch::io::detail
