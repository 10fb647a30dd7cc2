#pragma once

#include <concepts>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <anabranch/acc.h>

/// As in misuse.h, for array computations: arguments in another order, of another rank or kind, and
/// operations that are not in the language yet.
namespace anabranch::detail {

template <class X>
concept VectorComputation = IsAcc<X> && std::remove_cvref_t<X>::rank == 1;

template <class X>
constexpr int rank_of() {
  if constexpr (IsAcc<X>)
    return X::rank;
  else
    return -1;
}
template <class X>
constexpr bool holds_integers() {
  if constexpr (IsAcc<X>)
    return IntegerElement<typename X::value_type>;
  else
    return false;
}

template <class... Xs>
constexpr bool text_and_array = false;
template <class X, class A>
constexpr bool text_and_array<X, A> = std::convertible_to<const X&, std::string_view> && IsAcc<A>;

/// What filter, compact, unzip and others give.
template <class X>
constexpr bool is_tuple_of_arrays = false;
template <class A, class... As>
constexpr bool is_tuple_of_arrays<std::tuple<Acc<A>, Acc<As>...>> = true;
template <class X>
concept IsTupleOfArrays = is_tuple_of_arrays<std::remove_cvref_t<X>>;
/// What stands where an array should, and is none.
template <class X>
concept NoComputedArray = IsHostArray<X> || IsTupleOfArrays<X>;

template <class... Xs>
void check_host_arrays() {
  static_assert(!(IsHostArray<Xs> || ...), "anabranch: a host array becomes part of a program by use(array)");
}
template <class... Xs>
void check_arrays() {
  check_host_arrays<Xs...>();
  static_assert(!(IsTupleOfArrays<Xs> || ...),
                "anabranch: several arrays stand where one should: take the first by std::get<0>(...), or "
                "name them, as "
                "in auto [kept, counts] = filter(p, a)");
}

template <class First, class... Rest>
void check_mapping() {
  check_arrays<First, Rest...>();
  static_assert((NoComputedArray<First> || ... || NoComputedArray<Rest>) || !IsAcc<First>,
                "anabranch: the function comes first, as in map(f, a)");
}

inline Acc<Scalar<double>> refused_array() { return {FromHandle{}, Handle{}}; }

}  // namespace anabranch::detail

