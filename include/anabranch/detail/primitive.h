#pragma once

#include <cstdint>

namespace anabranch::detail {

/// The scalar primitives. What they take and mean: src/ir/primitive.h.
enum class Primitive : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  remainder,
  negate,
  absolute,
  minimum,
  maximum,
  fma,
  equal,
  not_equal,
  less,
  less_equal,
  logical_not,
  bit_and,
  bit_or,
  bit_xor,
  // Bits of integers; rounding to integers; the bytes of a value as another type's.
  shift_left,
  shift_right,
  rotate_left,
  count_ones,
  leading_zeros,
  trailing_zeros,
  floor,
  ceiling,
  round,
  truncate,
  copy_sign,
  bitcast,  ///< of its own constructor, as cast
  square_root,
  exponential,
  logarithm,
  sine,
  cosine,
  cast,  ///< of its own constructor: it names the type of its result
};
inline constexpr int primitive_count = static_cast<int>(Primitive::cast) + 1;

}  // namespace anabranch::detail
