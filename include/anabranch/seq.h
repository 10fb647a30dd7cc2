#pragma once

#include <array>
#include <concepts>
#include <memory>
#include <optional>
#include <ranges>
#include <tuple>
#include <type_traits>

#include <anabranch/acc.h>
#include <anabranch/detail/given.h>
#include <anabranch/detail/range_source.h>
#include <anabranch/source.h>

/// Sequence computations. A Seq<A> stands for a stream of arrays, one after the other, whose shapes may
/// differ; A is an Array, or a std::tuple of Arrays. Nothing is read before a terminal (`elements`,
/// `tabulate`) is consumed and run; then the stream passes through in chunks, in bounded memory. (Streaming
/// Irregular Arrays, Haskell 2017, sections 3-5.)
namespace anabranch {

template <class A>
class Seq {
 public:
  using item_type = A;
  Seq(detail::FromHandle, detail::Handle handle) : handle_(std::move(handle)) {}
  const detail::Handle& handle() const { return handle_; }

 private:
  detail::Handle handle_;
};

/// What `elements` and `tabulate` give: a computation over a whole stream, still to be consumed.
template <class A>
class Terminal {
 public:
  Terminal(detail::FromHandle, detail::Handle handle) : handle_(std::move(handle)) {}
  const detail::Handle& handle() const { return handle_; }

 private:
  detail::Handle handle_;
};

namespace detail {

template <class A>
struct ItemArrays;  // an item as a list of Accs
template <int N, class T>
struct ItemArrays<Array<N, T>> {
  using list = std::tuple<Acc<Array<N, T>>>;
};
template <class... As>
struct ItemArrays<std::tuple<As...>> {
  using list = std::tuple<Acc<As>...>;
};

template <class A>
Acc<A> fresh_array(Place at) {
  return {FromHandle{}, array_parameter(A::rank, Element<typename A::value_type>::scalars, at)};
}
template <class... As>
std::tuple<Acc<As>...> fresh_arrays(std::type_identity<std::tuple<Acc<As>...>>, Place at) {
  return {fresh_array<As>(at)...};
}

/// The item type that a user's function gives: an Acc, or a tuple of Accs.
template <class R>
struct ItemOf {
  static constexpr bool valid = false;
};
template <class A>
struct ItemOf<Acc<A>> {
  static constexpr bool valid = true;
  using type = A;
  static Handles handles(const Acc<A>& a) { return {a.handle()}; }
};
template <class... As>
struct ItemOf<std::tuple<Acc<As>...>> {
  static constexpr bool valid = true;
  using type = std::tuple<As...>;
  static Handles handles(const std::tuple<Acc<As>...>& t) {
    return std::apply([](const auto&... a) { return Handles{a.handle()...}; }, t);
  }
};

/// Traces a user's function over arrays: calls it once with these arguments, made of the parameters. Gives
/// the function and the type of what it returns.
template <class F, class... Arguments>
auto traced_items(F& f, Place at, Handles parameters, Arguments&... arguments) {
  if constexpr (!takes<F, Arguments&...>()) {
    static_assert(always_false<F>,
                  "anabranch: this function cannot be called with the items of these sequences; it takes one "
                  "Acc for each array of an item");
    return std::pair<Handle, std::type_identity<Scalar<double>>>();
  } else if constexpr (!requires { f(arguments...); }) {
    f(arguments...);  // does not compile: what is wrong inside is said there
    return std::pair<Handle, std::type_identity<Scalar<double>>>();
  } else if constexpr (!ItemOf<decltype(f(arguments...))>::valid) {
    static_assert(
        always_false<F>,
        "anabranch: the function of map_seq returns an Acc, or a std::tuple of Accs; so do those of "
        "zip_with_seq and produce");
    return std::pair<Handle, std::type_identity<Scalar<double>>>();
  } else {
    auto result = f(arguments...);
    using R = ItemOf<decltype(result)>;
    return std::pair<Handle, std::type_identity<typename R::type>>(
        detail::lambda(std::move(parameters), R::handles(result), at, {}), {});
  }
}

template <class F, class... Arrays>
auto map_items(Loc at, Symbol label, F& f, std::type_identity<std::tuple<Arrays...>>, Handles sequences) {
  auto items = fresh_arrays(std::type_identity<std::tuple<Arrays...>>{}, at);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto [function, item] = traced_items(f, at, {std::get<I>(items).handle()...}, std::get<I>(items)...);
    return Seq<typename decltype(item)::type>(FromHandle{},
                                              detail::map_seq(function, std::move(sequences), at, label));
  }(std::index_sequence_for<Arrays...>{});
}

/// A range that gives its items in bulk, too.
template <class R>
concept HasSource = requires(const R& items) { items.source().erased(); };

template <class... As>
using JoinItems = decltype(std::tuple_cat(std::declval<typename ItemArrays<As>::list>()...));

template <class X>
inline constexpr bool is_seq = false;
template <class A>
inline constexpr bool is_seq<Seq<A>> = true;
template <class X>
concept SequenceOrNone = std::same_as<X, NotGiven> || is_seq<X>;

template <class F, class... As>
auto zip_items(Loc at, Symbol label, F& f, const Seq<As>&... sequences) {
  return map_items(at, label, f, std::type_identity<JoinItems<As...>>{}, {sequences.handle()...});
}
inline constexpr auto as_tuple = [](const auto&... arrays) { return std::tuple(arrays...); };

}  // namespace detail

