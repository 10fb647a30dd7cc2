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
Handles traced_scan(Symbol label, F f, const Handle& seed, const Handle& array, int axis, ScanKind kind,
                    Loc at) {
  return scan(trace_operator<T>(f, at), seed, array, axis, kind, at, label);
}
}  // namespace detail

/// x0, x0 o x1, x0 o x1 o x2, ...: as large as `a`.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> scanl1(F f, const Acc<Array<N, T>>& a, int axis = N - 1,
                        detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(detail::traced_scan<T>("scanl1", f, {}, a.handle(), axis, {}, at)[0]);
}

/// z o x0, z o x0 o x1, ...: as large as `a`.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> postscanl(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                           int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(
      detail::traced_scan<T>("postscanl", f, z.value().handle(), a.handle(), axis, {}, at)[0]);
}

/// z, z o x0, z o x0 o x1, ...: as large as `a`, so without the last element of it.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> prescanl(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                          int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(detail::traced_scan<T>("prescanl", f, z.value().handle(), a.handle(), axis,
                                                  {detail::Prefixes::exclusive}, at)[0]);
}

/// prescanl, and the value that comes after its last element: z o x0 o ... o x(n-1), z of an empty row.
template <class F, int N, class T>
  requires(N >= 1)
std::tuple<Acc<Array<N, T>>, Acc<Array<N - 1, T>>> scanl_(F f, const std::type_identity_t<Located<T>>& z,
                                                          const Acc<Array<N, T>>& a, int axis = N - 1,
                                                          detail::Loc at = detail::Loc::current()) {
  const detail::Handles both = detail::traced_scan<T>("scanl_", f, z.value().handle(), a.handle(), axis,
                                                      {detail::Prefixes::exclusive}, at);
  return {detail::acc<N, T>(both[0]), detail::acc<N - 1, T>(both[1])};
}

/// z, z o x0, z o x0 o x1, ..., z o ... o x(n-1): one element longer than `a` along that dimension.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> scanl(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                       int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(detail::traced_scan<T>("scanl", f, z.value().handle(), a.handle(), axis,
                                                  {detail::Prefixes::all}, at)[0]);
}

// ---- From the right ---------------------------------------------------------------------------------------
//
// Each is the scan from the left of the reversed row by the operator with its operands exchanged, reversed: element i
// depends on the elements from its own on. One pass, as from the left.

namespace detail {
template <class F, int N, class T>
Handles scan_from_right(Symbol label, F f, Handle seed, const Acc<Array<N, T>>& a, int axis,
                        Prefixes prefixes, Loc at) {
  return traced_scan<T>(label, std::move(f), std::move(seed), a.handle(), axis,
                        {.prefixes = prefixes, .from_right = true}, at);
}
}  // namespace detail

/// x0 o ... o x(n-1), ..., x(n-2) o x(n-1), x(n-1): as large as `a`.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> scanr1(F f, const Acc<Array<N, T>>& a, int axis = N - 1,
                        detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(
      detail::scan_from_right("scanr1", f, {}, a, axis, detail::Prefixes::inclusive, at)[0]);
}
/// x0 o ... o x(n-1) o z, ..., x(n-1) o z: as large as `a`.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> postscanr(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                           int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(detail::scan_from_right("postscanr", f, z.value().handle(), a, axis,
                                                   detail::Prefixes::inclusive, at)[0]);
}
/// x1 o ... o x(n-1) o z, ..., x(n-1) o z, z: as large as `a`.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> prescanr(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                          int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(detail::scan_from_right("prescanr", f, z.value().handle(), a, axis,
                                                   detail::Prefixes::exclusive, at)[0]);
}
/// prescanr, and the value that comes before its first element: x0 o ... o x(n-1) o z, z of an empty row.
template <class F, int N, class T>
  requires(N >= 1)
std::tuple<Acc<Array<N, T>>, Acc<Array<N - 1, T>>> scanr_(F f, const std::type_identity_t<Located<T>>& z,
                                                          const Acc<Array<N, T>>& a, int axis = N - 1,
                                                          detail::Loc at = detail::Loc::current()) {
  const detail::Handles both =
      detail::scan_from_right("scanr_", f, z.value().handle(), a, axis, detail::Prefixes::exclusive, at);
  return {detail::acc<N, T>(both[0]), detail::acc<N - 1, T>(both[1])};
}
/// x0 o ... o x(n-1) o z, ..., x(n-1) o z, z: one element longer than `a` along that dimension.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> scanr(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                       int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(
      detail::scan_from_right("scanr", f, z.value().handle(), a, axis, detail::Prefixes::all, at)[0]);
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
