#pragma once

#include <anabranch/detail/terms.h>

/// Bits of integers, beside the operators & | ^ ~ << >>. Bit 0 is the least. Positions and counts are a
/// number or an Exp of any integer type, and are taken modulo the width, as those of << and >> are: -1 is
/// width - 1.
namespace anabranch {

/// x with its bits moved to the left by `by`; those that leave come back at the other end.
template <detail::IntegerElement T>
Exp<T> rotl(const Exp<T>& x, const std::type_identity_t<BitNumber<T>>& by) {
  return detail::binary(detail::Primitive::rotate_left, x, by.value(), by.place());
}
/// The same to the right.
template <detail::IntegerElement T>
Exp<T> rotr(const Exp<T>& x, const std::type_identity_t<BitNumber<T>>& by) {
  const Exp<T> back = detail::unary(detail::Primitive::negate, by.value(), by.place());
  return detail::binary(detail::Primitive::rotate_left, x, back, by.place());
}

/// How many bits are 1.
template <detail::IntegerElement T>
Exp<std::int32_t> popcount(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return cast<std::int32_t>(detail::unary(detail::Primitive::count_ones, x, at), at);
}
/// How many bits are 0 before the first 1, from the greatest bit; of 0 all of them, the width.
template <detail::IntegerElement T>
Exp<std::int32_t> clz(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return cast<std::int32_t>(detail::unary(detail::Primitive::leading_zeros, x, at), at);
}
/// The same from the least bit: the position of the lowest 1, and the width where there is none.
template <detail::IntegerElement T>
Exp<std::int32_t> ctz(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return cast<std::int32_t>(detail::unary(detail::Primitive::trailing_zeros, x, at), at);
}

/// Is that bit 1?
template <detail::IntegerElement T>
Exp<bool> test_bit(const Exp<T>& x, const std::type_identity_t<BitNumber<T>>& bit) {
  using P = detail::Primitive;
  const std::source_location at = bit.place();
  const Exp<T> mask = detail::binary(P::shift_left, detail::number<T>(1, at), bit.value(), at);
  return detail::compared(P::not_equal, detail::binary(P::bit_and, x, mask, at), detail::number<T>(0, at),
                          at);
}
/// x with that bit 1.
template <detail::IntegerElement T>
Exp<T> set_bit(const Exp<T>& x, const std::type_identity_t<BitNumber<T>>& bit) {
  using P = detail::Primitive;
  const std::source_location at = bit.place();
  const Exp<T> mask = detail::binary(P::shift_left, detail::number<T>(1, at), bit.value(), at);
  return detail::binary(P::bit_or, x, mask, at);
}

}  // namespace anabranch
