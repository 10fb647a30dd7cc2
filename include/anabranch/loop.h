#pragma once

#include <tuple>

#include <anabranch/acc.h>
#include <anabranch/detail/terms.h>

/// Loops in scalar code, beside while_loop: a number of rounds, and along a row of an array. Each lane of a
/// vector, each thread of a GPU runs its own; they take as long as the longest of a vector.
namespace anabranch {

namespace detail {

/// Rounds that are counted beside the state.
template <class T>
using Counted = std::tuple<std::int64_t, T>;

/// The value after f(i, x) for i = 0, 1, ..., count - 1.
template <class T, class F>
Exp<T> counted_loop(const Exp<std::int64_t>& count, F f, const Exp<T>& x, std::source_location at) {
  using State = Counted<T>;
  const auto more = [&](const Exp<State>& s) { return compared(Primitive::less, get<0>(s, at), count, at); };
  const auto step = [&](const Exp<State>& s) {
    const Exp<T> next = f(get<0>(s, at), get<1>(s, at));
    const Exp<std::int64_t> done = binary(Primitive::add, get<0>(s, at), number<std::int64_t>(1, at), at);
    return Exp<State>(FromHandle{}, tuple({done.handle(), next.handle()}, at));
  };
  const Exp<State> start(FromHandle{}, tuple({number<std::int64_t>(0, at).handle(), x.handle()}, at));
  return get<1>(while_loop(more, step, start, at), at);
}

}  // namespace detail

/// f applied n times: x, f(x), f(f(x)), ... `n` is a number or an Exp of any integer type; 0 or less gives x.
template <class F, IsElement T>
Exp<T> iterate(const Position& n, F f, const Exp<T>& x,
               std::source_location at = std::source_location::current()) {
  if constexpr (!detail::takes<F, Exp<T>&>()) {
    static_assert(detail::always_false<F>, "anabranch: the function of iterate takes the value, one Exp");
    return x;
  } else if constexpr (std::is_void_v<decltype(f(std::declval<Exp<T>&>()))>) {
    static_assert(detail::always_false<F>, "anabranch: the function of iterate returns the next value");
    return x;
  } else {
    return detail::counted_loop(
        n.value(),
        [&](const Exp<std::int64_t>&, Exp<T> value) {
          const auto next = detail::as_exp(f(value), at);
          constexpr bool fits = std::same_as<decltype(next), const Exp<T>>;
          static_assert(fits, "anabranch: the function of iterate returns what it takes");
          if constexpr (fits)
            return next;
          else
            return value;
        },
        x, at);
  }
}
/// From a plain value.
template <class F, IsElement T>
Exp<T> iterate(const Position& n, F f, const T& x,
               std::source_location at = std::source_location::current()) {
  return iterate(n, std::move(f), Exp<T>(x, at), at);
}
/// From the parts of a product.
template <class F, detail::ProductOfExps X>
auto iterate(const Position& n, F f, const X& x, std::source_location at = std::source_location::current()) {
  return iterate(n, std::move(f), detail::as_exp(x, at), at);
}

/// f(... f(f(z, a0), a1) ..., an): the elements of the innermost row of `a` at the outer index `ix`, strictly
/// from left to right, inside scalar code. `ix` is an Index or an Exp of one, with a dimension less than `a`
/// (Index{} for a vector), out of range a RunError as soon as an element is read; an empty row gives z. z is
/// an Exp or a plain value, of any element type; f takes one of that type and an element of `a`, and gives
/// the next. `a` may not depend on a parameter of the scalar code, as no array may that it reads.
template <class F, class Z, class X, int N, class T>
auto sfoldl(F f, const Z& z, const X& ix, const Acc<Array<N, T>>& a,
            std::source_location at = std::source_location::current()) {
  const auto start = detail::as_exp(z, at);
  using S = typename std::remove_const_t<decltype(start)>::value_type;
  constexpr bool index = detail::IndexLike<X>;
  constexpr bool one_less = detail::index_rank<X> == N - 1;
  constexpr bool takes = detail::takes<F, Exp<S>&, Exp<T>&>();
  static_assert(index, "anabranch: sfoldl takes an Index that names a row, as index_of(i) makes one");
  static_assert(!index || one_less,
                "anabranch: the index of sfoldl has a dimension less than the array: it names a row");
  static_assert(
      !one_less || takes,
      "anabranch: the function of sfoldl takes what it made so far, of the type of z, and an element of "
      "the array; an operator as plus takes two of one type: give a z of the elements' type, or cast");
  if constexpr (one_less && takes) {
    const auto row = detail::as_exp(ix, at);
    return detail::counted_loop(
        extent(a, N - 1, at),
        [&](const Exp<std::int64_t>& i, Exp<S> before) {
          const detail::Handle position = detail::tuple({row.handle(), i.handle()}, at);
          Exp<T> element(detail::FromHandle{}, detail::index(a.handle(), position, at, "sfoldl"));
          const auto next = detail::as_exp(f(before, element), at);
          constexpr bool fits = std::same_as<decltype(next), const Exp<S>>;
          static_assert(fits,
                        "anabranch: the function of sfoldl returns the type of its first operand, that of z; "
                        "convert with cast<T>(x), or give a z of that type");
          if constexpr (fits)
            return next;
          else
            return before;
        },
        start, at);
  } else {
    return start;
  }
}

/// Refused, with a sentence.
template <detail::HasCallOperator F, class N, class X>
  requires(!detail::Computation<F> && detail::AnyComputation<N, X>)
auto iterate(const F&, const N&, const X&) {
  static_assert(detail::always_false<F>,
                "anabranch: the number of rounds comes first, as in iterate(3, f, x)");
  return detail::refused<detail::Refused<N, X>>();
}

}  // namespace anabranch
