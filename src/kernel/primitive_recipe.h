#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <anabranch/error.h>

#include "ir/primitive.h"

/// How every primitive is computed, once for all code generators: a recipe over the operations of an abstract
/// machine, which each of them implements as a builder. What primitives mean is in ir/primitive.h; the
/// interpreter has definitions of its own, on purpose, so that comparing with it tests the recipes.
namespace anabranch::kernel {

/// The abstract machine. A `Scalar` is a value with its type (perhaps one per lane); operands of an operation
/// have equal types. Operands of recipes may be used several times for free; what an operation gave is
/// computed once or several times, as the code generator's optimiser likes.
template <class B>
concept PrimitiveBuilder = requires(B b, const typename B::Scalar& x, ScalarType type, std::uint64_t bits) {
  { std::as_const(x.type) } -> std::convertible_to<ScalarType>;
  { b.constant(type, bits) } -> std::same_as<typename B::Scalar>;
  // Numbers. Integers wrap. `divide` on integers truncates, and wants a divisor from `checked_divisor`.
  { b.add(x, x) } -> std::same_as<typename B::Scalar>;
  { b.subtract(x, x) } -> std::same_as<typename B::Scalar>;
  { b.multiply(x, x) } -> std::same_as<typename B::Scalar>;
  { b.divide(x, x) } -> std::same_as<typename B::Scalar>;
  // Where x / y does not exist, a run-time error. The result is y, or 1 in lanes where y does not count.
  { b.checked_divisor(x, x) } -> std::same_as<typename B::Scalar>;
  // Floats: sign, exactly rounded, and fmod.
  { b.float_negate(x) } -> std::same_as<typename B::Scalar>;
  { b.float_absolute(x) } -> std::same_as<typename B::Scalar>;
  { b.float_remainder(x, x) } -> std::same_as<typename B::Scalar>;
  { b.multiply_add(x, x, x) } -> std::same_as<typename B::Scalar>;
  { b.square_root(x) } -> std::same_as<typename B::Scalar>;
  // A mathematical function (ir/mathematics.h); of those of one operand the second is not looked at.
  { b.mathematical(ir::Primitive{}, x, x) } -> std::same_as<typename B::Scalar>;
  // Comparisons, IEEE on floats; unordered: is a NaN.
  { b.equal(x, x) } -> std::same_as<typename B::Scalar>;
  { b.not_equal(x, x) } -> std::same_as<typename B::Scalar>;
  { b.less(x, x) } -> std::same_as<typename B::Scalar>;
  { b.less_equal(x, x) } -> std::same_as<typename B::Scalar>;
  { b.unordered(x) } -> std::same_as<typename B::Scalar>;
  { b.select(x, x, x) } -> std::same_as<typename B::Scalar>;
  // Bits of integers and bools.
  { b.bit_and(x, x) } -> std::same_as<typename B::Scalar>;
  { b.bit_or(x, x) } -> std::same_as<typename B::Scalar>;
  { b.bit_xor(x, x) } -> std::same_as<typename B::Scalar>;
  { b.logical_not(x) } -> std::same_as<typename B::Scalar>;
  // Of integers. A shift is by 0 to width - 1; zeros move in, but from the left of `shift_right`, where it is
  // the sign of a signed x. Zeros at either end of 0: the width.
  { b.shift_left(x, x) } -> std::same_as<typename B::Scalar>;
  { b.shift_right(x, x) } -> std::same_as<typename B::Scalar>;
  { b.shift_right_unsigned(x, x) } -> std::same_as<typename B::Scalar>;
  { b.count_ones(x) } -> std::same_as<typename B::Scalar>;
  { b.leading_zeros(x) } -> std::same_as<typename B::Scalar>;
  { b.trailing_zeros(x) } -> std::same_as<typename B::Scalar>;
  // Of floats: integers as floats, with the sign of zero; the sign bit of another (which is no NaN).
  { b.floor(x) } -> std::same_as<typename B::Scalar>;
  { b.ceiling(x) } -> std::same_as<typename B::Scalar>;
  { b.truncate(x) } -> std::same_as<typename B::Scalar>;
  { b.copy_sign(x, x) } -> std::same_as<typename B::Scalar>;
  // The bytes of a number as another type's.
  { b.reinterpret(x, type) } -> std::same_as<typename B::Scalar>;
  // Conversions to another type: integer (or bool, to integer) to integer keeps the low bits; to float rounds
  // to nearest even; float to integer truncates and saturates, NaN gives 0.
  { b.to_integer(x, type) } -> std::same_as<typename B::Scalar>;
  { b.to_float(x, type) } -> std::same_as<typename B::Scalar>;
  { b.saturate(x, type) } -> std::same_as<typename B::Scalar>;
};

/// Bits of constants of a floating-point type: the greatest number below one half, and the NaN of bitcast.
inline std::uint64_t below_half(ScalarType type) {
  return anabranch::detail::with_scalar(type, []<class T>(std::type_identity<T>) {
    if constexpr (!anabranch::detail::FloatValue<T>) return std::uint64_t{0};
    return anabranch::detail::bits_of(static_cast<T>(0.5)) - 1;
  });
}
inline std::uint64_t nan_bits(ScalarType type) {
  // An infinity has all ones in the exponent; the quiet bit is the first below it.
  const std::uint64_t infinity = ir::scalar_info(type).greatest;
  return infinity | (infinity & (~infinity + 1)) >> 1;
}

/// The recipes. `result` is the type of the node.
template <PrimitiveBuilder B>
typename B::Scalar build_primitive(B& b, ir::Primitive primitive, ScalarType result,
                                   std::span<const typename B::Scalar> operands) {
  using Scalar = typename B::Scalar;
  using ir::Primitive;
  const ir::PrimitiveInfo& facts = ir::info(primitive);
  const Scalar& x = operands[0];
  const Scalar& y = operands[operands.size() > 1 ? 1 : 0];
  const ScalarType type = x.type;
  const bool floating = ir::is_float(type);
  if (operands.size() != static_cast<std::size_t>(facts.arity) || !ir::accepts(facts.operands, type))
    throw InternalError("no recipe for " + std::string(facts.name) + " of " + name_of(type));
  const auto zero = [&] { return b.constant(type, 0); };
  const auto modulo_width = [&](const Scalar& count) {
    return b.bit_and(count, b.constant(type, static_cast<std::uint64_t>(ir::scalar_info(type).bits - 1)));
  };

  switch (primitive) {
    case Primitive::add:
      return b.add(x, y);
    case Primitive::subtract:
      return b.subtract(x, y);
    case Primitive::multiply:
      return b.multiply(x, y);
    case Primitive::divide:
      return b.divide(x, floating ? y : b.checked_divisor(x, y));
    case Primitive::remainder: {
      if (floating) return b.float_remainder(x, y);
      const Scalar divisor = b.checked_divisor(x, y);
      return b.subtract(x, b.multiply(b.divide(x, divisor), divisor));
    }
    case Primitive::negate:
      return floating ? b.float_negate(x) : b.subtract(zero(), x);
    case Primitive::absolute:
      if (floating) return b.float_absolute(x);
      return ir::is_signed(type) ? b.select(b.less(x, zero()), b.subtract(zero(), x), x) : x;
    // Of floats: first without NaNs, which is one instruction of x86.
    case Primitive::minimum: {
      const Scalar lesser = b.select(b.less(x, y), x, y);
      return floating ? b.select(b.unordered(x), x, lesser) : lesser;
    }
    case Primitive::maximum:
      if (!floating) return b.select(b.less(x, y), y, x);
      return b.select(b.unordered(x), x, b.select(b.less(y, x), x, y));
    case Primitive::fma:
      return b.multiply_add(x, y, operands[2]);
    case Primitive::equal:
      return b.equal(x, y);
    case Primitive::not_equal:
      return b.not_equal(x, y);
    case Primitive::less:
      return b.less(x, y);
    case Primitive::less_equal:
      return b.less_equal(x, y);
    case Primitive::logical_not:
      return b.logical_not(x);
    case Primitive::bit_and:
      return b.bit_and(x, y);
    case Primitive::bit_or:
      return b.bit_or(x, y);
    case Primitive::bit_xor:
      return b.bit_xor(x, y);
    case Primitive::shift_left:
      return b.shift_left(x, modulo_width(y));
    case Primitive::shift_right:
      return b.shift_right(x, modulo_width(y));
    case Primitive::rotate_left:
      return b.bit_or(b.shift_left(x, modulo_width(y)),
                      b.shift_right_unsigned(x, modulo_width(b.subtract(zero(), y))));
    case Primitive::count_ones:
      return b.count_ones(x);
    case Primitive::leading_zeros:
      return b.leading_zeros(x);
    case Primitive::trailing_zeros:
      return b.trailing_zeros(x);
    case Primitive::floor:
      return b.floor(x);
    case Primitive::ceiling:
      return b.ceiling(x);
    // With one half itself, the number before one half would be rounded up to 1.
    case Primitive::round:
      return b.truncate(b.add(x, b.copy_sign(b.constant(type, below_half(type)), x)));
    case Primitive::truncate:
      return b.truncate(x);
    case Primitive::copy_sign:
      return b.copy_sign(x, b.select(b.unordered(y), zero(), y));
    case Primitive::bitcast:
      if (result == type) return x;
      if (!floating) return b.reinterpret(x, result);
      return b.select(b.unordered(x), b.constant(result, nan_bits(type)), b.reinterpret(x, result));
    case Primitive::square_root:
      return b.square_root(x);
    case Primitive::exp:
    case Primitive::exp2:
    case Primitive::log:
    case Primitive::log2:
    case Primitive::log10:
    case Primitive::sin:
    case Primitive::cos:
    case Primitive::tan:
    case Primitive::asin:
    case Primitive::acos:
    case Primitive::atan:
    case Primitive::sinh:
    case Primitive::cosh:
    case Primitive::tanh:
    case Primitive::asinh:
    case Primitive::acosh:
    case Primitive::atanh:
    case Primitive::erf:
    case Primitive::cbrt:
    case Primitive::rsqrt:
    case Primitive::pow:
    case Primitive::atan2:
    case Primitive::hypot:
      if (type == ScalarType::float16) {
        const auto wide = [&](const Scalar& v) { return b.to_float(v, ScalarType::float32); };
        return b.to_float(b.mathematical(primitive, wide(x), wide(y)), type);
      }
      return b.mathematical(primitive, x, y);
    case Primitive::cast:
      if (result == type) return x;
      if (result == ScalarType::boolean) return b.not_equal(x, zero());
      if (ir::is_float(result)) return b.to_float(x, result);
      return floating ? b.saturate(x, result) : b.to_integer(x, result);
  }
  throw InternalError("unknown primitive");
}

}  // namespace anabranch::kernel
