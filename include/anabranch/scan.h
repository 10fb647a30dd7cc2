#pragma once

#include <anabranch/acc.h>

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

}  // namespace anabranch
