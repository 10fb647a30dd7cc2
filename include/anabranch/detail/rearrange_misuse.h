#pragma once

#include <anabranch/detail/transform_misuse.h>
#include <anabranch/scatter.h>
#include <anabranch/sort.h>

/// As in transform_misuse.h, for what sorts, chooses and sends elements.
namespace anabranch::detail {

template <class X>
concept VectorOfIntegers = VectorComputation<X> && holds_integers<X>();
template <class A, class B>
concept EqualElements =
    IsAcc<A> && IsAcc<B> &&
    std::same_as<typename std::remove_cvref_t<A>::value_type, typename std::remove_cvref_t<B>::value_type>;

template <class... Xs>
inline constexpr bool fits_vector = false;
template <VectorComputation A, class... Xs>
inline constexpr bool fits_vector<A, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_order = false;
template <OperatorLike F, ArrayWithRows A, class... Xs>
inline constexpr bool fits_order<F, A, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_mask = false;
template <ArrayWithRows M, ArrayWithRows A, class... Xs>
  requires(M::rank == A::rank && std::same_as<typename M::value_type, bool>)
inline constexpr bool fits_mask<M, A, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_expand = false;
template <OperatorLike C, OperatorLike F, IsAcc A, class... Xs>
inline constexpr bool fits_expand<C, F, A, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_by_key = false;
template <OperatorLike F, class Z, VectorComputation K, VectorComputation V, class... Xs>
  requires((NumericValue<Z> && NumberElement<typename V::value_type>) ||
           std::convertible_to<const Z&, Located<typename V::value_type>>)
inline constexpr bool fits_by_key<F, Z, K, V, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_histogram = false;
template <NumberLike N, IsAcc A, class... Xs>
  requires(holds_integers<A>())
inline constexpr bool fits_histogram<N, A, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_scatter = false;
template <VectorOfIntegers I, VectorComputation D, VectorComputation A, class... Xs>
  requires EqualElements<D, A>
inline constexpr bool fits_scatter<I, D, A, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_scatter_if = false;
template <VectorOfIntegers I, VectorComputation M, VectorComputation D, VectorComputation A, class... Xs>
  requires(EqualElements<D, A> && std::same_as<typename M::value_type, bool>)
inline constexpr bool fits_scatter_if<I, M, D, A, Xs...> = true;
template <class... Xs>
inline constexpr bool fits_permute = false;
template <OperatorLike F, ArrayWithRows D, OperatorLike To, IsAcc A, class... Xs>
  requires EqualElements<D, A>
inline constexpr bool fits_permute<F, D, To, A, Xs...> = true;

template <class... Xs>
concept AnyCollective = (Collective<Xs> || ...) || (NoComputedArray<Xs> || ...);

}  // namespace anabranch::detail

namespace anabranch {

// (name, what fits, sentence)
#define ANABRANCH_REFUSE(name, fits, sentence)                                   \
  template <class... Xs>                                                         \
    requires(detail::AnyCollective<Xs...> && !detail::fits<Xs...>)               \
  auto name(const Xs&...) {                                                      \
    detail::check_arrays<Xs...>();                                               \
    static_assert((detail::NoComputedArray<Xs> || ...), "anabranch: " sentence); \
    return detail::refused_array();                                              \
  }
#define ANABRANCH_OF_ROWS \
  " takes an array with a dimension, and the number of one; of a sequence, inside its function"
ANABRANCH_REFUSE(sort, fits_rows, "sort" ANABRANCH_OF_ROWS)
ANABRANCH_REFUSE(argsort, fits_rows, "argsort" ANABRANCH_OF_ROWS)
#undef ANABRANCH_OF_ROWS
ANABRANCH_REFUSE(sort_by, fits_fold1,
                 "sort_by takes a function that gives an element's key, and an array with a dimension, as in "
                 "sort_by(f, a)")
ANABRANCH_REFUSE(
    sort_with, fits_order,
    "sort_with takes a comparison and an array with a dimension, as in sort_with([](auto x, auto y) { return "
    "x > y; }, a)")
ANABRANCH_REFUSE(unique, fits_vector, "unique takes a vector; flatten(a) is one of another array")
ANABRANCH_REFUSE(run_length_encode, fits_vector,
                 "run_length_encode takes a vector; flatten(a) is one of another array")
ANABRANCH_REFUSE(
    filter, fits_fold1,
    "filter takes a function that says whether an element is kept, and an array with a dimension, as in "
    "filter(p, a)")
ANABRANCH_REFUSE(compact, fits_mask,
                 "compact takes an array of bool, as map(p, a) makes one, and an array of its rank, as in "
                 "compact(mask, a)")
ANABRANCH_REFUSE(expand, fits_expand,
                 "expand takes two functions, how many elements come of one and which, and an array, as in "
                 "expand(count, f, a)")
ANABRANCH_REFUSE(
    fold_by_key, fits_by_key,
    "fold_by_key takes an operator, a start value of the values' type, a vector of keys and one of values, "
    "as in fold_by_key(plus, 0.0, keys, values)")
ANABRANCH_REFUSE(histogram, fits_histogram,
                 "histogram takes the number of bins and an array of integers, as in histogram(256, a)")
ANABRANCH_REFUSE(
    scatter, fits_scatter,
    "scatter takes a vector of integers, the vector of defaults and the elements, of its type, as in "
    "scatter(places, defaults, v)")
ANABRANCH_REFUSE(scatter_if, fits_scatter_if,
                 "scatter_if takes a vector of integers, one of bool, the vector of defaults and the "
                 "elements, of its type, "
                 "as in scatter_if(places, mask, defaults, v)")
ANABRANCH_REFUSE(permute, fits_permute,
                 "permute takes an operator, the array of defaults, a function from an index to one of that "
                 "array, and the "
                 "elements, of its type, as in permute(plus, defaults, to, a)")
#undef ANABRANCH_REFUSE

}  // namespace anabranch
