#pragma once

#include <cstdint>

#include <anabranch/element.h>

/// Conversion between element types while reading.
namespace anabranch::io::detail {

/// Whether values of type `from` may be read as `to` when a user asks for conversion: to floating types from any type. No
/// number becomes another one but by rounding.
bool value_convertible(ScalarType from, ScalarType to);
/// Those, and int32 and int64 from each other, where the caller looks whether they fit.
bool convertible(ScalarType from, ScalarType to);

/// Converts `count` elements. The buffers do not overlap.
void convert(ScalarType from, const void* in, ScalarType to, void* out, std::int64_t count);

}  // namespace anabranch::io::detail
