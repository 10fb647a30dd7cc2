#pragma once

#include <array>

#include <anabranch/elementwise.h>

/// The elements of an array at other positions. Each element of a result is one element of the operand: readers
/// compute its position, and no memory is touched, but where a reader takes elements at positions that it computes
/// (concat, pad, stencils, gather, a[ix]) and of which it is not known that they are in range: the array it reads is stored first.
namespace anabranch {

/// The same elements in row-major order, as another shape; sizes must agree (RunError).
template <int M, int N, class T>
Acc<Array<M, T>> reshape(const Exp<Index<M>>& shape, const Acc<Array<N, T>>& a,
                         detail::Loc at = detail::Loc::current()) {
  return detail::acc<M, T>(detail::reshape(shape.handle(), a.handle(), at, {}));
}
template <int M, int N, class T>
Acc<Array<M, T>> reshape(const Index<M>& shape, const Acc<Array<N, T>>& a,
                         detail::Loc at = detail::Loc::current()) {
  return reshape(Exp<Index<M>>(shape, at), a, at);
}
template <int N, class T>
Acc<Vector<T>> reshape(const Position& length, const Acc<Array<N, T>>& a,
                       detail::Loc at = detail::Loc::current()) {
  return reshape(Exp<Index<1>>(detail::FromHandle{}, length.value().handle()), a, at);
}
/// All elements as one vector.
template <int N, class T>
Acc<Vector<T>> flatten(const Acc<Array<N, T>>& a, detail::Loc at = detail::Loc::current()) {
  if constexpr (N == 1) {
    return a;
  } else {
    return detail::acc<1, T>(detail::reshape(size(a, at).handle(), a.handle(), at, "flatten"));
  }
}

/// Element at ix is a[f(ix)]; out of range is a RunError.
/// A length instead of a shape gives a vector, and f then takes an Exp<int64_t>: backpermute(3, [](auto i) {
/// return index_of(2 - i); }, v).
template <int M, class F, int N, class T>
Acc<Array<M, T>> backpermute(const Exp<Index<M>>& shape, F f, const Acc<Array<N, T>>& a,
                             detail::Loc at = detail::Loc::current()) {
  auto [function, result] = detail::trace_function<Index<M>>(f, at);
  static_assert(
      std::same_as<decltype(result), Exp<Index<N>>>,
      "anabranch: the function of backpermute gives a position in its array, an Exp<Index<N>>: index_of(i)");
  return detail::acc<M, T>(detail::backpermute(shape.handle(), function, a.handle(), {}, at, {}));
}
template <int M, class F, int N, class T>
Acc<Array<M, T>> backpermute(const Index<M>& shape, F f, const Acc<Array<N, T>>& a,
                             detail::Loc at = detail::Loc::current()) {
  return backpermute(Exp<Index<M>>(shape, at), std::move(f), a, at);
}
template <class F, int N, class T>
Acc<Vector<T>> backpermute(const Position& length, F f, const Acc<Array<N, T>>& a,
                           detail::Loc at = detail::Loc::current()) {
  return backpermute(Exp<Index<1>>(detail::FromHandle{}, length.value().handle()),
                     detail::by_number(std::move(f)), a, at);
}

/// Element at k is a[ix[k]]; out of range is a RunError. Indices may be of any integer type.
template <int N, detail::IntegerElement I, class T>
Acc<Array<N, T>> gather(const Acc<Array<N, I>>& ix, const Acc<Vector<T>>& a,
                        detail::Loc at = detail::Loc::current()) {
  auto [function, result] = detail::trace_function<I>(
      [&](Exp<I> i) {
        return Exp<T>(detail::FromHandle{},
                      detail::index(a.handle(), cast<std::int64_t>(i, at).handle(), at, "gather"));
      },
      at);
  return detail::acc<N, T>(detail::map(function, {ix.handle()}, at, "gather"));
}

/// Element at k is a[ix[k]] where mask[k] holds, else `otherwise`, an element, or one of an array of them. An
/// index whose mask does not hold may be anything.
template <int N, detail::IntegerElement I, class T>
Acc<Array<N, T>> gather_if(const Acc<Array<N, I>>& ix, const Acc<Array<N, bool>>& mask,
                           const Acc<Array<N, T>>& otherwise, const Acc<Vector<T>>& a,
                           detail::Loc at = detail::Loc::current()) {
  auto [function, result] = detail::trace_function<I, bool, T>(
      [&](const Exp<I>& i, const Exp<bool>& holds, const Exp<T>& other) {
        const auto element = detail::index(a.handle(), cast<std::int64_t>(i, at).handle(), at, "gather_if");
        return Exp<T>(detail::FromHandle{}, detail::cond(holds.handle(), element, other.handle(), at));
      },
      at);
  return detail::acc<N, T>(
      detail::map(function, {ix.handle(), mask.handle(), otherwise.handle()}, at, "gather_if"));
}
template <int N, detail::IntegerElement I, class T>
Acc<Array<N, T>> gather_if(const Acc<Array<N, I>>& ix, const Acc<Array<N, bool>>& mask,
                           const std::type_identity_t<Located<T>>& otherwise, const Acc<Vector<T>>& a,
                           detail::Loc at = detail::Loc::current()) {
  return gather_if(ix, mask, fill(shape(ix, at), otherwise.value(), at), a, at);
}

/// Turns dimensions around: dimension d of the result is dimension permutation[d] of `a`. Default: reversed.
template <int N, class T>
Acc<Array<N, T>> transpose(const Acc<Array<N, T>>& a,
                           std::array<int, static_cast<std::size_t>(N)> permutation,
                           detail::Loc at = detail::Loc::current()) {
  detail::check_permutation(permutation, at);
  detail::Handles extents;
  for (int d : permutation) extents.push_back(extent(a, d, at).handle());
  auto [function, result] = detail::trace_function<Index<N>>(
      [&](Exp<Index<N>> ix) {
        detail::Handles from(static_cast<std::size_t>(N));
        for (int d = 0; d < N; ++d)
          from[static_cast<std::size_t>(permutation[static_cast<std::size_t>(d)])] = ix[d].handle();
        return Exp<Index<N>>(detail::FromHandle{}, detail::tuple(from, at));
      },
      at);
  return detail::acc<N, T>(detail::backpermute(detail::tuple(extents, at), function, a.handle(),
                                               {.injective = true, .in_bounds = true}, at, "transpose"));
}
template <int N, class T>
Acc<Array<N, T>> transpose(const Acc<Array<N, T>>& a, detail::Loc at = detail::Loc::current()) {
  std::array<int, static_cast<std::size_t>(N)> reversed;
  for (int d = 0; d < N; ++d) reversed[static_cast<std::size_t>(d)] = N - 1 - d;
  return transpose(a, reversed, at);
}

/// For replicate and slice: keep this dimension. And all(a): whether all elements are true, along one
/// dimension; of an empty row they are (fold.h).
struct All {
  template <int N>
    requires(N >= 1)
  Acc<Array<N - 1, bool>> operator()(const Acc<Array<N, bool>>& a, int axis,
                                     detail::Loc at = detail::Loc::current()) const;
  template <int N>
    requires(N >= 1)
  Acc<Array<N - 1, bool>> operator()(const Acc<Array<N, bool>>& a,
                                     detail::Loc at = detail::Loc::current()) const;
  /// Whether p holds of all of them.
  template <class P, int N, class T>
    requires(N >= 1 && !detail::IsAcc<P>)
  Acc<Array<N - 1, bool>> operator()(P p, const Acc<Array<N, T>>& a,
                                     detail::Loc at = detail::Loc::current()) const;
  template <class P, int N, class T>
    requires(N >= 1 && !detail::IsAcc<P>)
  Acc<Array<N - 1, bool>> operator()(P p, const Acc<Array<N, T>>& a, int axis,
                                     detail::Loc at = detail::Loc::current()) const;
  /// Refused, with a sentence.
  template <detail::IsAcc A, class... Xs>
  auto operator()(const A&, const Xs&...) const {
    static_assert(detail::always_false<A>, "anabranch: all takes an array of bool, as map(p, a) makes one");
    return detail::refused_array();
  }
};
inline constexpr All all{};

namespace detail {
template <class X>
inline constexpr bool is_all = std::same_as<std::remove_cvref_t<X>, All>;
template <class... Spec>
inline constexpr int kept = (0 + ... + (is_all<Spec> ? 1 : 0));
template <class X>
Handle slot(const X& x) {
  if constexpr (is_all<X>)
    return {};
  else
    return Position(x).value().handle();
}
}  // namespace detail

namespace detail {

template <int N, class T, class... Spec>
  requires(kept<Spec...> == N)
auto replicate_at(Loc at, const Acc<Array<N, T>>& a, const Spec&... spec) {
  constexpr int M = static_cast<int>(sizeof...(Spec));
  const Handles slots{slot(spec)...};
  Handles extents;
  int next = 0;
  for (const auto& s : slots) extents.push_back(s ? s : extent(a, next++, at).handle());
  auto [function, result] = trace_function<Index<M>>(
      [&](const Exp<Index<M>>& ix) {
        Handles from;
        for (int d = 0; d < M; ++d)
          if (!slots[static_cast<std::size_t>(d)]) from.push_back(ix[d].handle());
        return Exp<Index<N>>(FromHandle{}, tuple(from, at));
      },
      at);
  return acc<M, T>(
      detail::backpermute(tuple(extents, at), function, a.handle(), {.in_bounds = true}, at, "replicate"));
}

template <int N, class T, class... Spec>
  requires(static_cast<int>(sizeof...(Spec)) == N)
auto slice_at(Loc at, const Acc<Array<N, T>>& a, const Spec&... spec) {
  constexpr int M = kept<Spec...>;
  const Handles slots{slot(spec)...};
  Handles extents;
  for (int d = 0; d < N; ++d)
    if (!slots[static_cast<std::size_t>(d)]) extents.push_back(extent(a, d, at).handle());
  auto [function, result] = trace_function<Index<M>>(
      [&](Exp<Index<M>> ix) {
        Handles from;
        int next = 0;
        for (const auto& s : slots) from.push_back(s ? s : ix[next++].handle());
        return Exp<Index<N>>(FromHandle{}, tuple(from, at));
      },
      at);
  return acc<M, T>(
      detail::backpermute(tuple(extents, at), function, a.handle(), {.injective = true}, at, "slice"));
}

/// One argument of replicate or slice.
template <class X>
concept Slot = is_all<X> || std::convertible_to<X, Position>;

}  // namespace detail

/// New dimensions along which the array repeats. One argument per dimension of the *result*: `all` takes the
/// next dimension of `a`, a number n (or an integer Exp) is a new dimension of extent n. replicate(v, 3,
/// all): a matrix of 3 rows v.
template <int N, class T, detail::Slot A>
  requires(detail::kept<A> == N)
auto replicate(const Acc<Array<N, T>>& a, const A& s0, detail::Loc at = detail::Loc::current()) {
  return detail::replicate_at(at, a, s0);
}
template <int N, class T, detail::Slot A, detail::Slot B>
  requires(detail::kept<A, B> == N)
auto replicate(const Acc<Array<N, T>>& a, const A& s0, const B& s1, detail::Loc at = detail::Loc::current()) {
  return detail::replicate_at(at, a, s0, s1);
}
template <int N, class T, detail::Slot A, detail::Slot B, detail::Slot C>
  requires(detail::kept<A, B, C> == N)
auto replicate(const Acc<Array<N, T>>& a, const A& s0, const B& s1, const C& s2,
               detail::Loc at = detail::Loc::current()) {
  return detail::replicate_at(at, a, s0, s1, s2);
}
template <int N, class T, detail::Slot A, detail::Slot B, detail::Slot C, detail::Slot D>
  requires(detail::kept<A, B, C, D> == N)
auto replicate(const Acc<Array<N, T>>& a, const A& s0, const B& s1, const C& s2, const D& s3,
               detail::Loc at = detail::Loc::current()) {
  return detail::replicate_at(at, a, s0, s1, s2, s3);
}

/// Fixes dimensions. One argument per dimension of `a`: `all` keeps it, a number (or an integer Exp) picks a
/// position. slice(m, 2, all): row 2. A position out of range is a RunError.
template <class T, detail::Slot A>
auto slice(const Acc<Array<1, T>>& a, const A& s0, detail::Loc at = detail::Loc::current()) {
  return detail::slice_at(at, a, s0);
}
template <class T, detail::Slot A, detail::Slot B>
auto slice(const Acc<Array<2, T>>& a, const A& s0, const B& s1, detail::Loc at = detail::Loc::current()) {
  return detail::slice_at(at, a, s0, s1);
}
template <class T, detail::Slot A, detail::Slot B, detail::Slot C>
auto slice(const Acc<Array<3, T>>& a, const A& s0, const B& s1, const C& s2,
           detail::Loc at = detail::Loc::current()) {
  return detail::slice_at(at, a, s0, s1, s2);
}
template <class T, detail::Slot A, detail::Slot B, detail::Slot C, detail::Slot D>
auto slice(const Acc<Array<4, T>>& a, const A& s0, const B& s1, const C& s2, const D& s3,
           detail::Loc at = detail::Loc::current()) {
  return detail::slice_at(at, a, s0, s1, s2, s3);
}

}  // namespace anabranch
