#pragma once

#include <anabranch/fold.h>
#include <anabranch/linear_algebra.h>
#include <anabranch/run.h>
#include <anabranch/scan.h>
#include <anabranch/stencil.h>

/// As in array_misuse.h, for what is derived from the primitives of arrays: arguments in another order, of another
/// rank or type, host arrays.
namespace anabranch::detail {

template <class X>
concept NumberLike = std::convertible_to<const X&, Position>;
template <class X>
concept ArrayWithRows = IsAcc<X> && std::remove_cvref_t<X>::rank >= 1;
template <class X, class A>
concept NumbersFor = std::convertible_to<const X&, PerDimension<std::remove_cvref_t<A>::rank>>;
template <class X, class A>
concept BoundaryFor = Boundary<X, std::remove_cvref_t<A>::rank>;
template <class A, class B>
concept SameArrays = ArrayWithRows<A> && std::same_as<A, B>;

// Whether the arguments are of the right kinds; others may follow.
template <class... Xs>
inline constexpr bool fits_rows = false;
template <ArrayWithRows A, class... Xs>
inline constexpr bool fits_rows<A, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_take = false;
template <NumberLike N, ArrayWithRows A, class... Xs>
inline constexpr bool fits_take<N, A, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_slit = false;
template <NumberLike B, NumberLike N, ArrayWithRows A, class... Xs>
inline constexpr bool fits_slit<B, N, A, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_concat = false;
template <class A, class B, class... Xs>
  requires SameArrays<A, B>
inline constexpr bool fits_concat<A, B, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_shift = false;
template <ArrayWithRows A, NumbersFor<A> By, BoundaryFor<A> B, class... Xs>
inline constexpr bool fits_shift<A, By, B, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_rotate = false;
template <ArrayWithRows A, NumbersFor<A> By, class... Xs>
inline constexpr bool fits_rotate<A, By, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_section = false;
template <ArrayWithRows A, NumbersFor<A> Begin, NumbersFor<A> Step, NumbersFor<A> Count, class... Xs>
inline constexpr bool fits_section<A, Begin, Step, Count, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_pad = false;
template <ArrayWithRows A, NumbersFor<A> Before, NumbersFor<A> After, class V, class... Xs>
  requires(std::convertible_to<const V&, Located<typename A::value_type>>)
inline constexpr bool fits_pad<A, Before, After, V, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_imap = false;
template <class F, IsAcc A, class... Xs>
  requires(!IsAcc<F>)
inline constexpr bool fits_imap<F, A, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_stencil = false;
template <class F, class B, ArrayWithRows A, class... Xs>
  requires(!IsAcc<F> && !NamedBoundary<F> && BoundaryFor<B, A>)
inline constexpr bool fits_stencil<F, B, A, Xs...> = true;
/// An operator, perhaps: neither an array nor a number.
template <class F>
concept OperatorLike = !IsAcc<F> && !IsHostArray<F> && !NumericValue<F> && !IsExp<F>;
template <class... Xs>
inline constexpr bool fits_fold = false;
template <OperatorLike F, class Z, ArrayWithRows A, class... Xs>
  requires((NumericValue<Z> && NumberElement<typename A::value_type>) ||
           std::convertible_to<const Z&, Located<typename A::value_type>>)
inline constexpr bool fits_fold<F, Z, A, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_fold1 = false;
template <OperatorLike F, ArrayWithRows A, class... Xs>
inline constexpr bool fits_fold1<F, A, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_matmul = false;
template <ArrayWithRows A, ArrayWithRows B, class... Xs>
  requires(A::rank == 2 && B::rank <= 2 && NumberElement<typename A::value_type> &&
           std::same_as<typename A::value_type, typename B::value_type>)
inline constexpr bool fits_matmul<A, B, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_product = false;
template <ArrayWithRows A, ArrayWithRows B, class... Xs>
  requires(NumberElement<typename A::value_type> &&
           std::same_as<typename A::value_type, typename B::value_type>)
inline constexpr bool fits_product<A, B, Xs...> = true;
template <class... Xs>
concept AnyArray = ((IsAcc<Xs> || NoComputedArray<Xs>) || ...);

}  // namespace anabranch::detail

