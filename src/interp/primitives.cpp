#include "interp/primitives.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include <anabranch/error.h>

#include "ir/mathematics.h"

namespace anabranch::interp {

namespace {

using ir::Primitive;

[[noreturn]] void not_defined(Primitive primitive, ScalarType type) {
  throw InternalError("interpreter: " + std::string(ir::info(primitive).name) + " is not defined on " +
                      name_of(type));
}

using anabranch::detail::FloatValue;
using anabranch::detail::with_scalar;

// A half's operations are rounded to a half once more: a float has more than twice its bits, so that what is
// rounded twice is what rounding once gives (Figueroa 1995). Of a product and a sum that a double cannot hold,
// neither is near the middle between two halves.
template <class T>
constexpr bool is_half = std::same_as<T, half>;

// Arithmetic that wraps is done on unsigned numbers at least as wide as int, where overflow is defined, and
// then cut.
template <class T>
using Wrapping =
    std::conditional_t<(sizeof(T) < sizeof(std::uint32_t)), std::uint32_t, std::make_unsigned_t<T>>;

template <class T>
T add(T x, T y) {
  if constexpr (FloatValue<T>)
    return static_cast<T>(x + y);
  else
    return static_cast<T>(static_cast<Wrapping<T>>(x) + static_cast<Wrapping<T>>(y));
}
template <class T>
T subtract(T x, T y) {
  if constexpr (FloatValue<T>)
    return static_cast<T>(x - y);
  else
    return static_cast<T>(static_cast<Wrapping<T>>(x) - static_cast<Wrapping<T>>(y));
}
template <class T>
T multiply(T x, T y) {
  if constexpr (FloatValue<T>)
    return static_cast<T>(x * y);
  else
    return static_cast<T>(static_cast<Wrapping<T>>(x) * static_cast<Wrapping<T>>(y));
}

template <class T>
bool has_quotient(T x, T y) {
  if (y == 0) return false;
  if constexpr (std::is_signed_v<T>) return !(x == std::numeric_limits<T>::min() && y == -1);
  return true;
}
template <class T>
std::optional<Bits> divide(T x, T y) {
  if constexpr (FloatValue<T>)
    return to_bits(static_cast<T>(x / y));
  else if (has_quotient(x, y))
    return to_bits<T>(static_cast<T>(x / y));
  else
    return std::nullopt;
}
template <class T>
std::optional<Bits> remainder(T x, T y) {
  if constexpr (FloatValue<T>)
    return to_bits(static_cast<T>(std::fmod(x, y)));
  else if (has_quotient(x, y))
    return to_bits<T>(static_cast<T>(x % y));
  else
    return std::nullopt;
}

template <class T>
T negate(T x) {
  if constexpr (FloatValue<T>)
    return static_cast<T>(-x);
  else
    return subtract<T>(0, x);
}
template <class T>
T absolute(T x) {
  if constexpr (FloatValue<T>)
    return static_cast<T>(std::fabs(x));
  else
    return x < 0 ? negate(x) : x;
}

template <class T>
bool is_nan(T x) {
  return x != x;
}
template <class T>
T fused(T x, T y, T z) {
  if constexpr (is_half<T>)
    return half(std::fma(static_cast<double>(x), static_cast<double>(y), static_cast<double>(z)));
  else
    return std::fma(x, y, z);
}
template <class T>
T minimum(T x, T y) {
  return x < y || is_nan(x) ? x : y;
}
template <class T>
T maximum(T x, T y) {
  return x > y || is_nan(x) ? x : y;
}

template <class To, class From>
To convert(From x) {
  if constexpr (std::same_as<To, bool>) {
    return x != static_cast<From>(0);
  } else if constexpr (is_half<From> && !is_half<To>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (FloatValue<From> && !FloatValue<To>) {
    // Both borders are compared as floats that hold them exactly:
    // MIN is a power of two (or 0), and MAX + 1 too.
    constexpr From lowest = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From beyond =
        static_cast<From>(static_cast<std::make_unsigned_t<To>>(std::numeric_limits<To>::max()) / 2 + 1) * 2;
    if (is_nan(x)) return 0;
    if (x <= lowest) return std::numeric_limits<To>::min();
    if (x >= beyond) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    // Integers: C++20 keeps the low bits. To floating point: rounds to nearest even.
    return static_cast<To>(x);
  }
}

std::optional<Bits> cast(ScalarType from, ScalarType to, Bits operand) {
  return with_scalar(from, [&]<class From>(std::type_identity<From>) {
    return with_scalar(to, [&]<class To>(std::type_identity<To>) -> std::optional<Bits> {
      return to_bits<To>(convert<To>(from_bits<From>(operand)));
    });
  });
}

/// An integer as its bits.
template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
T shift_left(T x, T y) {
  constexpr unsigned width = 8 * sizeof(T);
  const auto by = static_cast<Unsigned<T>>(y) % width;
  T out = x;
  for (unsigned i = 0; i < by; ++i) out = add(out, out);
  return out;
}
/// Halves, rounding down, as often as asked.
template <class T>
T shift_right(T x, T y) {
  constexpr unsigned width = 8 * sizeof(T);
  const auto by = static_cast<Unsigned<T>>(y) % width;
  T out = x;
  for (unsigned i = 0; i < by; ++i) out = static_cast<T>(out / 2 - (out % 2 < 0 ? 1 : 0));
  return out;
}
template <class T>
T rotate_left(T x, T y) {
  constexpr unsigned width = 8 * sizeof(T);
  const auto by = static_cast<int>(static_cast<Unsigned<T>>(y) % width);
  return static_cast<T>(std::rotl(static_cast<Unsigned<T>>(x), by));
}

template <class T>
T copy_sign(T x, T y) {
  return is_nan(y) ? absolute(x) : static_cast<T>(std::copysign(x, y));
}

std::optional<Bits> bitcast(ScalarType from, ScalarType to, Bits operand) {
  return with_scalar(from, [&]<class From>(std::type_identity<From>) {
    return with_scalar(to, [&]<class To>(std::type_identity<To>) -> std::optional<Bits> {
      if constexpr (sizeof(From) == sizeof(To) && !std::same_as<From, bool> && !std::same_as<To, bool>) {
        const From x = from_bits<From>(operand);
        if constexpr (FloatValue<From>)
          if (is_nan(x)) return to_bits(std::numeric_limits<From>::quiet_NaN());
        return to_bits(std::bit_cast<To>(x));
      }
      not_defined(Primitive::bitcast, from);
    });
  });
}

/// Of halves: that of floats, rounded to a half.
template <class T>
T mathematical(Primitive primitive, T x, T y = T(0)) {
  if constexpr (is_half<T>)
    return half(ir::mathematical(primitive, static_cast<float>(x), static_cast<float>(y)));
  else
    return ir::mathematical(primitive, x, y);
}

template <class T>
std::optional<Bits> on_integers(Primitive primitive, T x) {
  const auto bits = static_cast<Unsigned<T>>(x);
  if (primitive == Primitive::count_ones) return to_bits(static_cast<T>(std::popcount(bits)));
  if (primitive == Primitive::leading_zeros) return to_bits(static_cast<T>(std::countl_zero(bits)));
  return to_bits(static_cast<T>(std::countr_zero(bits)));
}

template <class T>
std::optional<Bits> rounded(Primitive primitive, T x) {
  if (primitive == Primitive::floor) return to_bits(static_cast<T>(std::floor(x)));
  if (primitive == Primitive::ceiling) return to_bits(static_cast<T>(std::ceil(x)));
  if (primitive == Primitive::round) return to_bits(static_cast<T>(std::round(x)));
  return to_bits(static_cast<T>(std::trunc(x)));
}

}  // namespace

std::optional<Bits> apply(Primitive primitive, ScalarType type, ScalarType result,
                          std::span<const Bits> operands) {
  if (primitive == Primitive::cast) return cast(type, result, operands[0]);
  if (primitive == Primitive::bitcast) return bitcast(type, result, operands[0]);
  return with_scalar(type, [&]<class T>(std::type_identity<T>) -> std::optional<Bits> {
    constexpr bool is_boolean = std::same_as<T, bool>;
    constexpr bool is_float = FloatValue<T>;
    constexpr bool is_integer = !is_float && !is_boolean;
    const auto arg = [&](std::size_t i) { return from_bits<T>(operands[i]); };
    switch (primitive) {
      case Primitive::add:
        if constexpr (!is_boolean) return to_bits<T>(add(arg(0), arg(1)));
        break;
      case Primitive::subtract:
        if constexpr (!is_boolean) return to_bits<T>(subtract(arg(0), arg(1)));
        break;
      case Primitive::multiply:
        if constexpr (!is_boolean) return to_bits<T>(multiply(arg(0), arg(1)));
        break;
      case Primitive::divide:
        if constexpr (!is_boolean) return divide(arg(0), arg(1));
        break;
      case Primitive::remainder:
        if constexpr (!is_boolean) return remainder(arg(0), arg(1));
        break;
      case Primitive::negate:
        if constexpr (!is_boolean) return to_bits<T>(negate(arg(0)));
        break;
      case Primitive::absolute:
        if constexpr (!is_boolean) return to_bits<T>(absolute(arg(0)));
        break;
      case Primitive::minimum:
        if constexpr (!is_boolean) return to_bits<T>(minimum(arg(0), arg(1)));
        break;
      case Primitive::maximum:
        if constexpr (!is_boolean) return to_bits<T>(maximum(arg(0), arg(1)));
        break;
      case Primitive::fma:
        if constexpr (is_float) return to_bits<T>(fused(arg(0), arg(1), arg(2)));
        break;
      case Primitive::equal:
        return to_bits(arg(0) == arg(1));
      case Primitive::not_equal:
        return to_bits(arg(0) != arg(1));
      case Primitive::less:
        return to_bits(arg(0) < arg(1));
      case Primitive::less_equal:
        return to_bits(arg(0) <= arg(1));
      case Primitive::logical_not:
        if constexpr (is_boolean) return to_bits(!arg(0));
        break;
      case Primitive::bit_and:
        if constexpr (!is_float) return to_bits<T>(static_cast<T>(arg(0) & arg(1)));
        break;
      case Primitive::bit_or:
        if constexpr (!is_float) return to_bits<T>(static_cast<T>(arg(0) | arg(1)));
        break;
      case Primitive::bit_xor:
        if constexpr (!is_float) return to_bits<T>(static_cast<T>(arg(0) ^ arg(1)));
        break;
      case Primitive::shift_left:
        if constexpr (is_integer) return to_bits<T>(shift_left(arg(0), arg(1)));
        break;
      case Primitive::shift_right:
        if constexpr (is_integer) return to_bits<T>(shift_right(arg(0), arg(1)));
        break;
      case Primitive::rotate_left:
        if constexpr (is_integer) return to_bits<T>(rotate_left(arg(0), arg(1)));
        break;
      case Primitive::count_ones:
      case Primitive::leading_zeros:
      case Primitive::trailing_zeros:
        if constexpr (is_integer) return on_integers(primitive, arg(0));
        break;
      case Primitive::floor:
      case Primitive::ceiling:
      case Primitive::round:
      case Primitive::truncate:
        if constexpr (is_float) return rounded(primitive, arg(0));
        break;
      case Primitive::copy_sign:
        if constexpr (is_float) return to_bits<T>(copy_sign(arg(0), arg(1)));
        break;
      case Primitive::square_root:
        if constexpr (is_float) return to_bits<T>(static_cast<T>(std::sqrt(arg(0))));
        break;
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
        if constexpr (is_float) return to_bits<T>(mathematical(primitive, arg(0)));
        break;
      case Primitive::pow:
      case Primitive::atan2:
      case Primitive::hypot:
        if constexpr (is_float) return to_bits<T>(mathematical(primitive, arg(0), arg(1)));
        break;
      case Primitive::bitcast:
      case Primitive::cast:
        break;
    }
    not_defined(primitive, type);
  });
}

}  // namespace anabranch::interp
