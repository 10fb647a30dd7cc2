#pragma once

#include <anabranch/transform.h>

/// Scans: the prefixes of every row along one dimension, by default the innermost.
///
/// `f` takes and returns elements of T and is associative; it need not be commutative. The order in which it
/// is applied is fixed (docs/language.md, "Scans"), so that the bits are the same for any chunk size, number
/// of threads and back end: an element depends on the elements up to its own and on nothing else. The last
/// element is therefore not fold's bits where f rounds. One pass: an element is read and written once.
namespace anabranch {

namespace detail {
template <class T, class F>
Handles traced_scan(Symbol label, F f, Handle seed, const Handle& array, int axis, bool exclusive, Loc at) {
  return scan(trace_operator<T>(f, at), seed, array, axis, exclusive, at, label);
}
}  // namespace detail

/// x0, x0 o x1, x0 o x1 o x2, ...: as large as `a`.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> scanl1(F f, const Acc<Array<N, T>>& a, int axis = N - 1,
                        detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(detail::traced_scan<T>("scanl1", f, {}, a.handle(), axis, false, at)[0]);
}

/// z o x0, z o x0 o x1, ...: as large as `a`.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> postscanl(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                           int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(
      detail::traced_scan<T>("postscanl", f, z.value().handle(), a.handle(), axis, false, at)[0]);
}

/// z, z o x0, z o x0 o x1, ...: as large as `a`, so without the last element of it.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> prescanl(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                          int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(
      detail::traced_scan<T>("prescanl", f, z.value().handle(), a.handle(), axis, true, at)[0]);
}

/// prescanl, and the value that comes after its last element: z o x0 o ... o x(n-1), z of an empty row.
template <class F, int N, class T>
  requires(N >= 1)
std::tuple<Acc<Array<N, T>>, Acc<Array<N - 1, T>>> scanl_(F f, const std::type_identity_t<Located<T>>& z,
                                                          const Acc<Array<N, T>>& a, int axis = N - 1,
                                                          detail::Loc at = detail::Loc::current()) {
  const detail::Handles both =
      detail::traced_scan<T>("scanl_", f, z.value().handle(), a.handle(), axis, true, at);
  return {detail::acc<N, T>(both[0]), detail::acc<N - 1, T>(both[1])};
}

namespace detail {
/// One element longer along that dimension: those of `prefixes`, from(i) for i < n, and the total at `end` (0 or n).
template <int N, class T, class From>
Acc<Array<N, T>> with_total(Symbol label, const Handles& both, int axis, bool total_first, From from,
                            Loc at) {
  const Acc<Array<N, T>> prefixes = acc<N, T>(both[0]);
  const Exp<std::int64_t> length = extent(prefixes, axis, at);
  Handles extents;
  for (int d = 0; d < N; ++d) extents.push_back((d == axis ? length + 1 : extent(prefixes, d)).handle());
  return generated<N>(
      label, std::move(extents),
      [&](const Exp<Index<N>>& ix) {
        Handles position, row;
        for (int d = 0; d < N; ++d) {
          position.push_back((d == axis ? from(ix[d], length) : ix[d]).handle());
          if (d != axis) row.push_back(ix[d].handle());
        }
        const Exp<T> prefix(FromHandle{},
                            index(prefixes.handle(), tuple(std::move(position), at), at, label));
        const Exp<T> total(FromHandle{}, index(both[1], tuple(std::move(row), at), at, label));
        return total_first ? cond(ix[axis] < 1, total, prefix) : cond(ix[axis] < length, prefix, total);
      },
      at);
}
}  // namespace detail

/// z, z o x0, z o x0 o x1, ..., z o ... o x(n-1): one element longer than `a` along that dimension. A pass more than
/// scanl_, which puts the total behind the others.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> scanl(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                       int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("scanl", axis, N, at);
  const detail::Handles both =
      detail::traced_scan<T>("scanl", f, z.value().handle(), a.handle(), axis, true, at);
  return detail::with_total<N, T>(
      "scanl", both, axis, false, [](const auto& i, const auto&) { return i; }, at);
}

// ---- From the right ---------------------------------------------------------------------------------------
//
// Each is the scan from the left of the reversed row by the flipped operator, reversed: element i depends on the
// elements from its own on. Cost: where no reader takes the reversal in, a pass more over the result.

