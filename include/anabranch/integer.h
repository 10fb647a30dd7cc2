#pragma once

#include <limits>
#include <tuple>

#include <anabranch/detail/terms.h>

/// Arithmetic beyond the operators: signs, the two kinds of integer division, common divisors and powers.
/// Either operand may be a literal that the element type holds. All of them work on single values; map them
/// over arrays.
namespace anabranch {

/// -1, 0 or 1; of a float with the sign of its zero, and a NaN is itself.
template <detail::NumberElement T>
Exp<T> sign(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  using P = detail::Primitive;
  const Exp<T> zero = detail::number<T>(0, at);
  const Exp<bool> above = detail::compared(P::less, zero, x, at);
  if constexpr (detail::FloatElement<T>) {
    const Exp<bool> below = detail::compared(P::less, x, zero, at);
    return cond(above, detail::number<T>(1, at), cond(below, detail::number<T>(-1, at), x, at), at);
  } else if constexpr (std::numeric_limits<T>::is_signed) {
    const Exp<bool> below = detail::compared(P::less, x, zero, at);
    return detail::binary(P::subtract, cast<T>(above, at), cast<T>(below, at), at);
  } else {
    return cast<T>(above, at);
  }
}

// ---- Division of integers ---------------------------------------------------------------------------------
//
// quot and rem round towards zero, as / and % do; div and mod round down, so that mod has the sign of the
// divisor: quot(-7, 2) is -3 and rem -1, div(-7, 2) is -4 and mod 1. A divisor of 0, and the smallest number
// by -1, is a RunError with the place, in all of them.

/// x / y of integers.
template <detail::IntegerElement T>
Exp<T> quot(const Exp<T>& x, const Exp<T>& y, std::source_location at = std::source_location::current()) {
  return detail::binary(detail::Primitive::divide, x, y, at);
}
/// x % y of integers: x - quot(x, y) * y.
template <detail::IntegerElement T>
Exp<T> rem(const Exp<T>& x, const Exp<T>& y, std::source_location at = std::source_location::current()) {
  return detail::binary(detail::Primitive::remainder, x, y, at);
}

namespace detail {
/// Is the quotient that was rounded towards zero one above that rounded down?
template <class T>
Exp<bool> rounded_up(const Exp<T>& remainder, const Exp<T>& y, std::source_location at) {
  const Exp<T> zero = number<T>(0, at);
  const Exp<bool> inexact = compared(Primitive::not_equal, remainder, zero, at);
  const Exp<T> signs = binary(Primitive::bit_xor, remainder, y, at);
  return binary(Primitive::bit_and, inexact, compared(Primitive::less, signs, zero, at), at);
}
}  // namespace detail

/// (div(x, y), mod(x, y)), with one division: auto [q, r] = divmod(x, y).
template <detail::IntegerElement T>
Exp<std::tuple<T, T>> divmod(const Exp<T>& x, const Exp<T>& y,
                             std::source_location at = std::source_location::current()) {
  using P = detail::Primitive;
  const Exp<T> q = quot(x, y, at);
  const Exp<T> r = detail::binary(P::subtract, x, detail::binary(P::multiply, q, y, at), at);
  if constexpr (!std::numeric_limits<T>::is_signed) {
    return {detail::FromHandle{}, detail::tuple({q.handle(), r.handle()}, at)};
  } else {
    const Exp<bool> high = detail::rounded_up(r, y, at);
    const Exp<T> down = detail::binary(P::subtract, q, cast<T>(high, at), at);
    const Exp<T> part = cond(high, detail::binary(P::add, r, y, at), r, at);
    return {detail::FromHandle{}, detail::tuple({down.handle(), part.handle()}, at)};
  }
}
/// The quotient rounded down.
template <detail::IntegerElement T>
Exp<T> div(const Exp<T>& x, const Exp<T>& y, std::source_location at = std::source_location::current()) {
  return get<0>(divmod(x, y, at), at);
}
/// x - div(x, y) * y, between 0 and y.
template <detail::IntegerElement T>
Exp<T> mod(const Exp<T>& x, const Exp<T>& y, std::source_location at = std::source_location::current()) {
  return get<1>(divmod(x, y, at), at);
}

// ---- Common divisors and powers ---------------------------------------------------------------------------

/// The greatest common divisor, not negative; of 0 and 0 it is 0. (Where it is the smallest number's absolute
/// value, which the type lacks, it wraps as abs does.) Euclid's algorithm.
template <detail::IntegerElement T>
Exp<T> gcd(const Exp<T>& x, const Exp<T>& y, std::source_location at = std::source_location::current()) {
  using P = detail::Primitive;
  using State = std::tuple<T, T>;
  // Of absolute values: so nothing is divided by -1.
  const Exp<State> start(detail::FromHandle{}, detail::tuple({abs(x, at).handle(), abs(y, at).handle()}, at));
  const auto more = [at](const Exp<State>& s) {
    return detail::compared(P::not_equal, get<1>(s, at), detail::number<T>(0, at), at);
  };
  const auto step = [at](const Exp<State>& s) {
    const Exp<T> r = rem(get<0>(s, at), get<1>(s, at), at);
    return Exp<State>(detail::FromHandle{}, detail::tuple({get<1>(s, at).handle(), r.handle()}, at));
  };
  return abs(get<0>(while_loop(more, step, start, at), at), at);
}

namespace detail {
/// The next round of a power by squares: what is multiplied so far, the next square, the bits left.
template <class T, class N>
Exp<std::tuple<T, T, N>> power_step(const Exp<std::tuple<T, T, N>>& s, std::source_location at) {
  const Exp<T> done = get<0>(s, at), square = get<1>(s, at);
  const Exp<N> left = get<2>(s, at), one = number<N>(1, at);
  const Exp<bool> odd = compared(Primitive::equal, binary(Primitive::bit_and, left, one, at), one, at);
  const Exp<T> next = cond(odd, binary(Primitive::multiply, done, square, at), done, at);
  const Handle squared = binary(Primitive::multiply, square, square, at).handle();
  const Handle rest = binary(Primitive::shift_right, left, one, at).handle();
  return {FromHandle{}, tuple({next.handle(), squared, rest}, at)};
}
}  // namespace detail

/// x to the n-th, both integers. It wraps as * does, and pow(0, 0) is 1. A negative exponent gives 1 / x to
/// the power, each rounded towards zero: 1 or -1 of those, 0 of greater x; of 0 it is a division by zero, a
/// RunError with the place. At most a round per bit of n.
template <detail::IntegerElement T, detail::IntegerElement N>
Exp<T> pow(const Exp<T>& x, const Exp<N>& n, std::source_location at = std::source_location::current()) {
  using P = detail::Primitive;
  using State = std::tuple<T, T, N>;
  const Exp<T> one = detail::number<T>(1, at);
  Exp<T> base = x;
  Exp<N> rounds = n;
  if constexpr (std::numeric_limits<N>::is_signed) {
    // 1 / x is -1, 0 or 1: only whether n is even counts.
    const Exp<bool> negative = detail::compared(P::less, n, detail::number<N>(0, at), at);
    const Exp<N> odd = detail::binary(P::bit_and, n, detail::number<N>(1, at), at);
    base = cond(negative, quot(one, x, at), x, at);
    rounds = cond(negative, detail::binary(P::subtract, detail::number<N>(2, at), odd, at), n, at);
  }
  const Exp<State> start(detail::FromHandle{},
                         detail::tuple({one.handle(), base.handle(), rounds.handle()}, at));
  const auto more = [at](const Exp<State>& s) {
    return detail::compared(P::not_equal, get<2>(s, at), detail::number<N>(0, at), at);
  };
  const auto step = [at](const Exp<State>& s) { return detail::power_step<T, N>(s, at); };
  return get<0>(while_loop(more, step, start, at), at);
}
/// By a number that is known when the program is built: as few multiplications as its bits ask for.
template <detail::IntegerElement T, class N>
  requires(detail::IntegerValue<N> && !std::same_as<N, bool>)
Exp<T> pow(const Exp<T>& x, N n, std::source_location at = std::source_location::current()) {
  using P = detail::Primitive;
  Exp<T> square = x;
  if (n < 0) {
    square = quot(detail::number<T>(1, at), x, at);
    n = static_cast<N>(2 - (n & 1));
  }
  Exp<T> done = detail::number<T>(1, at);
  for (bool first = true; n != 0; n = static_cast<N>(n >> 1)) {
    if ((n & 1) != 0) {
      done = first ? square : detail::binary(P::multiply, done, square, at);
      first = false;
    }
    if (n > 1) square = detail::binary(P::multiply, square, square, at);
  }
  return done;
}

ANABRANCH_OR_A_LITERAL(quot, detail::IntegerElement)
ANABRANCH_OR_A_LITERAL(rem, detail::IntegerElement)
ANABRANCH_OR_A_LITERAL(div, detail::IntegerElement)
ANABRANCH_OR_A_LITERAL(mod, detail::IntegerElement)
ANABRANCH_OR_A_LITERAL(divmod, detail::IntegerElement)
ANABRANCH_OR_A_LITERAL(gcd, detail::IntegerElement)

}  // namespace anabranch