namespace anabranch {

// (name, what fits, sentence)
#define ANABRANCH_REFUSE(name, fits, sentence)                                   \
  template <class... Xs>                                                         \
    requires(detail::AnyArray<Xs...> && !detail::fits<Xs...>)                    \
  auto name(const Xs&...) {                                                      \
    detail::check_arrays<Xs...>();                                               \
    static_assert((detail::NoComputedArray<Xs> || ...), "anabranch: " sentence); \
    return detail::refused_array();                                              \
  }
#define ANABRANCH_OF_AN_ARRAY " takes an array with a dimension, and the number of one"
ANABRANCH_REFUSE(init, fits_rows, "init" ANABRANCH_OF_AN_ARRAY)
ANABRANCH_REFUSE(tail, fits_rows, "tail" ANABRANCH_OF_AN_ARRAY)
ANABRANCH_REFUSE(reverse, fits_rows, "reverse" ANABRANCH_OF_AN_ARRAY)
#undef ANABRANCH_OF_AN_ARRAY
ANABRANCH_REFUSE(take, fits_take, "the number comes first, as in take(3, a); take_seq is for sequences")
ANABRANCH_REFUSE(drop, fits_take, "the number comes first, as in drop(3, a)")
ANABRANCH_REFUSE(slit, fits_slit, "the numbers come first, as in slit(begin, count, a)")
ANABRANCH_REFUSE(
    concat, fits_concat,
    "concat joins two arrays of one rank and element type; convert elements with map and cast<T>(x), "
    "and give the smaller rank more dimensions with expand_dims")
#define ANABRANCH_PER_DIMENSION " one number for each dimension: index_of(i, j), or, of a vector, an integer"
ANABRANCH_REFUSE(shift, fits_shift,
                 "write shift(a, by, boundary): `by` is" ANABRANCH_PER_DIMENSION
                 "; the boundary clamp, wrap, mirror, constant(v) or a function of an index")
ANABRANCH_REFUSE(rotate, fits_rotate, "write rotate(a, by): `by` is" ANABRANCH_PER_DIMENSION)
ANABRANCH_REFUSE(tile, fits_rotate, "write tile(a, extents):" ANABRANCH_PER_DIMENSION)
ANABRANCH_REFUSE(section, fits_section,
                 "write section(a, begin, step, count), each of them" ANABRANCH_PER_DIMENSION)
ANABRANCH_REFUSE(pad, fits_pad,
                 "write pad(a, before, after, value): `before` and `after` are" ANABRANCH_PER_DIMENSION
                 "; the value is an element of the array")
#undef ANABRANCH_PER_DIMENSION
ANABRANCH_REFUSE(imap, fits_imap,
                 "the function comes first, as in imap(f, a); izip_with takes several arrays")
ANABRANCH_REFUSE(
    stencil, fits_stencil,
    "write stencil(f, boundary, a), as in stencil([](auto n) { return n(-1) + n(1); }, clamp, a); "
    "the boundary is clamp, wrap, mirror, constant(v) or a function of an index")
#define ANABRANCH_OF_ONE_TYPE                                                                            \
  " takes two arrays of numbers of one type; convert one by mapping cast<T> over it. Of other elements " \
  "write a fold of a zip_with"
ANABRANCH_REFUSE(inner_product, fits_product, "inner_product" ANABRANCH_OF_ONE_TYPE)
ANABRANCH_REFUSE(
    matmul, fits_matmul,
    "matmul takes a matrix, and a matrix or a vector, of one type of numbers; of two vectors take "
    "inner_product")
#define ANABRANCH_WITH_A_SEED                                                                                \
  " takes an operator, a start value of the elements' type and an array with a dimension, as in fold(plus, " \
  "0.0, a)"
#define ANABRANCH_WITHOUT_A_SEED " takes an operator and an array with a dimension, as in fold1(plus, a)"
ANABRANCH_REFUSE(fold, fits_fold, "fold" ANABRANCH_WITH_A_SEED "; fold1 has no start value")
ANABRANCH_REFUSE(fold1, fits_fold1, "fold1" ANABRANCH_WITHOUT_A_SEED)
ANABRANCH_REFUSE(scanl, fits_fold, "scanl" ANABRANCH_WITH_A_SEED "; scanl1 has no start value")
ANABRANCH_REFUSE(scanl_, fits_fold, "scanl_" ANABRANCH_WITH_A_SEED)
ANABRANCH_REFUSE(prescanl, fits_fold, "prescanl" ANABRANCH_WITH_A_SEED)
ANABRANCH_REFUSE(postscanl, fits_fold, "postscanl" ANABRANCH_WITH_A_SEED "; scanl1 has no start value")
ANABRANCH_REFUSE(scanl1, fits_fold1, "scanl1" ANABRANCH_WITHOUT_A_SEED "; postscanl has a start value")
ANABRANCH_REFUSE(scanr, fits_fold, "scanr" ANABRANCH_WITH_A_SEED "; scanr1 has no start value")
ANABRANCH_REFUSE(scanr_, fits_fold, "scanr_" ANABRANCH_WITH_A_SEED)
ANABRANCH_REFUSE(prescanr, fits_fold, "prescanr" ANABRANCH_WITH_A_SEED)
ANABRANCH_REFUSE(postscanr, fits_fold, "postscanr" ANABRANCH_WITH_A_SEED "; scanr1 has no start value")
ANABRANCH_REFUSE(scanr1, fits_fold1, "scanr1" ANABRANCH_WITHOUT_A_SEED "; postscanr has a start value")
#undef ANABRANCH_WITH_A_SEED
#undef ANABRANCH_WITHOUT_A_SEED
#undef ANABRANCH_OF_ONE_TYPE
#undef ANABRANCH_REFUSE

#define ANABRANCH_REFUSE_REDUCTION(name, sentence)                                                          \
  template <class A, class... Xs>                                                                           \
    requires(detail::IsAcc<A> || detail::NoComputedArray<A>)                                                \
  auto name(const A&, const Xs&...) {                                                                       \
    detail::check_arrays<A>();                                                                              \
    static_assert(detail::rank_of<A>() != 0, "anabranch: a Scalar has one element, and nothing to reduce"); \
    static_assert(detail::rank_of<A>() <= 0, sentence);                                                     \
    return detail::refused_array();                                                                         \
  }
ANABRANCH_REFUSE_REDUCTION(argmin, "anabranch: argmin takes an array of numbers, and a dimension")
ANABRANCH_REFUSE_REDUCTION(argmax, "anabranch: argmax takes an array of numbers, and a dimension")
ANABRANCH_REFUSE_REDUCTION(
    mean,
    "anabranch: mean takes an array of numbers or bool, and a dimension; unzip(a) gives "
    "the parts of others")
ANABRANCH_REFUSE_REDUCTION(any, "anabranch: any takes an array of bool, as map(p, a) makes one")
#undef ANABRANCH_REFUSE_REDUCTION

// Other kinds and numbers of arguments.
template <detail::Computation X>
  requires(!detail::IsAcc<X> || std::remove_cvref_t<X>::rank != 0)
auto the(const X&) {
  static_assert(detail::IsAcc<X>, "anabranch: the(s) takes a Scalar array; an Exp is a value already");
  static_assert(!detail::IsAcc<X>,
                "anabranch: the(s) takes a Scalar array, which has one element; a[ix] reads one of others");
  return Exp<double>(detail::FromHandle{}, {});
}
template <detail::IsAcc A>
auto unit(const A&) {
  static_assert(detail::always_false<A>,
                "anabranch: unit(e) makes an array of one element, an Exp or a value");
  return detail::refused_array();
}
template <detail::IsAcc A>
Exp<std::int64_t> extent(const A&) {
  static_assert(
      detail::always_false<A>,
      "anabranch: extent(a, d) takes the number of a dimension, as in extent(a, 0); size(a) is the number "
      "of elements");
  return {detail::FromHandle{}, {}};
}
template <detail::IsAcc A, std::integral I, std::integral... Is>
auto transpose(const A&, I, Is...) {
  static_assert(detail::always_false<A>,
                "anabranch: the permutation stands in braces, as in transpose(a, {1, 0})");
  return detail::refused_array();
}
template <detail::IsAcc A, class S>
  requires(detail::ShapeLike<S>)
auto reshape(const A&, const S&) {
  static_assert(detail::always_false<A>, "anabranch: the shape comes first, as in reshape(Index{2, 3}, a)");
  return detail::refused_array();
}
template <detail::IsAcc A, detail::Slot... Specs>
  requires(sizeof...(Specs) != A::rank && sizeof...(Specs) > 0)
auto slice(const A&, const Specs&...) {
  static_assert(detail::always_false<A>,
                "anabranch: slice takes an argument for each dimension of the array: `all`, or a position");
  return detail::refused_array();
}
template <detail::IsAcc A, detail::Slot... Specs>
  requires(detail::kept<Specs...> != A::rank)
auto replicate(const A&, const Specs&...) {
  static_assert(
      detail::always_false<A>,
      "anabranch: replicate takes an argument for each dimension of the result: a number, or `all` for the "
      "next dimension of the array, each of which is named once");
  return detail::refused_array();
}
template <class X, class... Xs>
  requires(detail::IsHostArray<X> || detail::IsExp<X>)
auto run(const X&, const Xs&...) {
  static_assert(!detail::IsHostArray<X>,
                "anabranch: a host array has its elements already; run takes computations, as of use(array)");
  static_assert(!detail::IsExp<X>, "anabranch: run takes arrays; unit(e) is an array of one element");
  return Scalar<double>();
}

}  // namespace anabranch