namespace detail {
template <class F>
auto flipped(F f) {
  return [f](const auto& x, const auto& y) { return f(y, x); };
}
template <int N, class T>
Acc<Array<N, T>> reversed(Symbol label, const Acc<Array<N, T>>& a, int axis, Loc at) {
  check_dimension(label.c_str(), axis, N, at);
  const Exp<std::int64_t> n = extent(a, axis, at);
  return reordered_along(
      label, a, axis, n, [&](const auto& i) { return n - 1 - i; }, {.injective = true, .in_bounds = true},
      at);
}
template <class F, int N, class T>
Handles scan_from_right(Symbol label, F f, Handle seed, const Acc<Array<N, T>>& a, int axis, bool exclusive,
                        Loc at) {
  Handles both = traced_scan<T>(label, flipped(std::move(f)), std::move(seed),
                                reversed(label, a, axis, at).handle(), axis, exclusive, at);
  both[0] = reversed(label, acc<N, T>(both[0]), axis, at).handle();
  return both;
}
}  // namespace detail

/// x0 o ... o x(n-1), ..., x(n-2) o x(n-1), x(n-1): as large as `a`.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> scanr1(F f, const Acc<Array<N, T>>& a, int axis = N - 1,
                        detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(detail::scan_from_right("scanr1", f, {}, a, axis, false, at)[0]);
}
/// x0 o ... o x(n-1) o z, ..., x(n-1) o z: as large as `a`.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> postscanr(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                           int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(
      detail::scan_from_right("postscanr", f, z.value().handle(), a, axis, false, at)[0]);
}
/// x1 o ... o x(n-1) o z, ..., x(n-1) o z, z: as large as `a`.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> prescanr(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                          int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(detail::scan_from_right("prescanr", f, z.value().handle(), a, axis, true, at)[0]);
}
/// prescanr, and the value that comes before its first element: x0 o ... o x(n-1) o z, z of an empty row.
template <class F, int N, class T>
  requires(N >= 1)
std::tuple<Acc<Array<N, T>>, Acc<Array<N - 1, T>>> scanr_(F f, const std::type_identity_t<Located<T>>& z,
                                                          const Acc<Array<N, T>>& a, int axis = N - 1,
                                                          detail::Loc at = detail::Loc::current()) {
  const detail::Handles both = detail::scan_from_right("scanr_", f, z.value().handle(), a, axis, true, at);
  return {detail::acc<N, T>(both[0]), detail::acc<N - 1, T>(both[1])};
}
/// x0 o ... o x(n-1) o z, ..., x(n-1) o z, z: one element longer than `a` along that dimension.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> scanr(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                       int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("scanr", axis, N, at);
  const detail::Handles both =
      detail::traced_scan<T>("scanr", detail::flipped(f), z.value().handle(),
                             detail::reversed("scanr", a, axis, at).handle(), axis, true, at);
  return detail::with_total<N, T>(
      "scanr", both, axis, true, [](const auto& i, const auto& n) { return n - i; }, at);
}

// ---- One after the other ----------------------------------------------------------------------------------

/// f(s0, x0), f(f(s0, x0), x1), ...: the state after each element of every row along one dimension, as large as `a`. The
/// state may be of another type than the elements, and f need not be associative: a recursive filter, a run of a machine.
/// `s0` is an Exp or a plain value. Rows are independent of each other and computed in parallel, the elements of a row
/// one after the other: as many steps as the longest row has elements. A scan, where f is associative, is faster.
template <class F, class S0, int N, class T>
  requires(N >= 1 && !detail::Collective<S0>)
auto scan_state(F f, const S0& s0, const Acc<Array<N, T>>& a, int axis = N - 1,
                detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("scan_state", axis, N, at);
  const auto first = detail::as_exp(s0, at);
  using S = typename std::remove_const_t<decltype(first)>::value_type;
  constexpr bool takes = detail::takes<F, Exp<S>&, Exp<T>&>();
  static_assert(takes,
                "anabranch: the function of scan_state takes the state, of the type of s0, and an element of "
                "the array; "
                "an operator as plus takes two of one type: give an s0 of the elements' type, or cast");
  if constexpr (takes) {
    const auto [function, next] = detail::trace_function<S, T>(f, at);
    constexpr bool fits = std::same_as<typename std::remove_const_t<decltype(next)>::value_type, S>;
    static_assert(
        fits,
        "anabranch: the function of scan_state returns the next state, of the type of s0; convert with "
        "cast<T>(x), or give an s0 of that type");
    return detail::acc<N, S>(detail::scan_state(function, first.handle(), a.handle(), axis, at));
  } else {
    return detail::acc<N, S>(detail::Handle{});
  }
}

}  // namespace anabranch
