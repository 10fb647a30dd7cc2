#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include <anabranch/detail/primitive.h>

#include "ir/type.h"

/// The scalar primitives and their one signature table. What they mean, for every back end:
///
///  * Integers are two's complement and wrap: add, subtract, multiply, negate, absolute (|MIN| = MIN).
///  * divide and remainder truncate towards zero as in C++. On integers a divisor of 0, and MIN / -1 or
///    MIN % -1, is a RunError that names the place; on floats IEEE division (remainder is std::fmod).
///  * minimum(x, y) = (x < y or x is NaN) ? x : y, maximum likewise with >: a NaN on either side is the
///    result; of two equal values (also -0 and +0) the right one.
///  * Comparisons are IEEE: with a NaN all are false but not_equal.
///  * Shifts and rotations count modulo the width of the type: by -1 is by width - 1. shift_right lets the
///    sign move in where there is one, else zeros. leading_zeros and trailing_zeros of 0 are the width.
///  * floor, ceiling, round (halves away from zero) and truncate are exact and keep the sign of zero.
///  * There is one NaN, as far as its bits are seen: copy_sign(x, NaN) is |x|, and bitcast of a NaN to an
///    integer gives the positive quiet one of the least payload. (What machines compute differs there.)
///  * bitcast: the bytes of a number as those of another type of the same size.
///  * fma rounds once. Nothing else is ever contracted or reassociated.
///  * Mathematical functions: the recipe of kernels/math, made of operations that are rounded exactly, so that
///    every machine gives the same bits (ir/mathematics.h). square_root is exactly rounded.
///  * cast: integer to narrower integer keeps the low bits; to float rounds to nearest even; float to integer
///    truncates and saturates, NaN gives 0; to bool is "not equal to zero" (NaN is true); from bool gives
///    0 or 1.
///  * logical and, or are not primitives but conditionals (they evaluate the right side only when needed).
namespace anabranch::ir {

using anabranch::detail::Primitive;
using anabranch::detail::primitive_count;

/// Which scalar types a primitive takes.
enum class Operands : std::uint8_t { numbers, integers, floats, bits /* integers and bool */, boolean, any };

struct PrimitiveInfo {
  std::string_view name;
  int arity;
  Operands operands;    ///< all operands have the same type
  bool boolean_result;  ///< else the operands' type (cast, bitcast: as asked)
  bool can_fail;        ///< on integers: may be a run-time error, so never evaluated speculatively
  bool mathematical;    ///< a recipe of kernels/math
  int cost;             ///< in additions (ir/cost.h)
  /// Of those that commute and can join a fold in lanes: the neutral element. Null: of no other.
  std::uint64_t anabranch::detail::ScalarIdentities::* identity = nullptr;
};

const PrimitiveInfo& info(Primitive primitive);
bool accepts(Operands operands, ScalarType type);
/// Do values joined by it give the same bits in any order? Of integers and bool, if it has a neutral element.
bool joins_in_any_order(Primitive primitive, ScalarType type);
/// The bits of x such that joining x and y by it, on either side, gives y bit for bit; of one that has such an x.
std::uint64_t neutral_element(Primitive primitive, ScalarType type);

}  // namespace anabranch::ir
