#pragma once

#include <array>
#include <tuple>
#include <utility>

#include <anabranch/control.h>
#include <anabranch/segments.h>

/// Sorting, and what sorting makes possible. All of it is stable: elements that are equal keep their order.
///
/// The order is that of <, component by component; floating point: -0 comes before 0, a NaN after all numbers; false
/// before true. A radix sort: time is linear in the elements for each byte of the key in which they differ.
namespace anabranch {

/// The elements of each row in rising order.
template <int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> sort(const Acc<Array<N, T>>& a, int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(detail::sort(a.handle(), axis, at, "sort")[0]);
}

/// Where in its row the least element is, the next one, ...: NumPy's argsort.
template <int N, class T>
  requires(N >= 1)
Acc<Array<N, std::int64_t>> argsort(const Acc<Array<N, T>>& a, int axis = N - 1,
                                    detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, std::int64_t>(detail::sort(a.handle(), axis, at, "argsort")[1]);
}

/// The elements of each row in rising order of key(x).
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> sort_by(F key, const Acc<Array<N, T>>& a, int axis = N - 1,
                         detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("sort_by", axis, N, at);
  auto [function, result] = detail::trace_function<T>(key, at);
  const detail::Handle keys = detail::map(function, {a.handle()}, at, "sort_by");
  const auto order = detail::acc<N, std::int64_t>(detail::sort(keys, axis, at, "sort_by")[1]);
  return generate(
      shape(a, at),
      [&](const Exp<Index<N>>& ix) {
        detail::Handles from;
        for (int d = 0; d < N; ++d) from.push_back((d == axis ? order[ix] : ix[d]).handle());
        return Exp<T>(detail::FromHandle{},
                      detail::index(a.handle(), detail::tuple(std::move(from), at), at, "sort_by"));
      },
      at);
}

namespace detail {
/// The elements of each row of n, all of them in one vector, in the order of less(x, y): a stable merge sort. Runs of
/// `width` elements are in order; each round merges pairs of them, in all rows at once. Where an element goes to
/// follows from how many of the other run come before it.
template <class F, class T>
Acc<Vector<T>> merge_sort(const F& less, const Acc<Vector<T>>& elements, const Exp<std::int64_t>& n,
                          bool is_one_row, Loc at) {
  using Number = Exp<std::int64_t>;
  using Range = std::tuple<std::int64_t, std::int64_t>;
  const Number size_of_all = size(elements, at);
  const auto [width, sorted] = awhile(
      [=](const Acc<Scalar<std::int64_t>>& w, const Acc<Vector<T>>&) { return the(w, at) < n; },
      [=](const Acc<Scalar<std::int64_t>>& w, const Acc<Vector<T>>& v) {
        const Number run = the(w, at);
        const auto to = generate(
            size_of_all,
            [=](const Number& i) {
              const Number row = is_one_row ? Number(0) : i / n * n;
              const Number begin = row + (i - row) / (run * 2) * (run * 2), row_end = row + n;
              const Number middle = min(begin + run, row_end), end = min(middle + run, row_end);
              const Exp<bool> is_left = i < middle;
              const Number low = cond(is_left, middle, begin), high = cond(is_left, end, middle);
              const Exp<T> x = v[i];
              const auto found = while_loop([](const Exp<Range>& b) { return get<0>(b) < get<1>(b); },
                                            [=](const Exp<Range>& b) {
                                              const Number at_least = get<0>(b), at_most = get<1>(b);
                                              const Number probe = at_least + (at_most - at_least) / 2;
                                              const Exp<T> y = v[probe];
                                              // Of equal elements the left run's come first.
                                              const Exp<bool> before = cond(is_left, less(y, x), !less(x, y));
                                              return make<Range>(cond(before, probe + 1, at_least),
                                                                 cond(before, at_most, probe));
                                            },
                                            make<Range>(low, high));
              return get<0>(found) + i - middle;
            },
            at);
        const auto from =
            acc<1, std::int64_t>(last_at(size_of_all.handle(), to.handle(), false, at, "sort_with"));
        // The places of a strict weak order are all different.
        const auto next = generate(
            size_of_all,
            [&](const Number& i) {
              return Exp<T>(FromHandle{}, index(v.handle(), from[i].handle(), at,
                                                "sort_with by what is no strict weak order"));
            },
            at);
        return std::tuple{anabranch::unit(run * 2, at), next};
      },
      std::tuple{anabranch::unit(std::int64_t{1}, at), elements}, at);
  return sorted;
}
}  // namespace detail

/// The elements of each row in the order of less(x, y), which is a strict weak order. A merge sort: n log^2 n
/// comparisons for a row of n.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N, T>> sort_with(F less, const Acc<Array<N, T>>& a, int axis = N - 1,
                           detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("sort_with", axis, N, at);
  const Exp<std::int64_t> n = extent(a, axis, at);
  if constexpr (N == 1) {
    return detail::merge_sort(less, a, n, true, at);
  } else {
    std::array<int, static_cast<std::size_t>(N)> swapped;
    for (int d = 0; d < N; ++d) swapped[static_cast<std::size_t>(d)] = d;
    std::swap(swapped[static_cast<std::size_t>(axis)], swapped.back());
    const bool along_rows = axis == N - 1;
    const auto rows = along_rows ? a : transpose(a, swapped, at);
    const auto sorted =
        reshape(shape(rows, at), detail::merge_sort(less, flatten(rows, at), n, false, at), at);
    return along_rows ? sorted : transpose(sorted, swapped, at);
  }
}