// ---- Where sequences come from ----------------------------------------------------------------------------

/// The items of a bulk source (a file, CSR arrays, ...); see <anabranch/io.h> and Source.
template <class A>
Seq<A> stream_in(const Source<A>& source, detail::Loc at = detail::Loc::current()) {
  return {detail::FromHandle{}, detail::stream_in(source.erased(), at)};
}

/// The vectors of a Ragged, where they lie.
template <detail::HasSource R>
auto stream_in(const R& items, detail::Loc at = detail::Loc::current()) {
  return stream_in(items.source(), at);
}

/// How a range is streamed. Unless it is live and depends on what becomes of its items, `stream_out` reads it on another
/// thread than the one that takes the results.
struct RangeOptions {
  /// Whether the next item may have to be waited for (SourceInfo::live). Unless it is said, containers and contiguous
  /// ranges, and views of all of one, are not live; every other range is, because nothing tells a generator
  /// that computes from one that waits. {.live = false} lets `stream_out` take many items at a time.
  std::optional<bool> live{};
  /// Of a live range: its items do not depend on what becomes of those before (SourceInfo::independent): `stream_out` may
  /// read ahead, and takes together what has come. Else it is asked for an item only when the results of those before it
  /// have been taken.
  bool independent = false;
};

namespace detail {
/// The range as a program keeps it.
template <class R>
auto kept_range(R&& range) {
  using Range = std::remove_cvref_t<R>;
  if constexpr (std::is_array_v<Range>) {
    return std::to_array(std::forward<R>(range));
  } else {
    constexpr bool can_be_kept = std::constructible_from<Range, R>;
    static_assert(
        can_be_kept,
        "anabranch: stream_in keeps the range that it is given, and this one cannot be copied: give "
        "std::move(range), or std::ranges::ref_view(range), which leaves it outside");
    if constexpr (can_be_kept)
      return Range(std::forward<R>(range));
    else
      return std::ranges::ref_view(range);
  }
}
/// `shape`: that all items have.
template <class Range, class A = std::ranges::range_value_t<Range>>
auto stream_range(Range range, const std::optional<Index<A::rank>>& shape, const RangeOptions& options,
                  Loc at) {
  return stream_in(Source<A>(std::make_shared<RangeSource<Range, A>>(std::move(range), shape, options.live,
                                                                     options.independent, at)),
                   at);
}
}  // namespace detail

/// The arrays of any C++ input range, pulled lazily, one pass (several where the range is a forward range).
/// The range is moved or copied into the program; pass std::views::all(range) to keep it outside.
template <std::ranges::input_range R>
  requires(requires { std::ranges::range_value_t<R>::rank; } && !detail::HasSource<std::remove_cvref_t<R>>)
auto stream_in(R&& range, const RangeOptions& options = {}, detail::Loc at = detail::Loc::current()) {
  return detail::stream_range(detail::kept_range(std::forward<R>(range)), std::nullopt, options, at);
}

template <std::ranges::input_range R>
  requires(!requires { std::ranges::range_value_t<R>::rank; })
void stream_in(R&&, const RangeOptions& = {}) {
  static_assert(detail::always_false<R>,
                "anabranch: the items of a streamed range are Arrays, as in std::vector<Vector<double>>");
}

