#pragma once

#include <anabranch/exp.h>

/// What the derived operations of the language are written with: primitives that carry the user's line, where
/// an operator would carry the header's.
namespace anabranch::detail {

template <class T>
Exp<T> binary(Primitive op, const Exp<T>& a, const Exp<T>& b, Place at) {
  return {FromHandle{}, primitive(op, {a.handle(), b.handle()}, at)};
}
template <class T>
Exp<bool> compared(Primitive op, const Exp<T>& a, const Exp<T>& b, Place at) {
  return {FromHandle{}, primitive(op, {a.handle(), b.handle()}, at)};
}
template <class T>
Exp<T> number(int value, Place at) {
  return Exp<T>(FromHandle{}, constant_of(static_cast<T>(value), at));
}
/// All bits of an integer.
template <class T>
Exp<T> ones(Place at) {
  return {FromHandle{}, constant(scalar_type<T>, scalar_info(scalar_type<T>).identities.bit_and, at)};
}

/// The element type of an Exp, and of a plain value.
template <class X>
struct ValueOf {
  using type = X;
};
template <IsElement T>
struct ValueOf<Exp<T>> {
  using type = T;
};

/// A position or shape: an Exp of an index, or an index.
template <class X>
inline constexpr int index_rank = -1;
template <int N>
inline constexpr int index_rank<Index<N>> = N;
template <int N>
inline constexpr int index_rank<Exp<Index<N>>> = N;
template <class X>
concept IndexLike = index_rank<std::remove_cvref_t<X>> >= 0;

}  // namespace anabranch::detail

/// name(x, y) where one of them is a literal that the type of the other holds.
#define ANABRANCH_OR_A_LITERAL(name, Kind)                                \
  template <Kind T>                                                       \
  auto name(const Exp<T>& x, const std::type_identity_t<Located<T>>& y) { \
    return name(x, y.value(), y.place());                                 \
  }                                                                       \
  template <Kind T>                                                       \
  auto name(const std::type_identity_t<Located<T>>& x, const Exp<T>& y) { \
    return name(x.value(), y, x.place());                                 \
  }
