#pragma once

#include <anabranch/transform.h>

/// Stencils: each element of the result from those near its place. Cost: as the reads and the function, once per
/// element; the array that is read is stored first, if it is not already.
namespace anabranch {

/// The elements near a place, as the function of a stencil sees them: n(0, 0) is the one there, n(dy, dx) lies dy
/// rows below and dx columns to the right. Offsets are numbers, or Exps of integers, of any size.
template <int N, class T, class B>
class Neighbours {
 public:
  Neighbours(const Acc<Array<N, T>>& a, const B& boundary, const Exp<Index<N>>& ix, Place at)
      : a_(a), boundary_(boundary), ix_(ix), at_(at) {}

  template <class... Offsets>
    requires(sizeof...(Offsets) == N && (std::convertible_to<const Offsets&, Position> && ...))
  Exp<T> operator()(const Offsets&... by) const {
    detail::Handles position;
    int d = 0;
    (position.push_back(along(d++, by).handle()), ...);
    const detail::Handle at_position = detail::tuple(std::move(position), at_);
    if constexpr (detail::Refolding<B>)
      return {detail::FromHandle{}, detail::index(a_.handle(), at_position, at_, "stencil")};
    else
      return detail::element_or(boundary_, a_, Exp<Index<N>>(detail::FromHandle{}, at_position), "stencil",
                                at_);
  }
  /// Refused, with a sentence.
  template <class... Offsets>
    requires(sizeof...(Offsets) != N || !(std::convertible_to<const Offsets&, Position> && ...))
  Exp<T> operator()(const Offsets&...) const {
    static_assert(
        sizeof...(Offsets) == N,
        "anabranch: n(...) in a stencil takes an offset for each dimension of the array, as n(dy, dx) does");
    static_assert(
        sizeof...(Offsets) != N,
        "anabranch: offsets in a stencil are integers, or Exps of them: convert with cast<int64_t>(x)");
    return {detail::FromHandle{}, detail::Handle{}};
  }
  /// The place itself.
  Exp<Index<N>> index() const { return ix_; }

 private:
  template <class By>
  Exp<std::int64_t> along(int d, const By& by) const {
    if constexpr (detail::NumericValue<By>) {
      if (by == 0) return ix_[d];
    }
    const Exp<std::int64_t> n = extent(a_, d);
    Exp<std::int64_t> position = ix_[d] + detail::reach(boundary_, Position(by).value(), n, at_);
    if constexpr (detail::Refolding<B>)
      return detail::refolded(boundary_, position, n);
    else
      return position;
  }

  Acc<Array<N, T>> a_;
  B boundary_;
  Exp<Index<N>> ix_;
  Place at_;
};

/// f of the neighbours of each place; as large as `a`. f takes one Neighbours (`auto n`) and reads what it likes,
/// at offsets known when the program is built, or computed. Every second one: section(stencil(...), ...), which
/// computes no others.
template <class F, int N, class T, class B>
  requires(N >= 1 && !detail::NamedBoundary<F> && detail::Boundary<B, N>)
auto stencil(F f, const B& boundary, const Acc<Array<N, T>>& a, detail::Loc at = detail::Loc::current()) {
  detail::Handles extents;
  for (int d = 0; d < N; ++d) extents.push_back(extent(a, d).handle());
  return detail::generated<N>(
      "stencil", std::move(extents),
      [&](const Exp<Index<N>>& ix) { return f(Neighbours<N, T, B>(a, boundary, ix, at)); }, at);
}
/// f of the neighbours in two arrays; of their shapes the intersection.
template <class F, int N, class T, class B, class U, class C>
  requires(N >= 1 && detail::Boundary<B, N> && detail::Boundary<C, N>)
auto stencil2(F f, const B& boundary_a, const Acc<Array<N, T>>& a, const C& boundary_b,
              const Acc<Array<N, U>>& b, detail::Loc at = detail::Loc::current()) {
  detail::Handles extents;
  for (int d = 0; d < N; ++d) extents.push_back(min(extent(a, d), extent(b, d)).handle());
  return detail::generated<N>(
      "stencil2", std::move(extents),
      [&](const Exp<Index<N>>& ix) {
        return f(Neighbours<N, T, B>(a, boundary_a, ix, at), Neighbours<N, U, C>(b, boundary_b, ix, at));
      },
      at);
}

}  // namespace anabranch