namespace anabranch {

template <detail::IsTupleOfArrays A, class... Xs>
Exp<std::int64_t> size(const A&, const Xs&...) {
  detail::check_arrays<A>();
  return {detail::FromHandle{}, detail::Handle{}};
}
template <detail::IsTupleOfArrays A, class... Xs>
Exp<Index<1>> shape(const A&, const Xs&...) {
  detail::check_arrays<A>();
  return {detail::FromHandle{}, detail::Handle{}};
}

template <class F, class... Xs>
  requires(detail::IsAcc<F> || ... || (detail::IsAcc<Xs> || detail::NoComputedArray<Xs>))
auto map(const F&, const Xs&...) {
  detail::check_mapping<F, Xs...>();
  static_assert(detail::IsAcc<F> || (detail::NoComputedArray<Xs> || ...),
                "anabranch: map takes a function and one array; zip_with takes several");
  return detail::refused_array();
}

template <class F, class... Xs>
  requires(detail::IsAcc<F> || ... || (detail::IsAcc<Xs> || detail::NoComputedArray<Xs>))
auto zip_with(const F&, const Xs&...) {
  detail::check_mapping<F, Xs...>();
  constexpr bool arrays = (detail::IsAcc<Xs> && ...);
  constexpr int ranks[] = {detail::rank_of<Xs>()..., 0};
  constexpr bool one_rank = ((detail::rank_of<Xs>() == ranks[0]) && ...);
  static_assert(
      !arrays || one_rank,
      "anabranch: the arrays of zip_with are of one rank; give the smaller one more dimensions, as in "
      "replicate(v, n, all)");
  static_assert(!arrays || !one_rank || detail::IsAcc<F>,
                "anabranch: zip_with takes a function and 2 to 9 arrays");
  static_assert(arrays || detail::IsAcc<F> || (detail::NoComputedArray<Xs> || ...),
                "anabranch: zip_with takes a function, then arrays");
  return detail::refused_array();
}

template <class... Xs>
  requires(detail::IsAcc<Xs> || ...)
auto zip(const Xs&...) {
  detail::check_arrays<Xs...>();
  static_assert((detail::NoComputedArray<Xs> || ...),
                "anabranch: zip takes 2 to 9 arrays of one rank; give the smaller one more dimensions, as in "
                "replicate(v, n, all)");
  return detail::refused_array();
}

template <class I, class A>
  requires(detail::IsAcc<I> || detail::IsAcc<A> || detail::NoComputedArray<A>)
auto gather(const I&, const A&) {
  detail::check_arrays<I, A>();
  static_assert(detail::NoComputedArray<I> || detail::NoComputedArray<A> || detail::holds_integers<I>(),
                "anabranch: gather(indices, a) takes an array of integers first; convert others by mapping "
                "cast<int64_t> over them");
  static_assert(
      detail::NoComputedArray<I> || detail::NoComputedArray<A> || !detail::holds_integers<I>() ||
          detail::VectorComputation<A>,
      "anabranch: gather(indices, a) reads a vector; of another rank take flatten(a), or backpermute");
  return detail::refused_array();
}

#define ANABRANCH_REFUSE_REDUCTION(name, sentence)                                                          \
  template <class A, class... Xs>                                                                           \
    requires(detail::IsAcc<A> || detail::NoComputedArray<A>)                                                \
  auto name(const A&, const Xs&...) {                                                                       \
    detail::check_arrays<A>();                                                                              \
    static_assert(detail::rank_of<A>() != 0, "anabranch: a Scalar has one element, and nothing to reduce"); \
    static_assert(detail::rank_of<A>() <= 0, sentence);                                                     \
    return detail::refused_array();                                                                         \
  }
#define ANABRANCH_NUMBERS_ONLY                                                                         \
  "anabranch: sum, product, minimum and maximum take an array of numbers, and a dimension; for other " \
  "elements "                                                                                          \
  "use fold with an operator of yours, or unzip(a) first"
ANABRANCH_REFUSE_REDUCTION(sum, ANABRANCH_NUMBERS_ONLY)
ANABRANCH_REFUSE_REDUCTION(product, ANABRANCH_NUMBERS_ONLY)
ANABRANCH_REFUSE_REDUCTION(minimum, ANABRANCH_NUMBERS_ONLY)
ANABRANCH_REFUSE_REDUCTION(maximum, ANABRANCH_NUMBERS_ONLY)
ANABRANCH_REFUSE_REDUCTION(count, "anabranch: count takes an array of bool; count(p, a) counts where p holds")
#undef ANABRANCH_NUMBERS_ONLY
#undef ANABRANCH_REFUSE_REDUCTION

template <class X>
  requires(!detail::IsHostArray<X>)
auto use(const X&) {
  static_assert(!std::same_as<X, std::vector<bool>>,
                "anabranch: a std::vector<bool> keeps bits, not elements; use a Vector<bool>");
  static_assert(std::same_as<X, std::vector<bool>>,
                "anabranch: use takes an Array, a std::vector or a std::span of elements; fill an Array with "
                "the values of another range");
  return detail::refused_array();
}

template <class X, class... Xs>
  requires(detail::AnyComputation<X, Xs...> || detail::IsHostArray<X>)
auto compute(const X&, const Xs&...) {
  detail::check_host_arrays<X>();
  static_assert(detail::IsHostArray<X>,
                "anabranch: compute takes one array, an Acc; apply it to each array of a tuple, and inside "
                "the function "
                "of a sequence");
  return detail::refused_array();
}

template <class... Xs>
  requires((detail::AnyComputation<Xs...> || (detail::IsHostArray<Xs> || ...)) &&
           !detail::text_and_array<Xs...>)
auto trace(const Xs&...) {
  detail::check_host_arrays<Xs...>();
  static_assert(
      (detail::IsHostArray<Xs> || ...),
      "anabranch: trace takes a text and one array, as in trace(\"weights\", a); of the items of a sequence, "
      "inside its function");
  return detail::refused_array();
}

template <class... Xs>
  requires(detail::AnyComputation<Xs...> || (detail::IsHostArray<Xs> || ...))
auto scan_state(const Xs&...) {
  detail::check_host_arrays<Xs...>();
  static_assert(
      (detail::IsHostArray<Xs> || ...),
      "anabranch: scan_state takes a function, the first state and an array of rank 1 or more, as in "
      "scan_state(f, 0.0, a)");
  return detail::refused_array();
}

}  // namespace anabranch