namespace detail {
/// Where a run of equal elements begins.
template <class T>
Acc<Vector<bool>> heads_of_runs(const Acc<Vector<T>>& a, Loc at) {
  return generate(
      size(a, at), [&](const Exp<std::int64_t>& i) { return i == 0 || a[i] != a[max(i - 1, 0)]; }, at);
}
/// And how long each is.
template <class T>
std::tuple<Acc<Vector<T>>, Acc<Vector<std::int64_t>>> runs_of(Symbol label, const Acc<Vector<T>>& a, Loc at) {
  const auto heads = heads_of_runs(a, at);
  const Exp<std::int64_t> runs = the(sum(heads, 0, at), at), n = size(a, at);
  const auto values = acc<1, T>(select(runs.handle(), heads.handle(), a.handle(), at, label));
  const auto numbers = generate(n, [](const Exp<std::int64_t>& i) { return i; }, at);
  const auto begins =
      acc<1, std::int64_t>(select(runs.handle(), heads.handle(), numbers.handle(), at, label));
  const auto lengths = generate(
      runs,
      [&](const Exp<std::int64_t>& r) {
        return cond(r + 1 < runs, begins[min(r + 1, runs - 1)], n) - begins[r];
      },
      at);
  return {values, lengths};
}
}  // namespace detail

/// Without the elements that equal the one before them. unique(sort(a)) has each value once.
template <class T>
Acc<Vector<T>> unique(const Acc<Vector<T>>& a, detail::Loc at = detail::Loc::current()) {
  return std::get<0>(compact(detail::heads_of_runs(a, at), a, at));
}

/// The runs of equal elements: the value of each and how long it is.
///
///     auto [values, counts] = run_length_encode(a);
template <class T>
std::tuple<Acc<Vector<T>>, Acc<Vector<std::int64_t>>> run_length_encode(
    const Acc<Vector<T>>& a, detail::Loc at = detail::Loc::current()) {
  return detail::runs_of("run_length_encode", a, at);
}

/// The distinct keys in rising order, and of each key z o x0 o x1 o ... of its values in the order of the source, as
/// `fold` joins a row of them. values[i] belongs to keys[i].
///
///     auto [keys, totals] = fold_by_key(plus, 0.0, keys, values);
///
/// A sort of the keys, and one pass over the values in the order of their keys.
template <class F, class K, class T>
std::tuple<Acc<Vector<K>>, Acc<Vector<T>>> fold_by_key(F f, const std::type_identity_t<Located<T>>& z,
                                                       const Acc<Vector<K>>& keys,
                                                       const Acc<Vector<T>>& values,
                                                       detail::Loc at = detail::Loc::current()) {
  const detail::Handles both = detail::sort(keys.handle(), 0, at, "fold_by_key");
  const auto sorted = detail::acc<1, K>(both[0]);
  const auto order = detail::acc<1, std::int64_t>(both[1]);
  const auto [distinct, lengths] = detail::runs_of("fold_by_key", sorted, at);
  return {distinct, fold_seg(f, z, gather(order, values, at), lengths, at)};
}

}  // namespace anabranch
