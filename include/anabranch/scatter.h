#pragma once

#include <anabranch/optional.h>
#include <anabranch/segments.h>

/// Elements sent to positions that are computed. Which element comes first never depends on threads: elements that meet
/// at one place are joined, or one is chosen, in the order of the source.
namespace anabranch {

namespace detail {

template <class X>
struct Destination {
  static constexpr int rank = -1;
};
template <int M>
struct Destination<Exp<Index<M>>> {
  static constexpr int rank = M;
  static constexpr bool drops = false;
  static Exp<bool> there(const Exp<Index<M>>&, Place at) {
    return Exp<bool>(FromHandle{}, constant_of(true, at));
  }
  static Exp<Index<M>> index(const Exp<Index<M>>& ix, Place) { return ix; }
};
template <int M>
struct Destination<Exp<std::optional<Index<M>>>> {
  static constexpr int rank = M;
  static constexpr bool drops = true;
  static Exp<bool> there(const Exp<std::optional<Index<M>>>& ix, Place at) { return has_value_at(ix, at); }
  static Exp<Index<M>> index(const Exp<std::optional<Index<M>>>& ix, Place at) { return inside_at(ix, at); }
};

/// The row-major position of an index. Of one that is out of range a number that is out of range, too: its own in a vector,
/// but for a -1 where that drops an element, else -2.
template <int M, bool drops>
Exp<std::int64_t> place_of(const Exp<Index<M>>& ix, const Exp<Index<M>>& extents) {
  Exp<std::int64_t> place = ix[0];
  Exp<bool> inside = ix[0] >= 0 && ix[0] < extents[0];
  for (int d = 1; d < M; ++d) {
    place = place * extents[d] + ix[d];
    inside = inside && ix[d] >= 0 && ix[d] < extents[d];
  }
  if constexpr (M == 1 && drops)
    return cond(place == -1, Exp<std::int64_t>(-2), place);
  else if constexpr (M == 1)
    return place;
  else
    return cond(inside, place, Exp<std::int64_t>(-2));
}

}  // namespace detail

/// Element ix of `a` goes to position to(ix), an Exp<Index<M>>, or nowhere: an Exp<std::optional<Index<M>>> (optional_if,
/// some, none). What meets at one position is joined as `fold1` joins a row of it, in the order of the source, and then
/// with what `defaults` has there: f(joined, old). Out of range is a RunError. f is associative and commutative.
/// (Accelerate's permute.)
///
/// Of integers by x + y, x * y, min, max, &, | or ^, and of bool by && or ||, each element is joined to what is at its
/// place: one pass over destinations and elements, which are stored. (The operator is one of these applied to its two
/// operands, and nothing else.) Else the elements' numbers are sorted by destination, then one pass over the elements.
template <class F, int M, class To, int N, class T>
  requires(M >= 1)
Acc<Array<M, T>> permute(F f, const Acc<Array<M, T>>& defaults, To to, const Acc<Array<N, T>>& a,
                         detail::Loc at = detail::Loc::current()) {
  auto [function, where] = detail::trace_function<Index<N>>(to, at);
  using Destination = detail::Destination<std::remove_const_t<decltype(where)>>;
  static_assert(Destination::rank == M,
                "anabranch: the third argument of permute gives a position in the array of defaults, an "
                "Exp<Index<N>>, or "
                "an optional one");
  const Exp<Index<M>> extents = shape(defaults, at);
  const auto places = flatten(generate(
                                  shape(a, at),
                                  [&](const Exp<Index<N>>& ix) {
                                    const auto goes = to(ix);
                                    const auto place = detail::place_of<M, Destination::drops>(
                                        Destination::index(goes, at), extents);
                                    if constexpr (Destination::drops)
                                      return cond(Destination::there(goes, at), place, Exp<std::int64_t>(-1));
                                    else
                                      return place;
                                  },
                                  at),
                              at);
  const Exp<std::int64_t> bins = size(defaults, at);
  const Acc<Vector<T>> elements_of = flatten(a, at), old = flatten(defaults, at);
  if constexpr (IsScalar<T>) {
    const detail::Handle joining = detail::trace_operator<T>(f, at);
    if (const auto join = detail::primitive_in_any_order(joining)) {
      const auto joined = detail::accumulate(*join, bins.handle(), places.handle(), elements_of.handle(),
                                             Destination::drops, at, "permute");
      return reshape(extents, detail::acc<1, T>(detail::map(joining, {joined, old.handle()}, at, "permute")),
                     at);
    }
  }
  const detail::Handles both =
      detail::group(bins.handle(), places.handle(), Destination::drops, at, "permute");
  const auto counts = detail::acc<1, std::int64_t>(both[0]);
  const auto order = detail::acc<1, std::int64_t>(both[1]);
  const auto begins = detail::sums_before(counts, at);
  const auto joined = produce(
      bins,
      [&](const Exp<std::int64_t>& b) {
        const Exp<std::int64_t> n = counts[b], begin = begins[b];
        const auto row = generate(
            max(n, 1),
            [&](const Exp<std::int64_t>& r) { return cond(n > 0, elements_of[order[begin + r]], old[b]); },
            at);
        return unit(cond(n > 0, f(the(fold1(f, row, 0, at), at), old[b]), old[b]), at);
      },
      at);
  return reshape(extents, consume(elements(joined, at), at), at);
}

namespace detail {
template <class T>
Acc<Vector<T>> scattered(Symbol label, const Acc<Vector<std::int64_t>>& places, bool drops,
                         const Acc<Vector<T>>& defaults, const Acc<Vector<T>>& a, Loc at) {
  const auto last =
      acc<1, std::int64_t>(last_at(size(defaults, at).handle(), places.handle(), drops, at, label));
  const auto read = [&](const auto& array, const Exp<std::int64_t>& i) {
    using Element = std::remove_cvref_t<decltype(array[i])>;
    return Element(FromHandle{}, index(array.handle(), i.handle(), at, label));
  };
  return generate(
      size(defaults, at),
      [&](const Exp<std::int64_t>& i) {
        const auto from = read(last, i);
        return cond(from >= 0, read(a, from), read(defaults, i));
      },
      at);
}
}  // namespace detail

/// Element i of `a` goes to position ix[i], the others are those of `defaults`; where several go to one position the
/// last one stays. ix is as long as `a` or shorter: the rest of `a` is ignored. Out of range is a RunError.
template <detail::IntegerElement I, class T>
Acc<Vector<T>> scatter(const Acc<Vector<I>>& ix, const Acc<Vector<T>>& defaults, const Acc<Vector<T>>& a,
                       detail::Loc at = detail::Loc::current()) {
  return detail::scattered("scatter", detail::as_numbers(ix, at), false, defaults, a, at);
}
/// The same for those elements whose mask holds; the index of another may be anything.
template <detail::IntegerElement I, class T>
Acc<Vector<T>> scatter_if(const Acc<Vector<I>>& ix, const Acc<Vector<bool>>& mask,
                          const Acc<Vector<T>>& defaults, const Acc<Vector<T>>& a,
                          detail::Loc at = detail::Loc::current()) {
  auto [function, place] = detail::trace_function<I, bool>(
      [&](const Exp<I>& i, const Exp<bool>& goes) {
        const Exp<std::int64_t> number = cast<std::int64_t>(i, at);
        return cond(goes, cond(number == -1, Exp<std::int64_t>(-2), number), Exp<std::int64_t>(-1));
      },
      at);
  const auto places =
      detail::acc<1, std::int64_t>(detail::map(function, {ix.handle(), mask.handle()}, at, "scatter_if"));
  return detail::scattered("scatter_if", places, true, defaults, a, at);
}

/// How often each number 0 .. bins - 1 is there; any other one is a RunError. One pass; numbers in memory are read as
/// they are.
template <int N, detail::IntegerElement I>
Acc<Vector<std::int64_t>> histogram(const Position& bins, const Acc<Array<N, I>>& ix,
                                    detail::Loc at = detail::Loc::current()) {
  return detail::acc<1, std::int64_t>(
      detail::group(bins.value().handle(), flatten(ix, at).handle(), false, at, "histogram")[0]);
}

}  // namespace anabranch