/// A shape that every item of a range must have: stream_in(regular(Index{256}), windows). An item of another
/// shape is a RunError that names it. The stream takes the regular form.
template <int N>
struct Regular {
  Index<N> shape;
};
template <int N>
Regular<N> regular(const Index<N>& shape) {
  return {shape};
}
template <int N, std::ranges::input_range R>
auto stream_in(const Regular<N>& form, R&& range, const RangeOptions& options = {},
               detail::Loc at = detail::Loc::current()) {
  using A = std::ranges::range_value_t<R>;
  static_assert(A::rank == N, "anabranch: regular(shape) has another rank than the items of the range");
  if constexpr (A::rank == N)
    return detail::stream_range(detail::kept_range(std::forward<R>(range)), form.shape, options, at);
}

namespace detail {
/// produce, under the name of an operation that is made of it.
template <class F>
auto produce_labelled(const Exp<std::int64_t>& n, F f, Symbol label, Loc at) {
  const Acc<Scalar<std::int64_t>> number = fresh_array<Scalar<std::int64_t>>(at);
  Exp<std::int64_t> i = the(number, at);
  static_assert(takes<F, Exp<std::int64_t>&>(), "anabranch: the function of produce takes an Exp<int64_t>");
  auto [function, item] = traced_items(f, at, {number.handle()}, i);
  return Seq<typename decltype(item)::type>(FromHandle{}, detail::produce(n.handle(), function, at, label));
}
}  // namespace detail

/// The items f(0), f(1), ..., f(n - 1); f takes an Exp<int64> and returns an Acc (or a tuple of Accs).
template <class F>
auto produce(const Position& n, F f, detail::Loc at = detail::Loc::current()) {
  return detail::produce_labelled(n.value(), std::move(f), {}, at);
}

/// The sub-arrays along the outermost dimension: rows of a matrix. Regular.
template <int N, class T>
  requires(N >= 1)
Seq<Array<N - 1, T>> rows(const Acc<Array<N, T>>& a, detail::Loc at = detail::Loc::current()) {
  return {detail::FromHandle{}, detail::rows(a.handle(), at)};
}

// ---- On the way -------------------------------------------------------------------------------------------

/// f of every item. f is an ordinary function over Acc: it takes one Acc for each array of an item and
/// returns an Acc, or a std::tuple of Accs. It is lifted to whole chunks.
template <class F, class A>
auto map_seq(F f, const Seq<A>& s, detail::Loc at = detail::Loc::current()) {
  return detail::map_items(at, {}, f, std::type_identity<typename detail::ItemArrays<A>::list>{},
                           {s.handle()});
}

/// f of the items at equal positions of two to nine sequences; ends with the shortest. f takes one Acc for each array of an
/// item of the first sequence, then of the second, ...
template <class F, class A, class B, detail::SequenceOrNone C = detail::NotGiven,
          detail::SequenceOrNone D = detail::NotGiven, detail::SequenceOrNone E = detail::NotGiven,
          detail::SequenceOrNone G = detail::NotGiven, detail::SequenceOrNone H = detail::NotGiven,
          detail::SequenceOrNone I = detail::NotGiven, detail::SequenceOrNone J = detail::NotGiven>
auto zip_with_seq(F f, const Seq<A>& a, const Seq<B>& b, const C& c = {}, const D& d = {}, const E& e = {},
                  const G& g = {}, const H& h = {}, const I& i = {}, const J& j = {},
                  detail::Loc at = detail::Loc::current()) {
  return detail::of_given(
      [&](const auto&... sequences) { return detail::zip_items(at, "zip_with_seq", f, sequences...); }, a, b,
      c, d, e, g, h, i, j);
}

/// The items at equal positions of two to nine sequences as tuples of all their arrays; ends with the shortest. Free. Tuples
/// do not lie in each other: zip_seq(zip_seq(a, b), c) is zip_seq(a, b, c).
template <class A, class B, detail::SequenceOrNone C = detail::NotGiven,
          detail::SequenceOrNone D = detail::NotGiven, detail::SequenceOrNone E = detail::NotGiven,
          detail::SequenceOrNone G = detail::NotGiven, detail::SequenceOrNone H = detail::NotGiven,
          detail::SequenceOrNone I = detail::NotGiven, detail::SequenceOrNone J = detail::NotGiven>
