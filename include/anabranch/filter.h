#pragma once

#include <tuple>

#include <anabranch/fold.h>
#include <anabranch/scan.h>

/// Elements kept, left out, repeated: how many there are only values tell. Those that stay keep their order.
namespace anabranch {

namespace detail {
/// What a mask keeps, and how many of each row.
template <int N, class T>
std::tuple<Acc<Vector<T>>, Acc<Array<N - 1, std::int64_t>>> kept_where(Symbol label,
                                                                       const Acc<Array<N, bool>>& mask,
                                                                       const Acc<Array<N, T>>& a, Loc at) {
  const auto counts = count(mask, N - 1, at);
  const Exp<std::int64_t> all = the(sum(flatten(mask, at), 0, at), at);
  return {acc<1, T>(select(all.handle(), mask.handle(), a.handle(), at, label)), counts};
}
}  // namespace detail

/// The elements where the mask holds, all rows one after the other, and how many that are in each row. The mask has
/// as many elements as `a` (else a RunError).
///
///     auto [kept, counts] = compact(mask, a);
///
/// The mask is stored; it is read twice, the elements once.
template <int N, class T>
  requires(N >= 1)
std::tuple<Acc<Vector<T>>, Acc<Array<N - 1, std::int64_t>>> compact(const Acc<Array<N, bool>>& mask,
                                                                    const Acc<Array<N, T>>& a,
                                                                    detail::Loc at = detail::Loc::current()) {
  return detail::kept_where("compact", mask, a, at);
}

/// The elements of which p holds: compact(map(p, a), a).
template <class P, int N, class T>
  requires(N >= 1)
std::tuple<Acc<Vector<T>>, Acc<Array<N - 1, std::int64_t>>> filter(P p, const Acc<Array<N, T>>& a,
                                                                   detail::Loc at = detail::Loc::current()) {
  auto [function, truth] = detail::trace_function<T>(p, at);
  static_assert(std::same_as<decltype(truth), Exp<bool>>,
                "anabranch: the function of filter says whether an element is kept (an Exp<bool>)");
  return detail::kept_where("filter", detail::acc<N, bool>(detail::map(function, {a.handle()}, at, "filter")),
                            a, at);
}

namespace detail {
/// Each as int64.
template <IntegerElement I>
Acc<Vector<std::int64_t>> as_numbers(const Acc<Vector<I>>& a, Loc at) {
  if constexpr (std::same_as<I, std::int64_t>)
    return a;
  else
    return map([at](const Exp<I>& x) { return cast<std::int64_t>(x, at); }, a, at);
}
// Templates, so that nothing of them is compiled where they are not called.

/// The sum of numbers that are not negative; more than an extent may be where it is no less than that, or overflows.
template <std::same_as<std::int64_t> I>
Exp<I> sum_of_extents(const Acc<Vector<I>>& a, Loc at) {
  constexpr std::int64_t most = std::int64_t{1} << 59;
  const auto numbers = map([at](const Exp<I>& n) { return cast<double>(n, at); }, a, at);
  const Exp<double> about = the(sum(numbers, 0, at), at);
  return cond(about < static_cast<double>(most), the(sum(a, 0, at), at), most + 1);
}
/// What comes before each element.
template <std::same_as<std::int64_t> I>
Acc<Vector<I>> sums_before(const Acc<Vector<I>>& a, Loc at) {
  return prescanl(plus, I{0}, a, 0, at);
}
}  // namespace detail

/// Each element becomes count(x) elements: f(x, i) for i in [0, count(x)), all one after the other. A negative count is
/// a RunError. Linear in what it gives; the elements of `a` are stored. (*Accelerate*, Data.Array.Accelerate.expand.)
template <class C, class F, int N, class T>
auto expand(C count_of, F f, const Acc<Array<N, T>>& a, detail::Loc at = detail::Loc::current()) {
  const Acc<Vector<T>> each = flatten(a, at);
  auto [function, result] = detail::trace_function<T>(count_of, at);
  static_assert(
      std::same_as<decltype(result), Exp<std::int64_t>>,
      "anabranch: the first function of expand says how many elements come of one (an Exp<int64_t>)");
  const auto counts = detail::acc<1, std::int64_t>(detail::map(function, {each.handle()}, at, "expand"));
  const auto before = detail::sums_before(counts, at);
  // Which count is negative is found where they are repeated.
  const auto not_negative = map([](const Exp<std::int64_t>& n) { return max(n, 0); }, counts, at);
  const Exp<std::int64_t> total = detail::sum_of_extents(not_negative, at);
  const auto source =
      detail::acc<1, std::int64_t>(detail::repeat(total.handle(), counts.handle(), at, "expand"));
  return generate(
      shape(source, at),
      [=](const Exp<Index<1>>& ix) {
        const Exp<std::int64_t> from = source[ix];
        Exp<T> x = each[from];
        Exp<std::int64_t> i = ix[0] - before[from];
        return f(x, i);
      },
      at);
}

}  // namespace anabranch