auto zip_seq(const Seq<A>& a, const Seq<B>& b, const C& c = {}, const D& d = {}, const E& e = {},
             const G& g = {}, const H& h = {}, const I& i = {}, const J& j = {},
             detail::Loc at = detail::Loc::current()) {
  return detail::of_given(
      [&](const auto&... sequences) {
        return detail::zip_items(at, "zip_seq", detail::as_tuple, sequences...);
      },
      a, b, c, d, e, g, h, i, j);
}

/// A sequence of tuples taken apart; free. auto [a, b] = unzip_seq(s).
/// Both are fed by one pass when they meet again.
template <class... As>
std::tuple<Seq<As>...> unzip_seq(const Seq<std::tuple<As...>>& s, detail::Loc at = detail::Loc::current()) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::tuple<Seq<As>...>{
        Seq<As>(detail::FromHandle{}, detail::project_seq(s.handle(), static_cast<int>(I), 1, at))...};
  }(std::index_sequence_for<As...>{});
}

/// The first n items, or all where there are fewer; n is a number, or an Exp<int64_t> that is the same for
/// all items. The pass ends there: no source is asked for a further item, no function applied to one, and
/// what is read in step with them (zip_with_seq) ends as well. Free. A negative n is a RunError.
template <class A>
Seq<A> take_seq(const Position& n, const Seq<A>& s, detail::Loc at = detail::Loc::current()) {
  return {detail::FromHandle{}, detail::take_seq(n.value().handle(), s.handle(), at)};
}

// ---- Terminals --------------------------------------------------------------------------------------------

/// All elements of all items, in order, as one vector.
template <int N, class T>
Terminal<Vector<T>> elements(const Seq<Array<N, T>>& s, detail::Loc at = detail::Loc::current()) {
  return {detail::FromHandle{}, detail::elements(s.handle(), at)};
}

/// The items stacked along a new outermost dimension, each other dimension trimmed to its minimum over the
/// whole stream.
template <int N, class T>
  requires(N <= 3)
Terminal<Array<N + 1, T>> tabulate(const Seq<Array<N, T>>& s, detail::Loc at = detail::Loc::current()) {
  return {detail::FromHandle{}, detail::tabulate(s.handle(), at)};
}

/// The shape of each item.
template <int N, class T>
Terminal<Vector<Index<N>>> shapes(const Seq<Array<N, T>>& s, detail::Loc at = detail::Loc::current()) {
  return elements(map_seq([&](const Acc<Array<N, T>>& item) { return unit(shape(item, at), at); }, s, at),
                  at);
}

/// The result of a terminal as an array computation, usable like any other.
template <class A>
Acc<A> consume(const Terminal<A>& terminal, detail::Loc at = detail::Loc::current()) {
  return {detail::FromHandle{}, detail::consume(terminal.handle(), at)};
}

namespace detail {
template <class X>
struct IsSequence : std::false_type {};
template <class A>
struct IsSequence<Seq<A>> : std::true_type {};
template <class A>
struct IsSequence<Terminal<A>> : std::true_type {};
}  // namespace detail

// Whole sequences where arrays are wanted: a sentence instead of a list of candidates.
namespace detail {
template <class S>
void for_each_item() {
  static_assert(
      always_false<S>,
      "anabranch: this works on one array; of a sequence, apply it to each item with map_seq, or to "
      "all elements with consume(elements(s))");
}
template <class X>
concept Sequence = IsSequence<X>::value;
}  // namespace detail
template <detail::Sequence S>
void sum(const S&) {
  detail::for_each_item<S>();
}
template <detail::Sequence S>
void product(const S&) {
  detail::for_each_item<S>();
}
template <detail::Sequence S>
void minimum(const S&) {
  detail::for_each_item<S>();
}
template <detail::Sequence S>
void maximum(const S&) {
  detail::for_each_item<S>();
}
template <class F, detail::Sequence S>
void map(F, const S&) {
  detail::for_each_item<S>();
}
template <class F, class Z, detail::Sequence S>
void fold(F, const Z&, const S&) {
  detail::for_each_item<S>();
}

/// And the other way round.
template <class F, class X, class... Xs>
  requires(!detail::Sequence<X> || (detail::Sequence<Xs> || ...))
void map_seq(const F&, const X&, const Xs&...) {
  static_assert(
      detail::Sequence<X>,
      "anabranch: map_seq takes a function and sequences: stream_in(range), rows(array), produce(n, f)");
  static_assert(!detail::Sequence<X>,
                "anabranch: map_seq takes a function and one sequence; zip_with_seq takes several");
}

}  // namespace anabranch
