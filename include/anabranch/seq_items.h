#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

#include <anabranch/seq.h>

/// Sequences that have other items than the ones they are made of: fewer, more, or those of several. Order is kept.
/// All of them take streams that do not end, and ask a source for no item beyond what is needed. They are computed
/// chunk by chunk, as everything before and behind them is; between the two the chunk's items are stored
/// (docs/language.md, "Other items"). Not inside of the function of another sequence (ProgramError), but for flat_map_seq's.
namespace anabranch {

namespace detail {

template <class R>
inline constexpr bool is_condition = std::same_as<R, Exp<bool>> || std::same_as<R, Acc<Scalar<bool>>>;
inline Handle array_of_condition(const Exp<bool>& condition, Loc at) { return unit(condition, at).handle(); }
inline Handle array_of_condition(const Acc<Scalar<bool>>& condition, Loc) { return condition.handle(); }

/// The items of s, and behind them what p says of each.
template <class F, class A, class... Arrays>
Handle with_condition(F& p, const Seq<A>& s, std::type_identity<std::tuple<Arrays...>>, Loc at) {
  static_assert(
      takes<F, Arrays&...>(),
      "anabranch: the condition of filter_seq and take_while_seq takes one Acc for each array of an item");
  if constexpr (takes<F, Arrays&...>()) {
    auto items = fresh_arrays(std::type_identity<std::tuple<Arrays...>>{}, at);
    const auto result = std::apply(p, items);
    static_assert(is_condition<std::remove_const_t<decltype(result)>>,
                  "anabranch: the condition of filter_seq and take_while_seq gives an Exp<bool>, or an Acc "
                  "of one bool");
    if constexpr (is_condition<std::remove_const_t<decltype(result)>>) {
      const Handles parameters =
          std::apply([](const auto&... each) { return Handles{each.handle()...}; }, items);
      Handles results = parameters;
      results.push_back(array_of_condition(result, at));
      return map_seq(lambda(parameters, std::move(results), at, {}), {s.handle()}, at, {});
    }
  }
  return s.handle();
}
template <class F, class A>
Handle with_condition(F& p, const Seq<A>& s, Loc at) {
  return with_condition(p, s, std::type_identity<typename ItemArrays<A>::list>{}, at);
}

template <class X>
struct ItemsOf {
  static constexpr bool valid = false;
};
template <class A>
struct ItemsOf<Seq<A>> {
  static constexpr bool valid = true;
  using type = A;
};

template <class F, class A, class... Arrays>
auto flat_map(F& f, const Seq<A>& s, std::type_identity<std::tuple<Arrays...>>, Loc at) {
  static_assert(takes<F, Arrays&...>(),
                "anabranch: the function of flat_map_seq takes one Acc for each array of an item");
  if constexpr (takes<F, Arrays&...>()) {
    auto items = fresh_arrays(std::type_identity<std::tuple<Arrays...>>{}, at);
    const auto inner = std::apply(f, items);
    using Inner = ItemsOf<std::remove_const_t<decltype(inner)>>;
    static_assert(Inner::valid,
                  "anabranch: the function of flat_map_seq gives a sequence: rows(a), produce(n, f), "
                  "windows(a, size, hop) or a map_seq of one");
    if constexpr (Inner::valid) {
      Handles parameters = std::apply([](const auto&... each) { return Handles{each.handle()...}; }, items);
      return Seq<typename Inner::type>(
          FromHandle{}, detail::flat_map_seq(std::move(parameters), inner.handle(), s.handle(), at));
    } else {
      return s;
    }
  } else {
    return s;
  }
}

}  // namespace detail

/// The items for which p holds. p takes one Acc for each array of an item and gives an Exp<bool>, or an
/// Acc<Scalar<bool>>; it is computed for every item, and what is kept is copied.
template <class F, class A>
Seq<A> filter_seq(F p, const Seq<A>& s, detail::Loc at = detail::Loc::current()) {
  return {detail::FromHandle{}, detail::filter_seq(detail::with_condition(p, s, at), at)};
}

/// The items before the first for which p does not hold. The pass ends there: no chunk is read beyond the one which holds
/// that item.
template <class F, class A>
Seq<A> take_while_seq(F p, const Seq<A>& s, detail::Loc at = detail::Loc::current()) {
  return {detail::FromHandle{}, detail::take_while_seq(detail::with_condition(p, s, at), at)};
}

/// All but the first n items, or none where there are fewer; n as for take_seq. Of what comes from sources the first n
/// items are passed over, no function is applied to them. zip_with_seq(f, s, drop_seq(1, s)) sees neighbours; the source
/// of s is read once.
template <class A>
Seq<A> drop_seq(const Position& n, const Seq<A>& s, detail::Loc at = detail::Loc::current()) {
  return {detail::FromHandle{}, detail::drop_seq(n.value().handle(), s.handle(), at)};
}

/// The items of a, then those of b. b is begun when a has ended.
template <class A>
Seq<A> append_seq(const Seq<A>& a, const Seq<A>& b, detail::Loc at = detail::Loc::current()) {
  return {detail::FromHandle{}, detail::append_seq({a.handle(), b.handle()}, at)};
}
template <class A>
Seq<A> append_seq(const Seq<A>& a, const Seq<A>& b, const Seq<A>& c,
                  detail::Loc at = detail::Loc::current()) {
  return {detail::FromHandle{}, detail::append_seq({a.handle(), b.handle(), c.handle()}, at)};
}

/// The items of the sequences f gives, one after the other: f takes one Acc for each array of an item and gives a
/// sequence made of these (rows, produce, windows, and map_seq of such): split an item, or drop it by giving none.
template <class F, class A>
auto flat_map_seq(F f, const Seq<A>& s, detail::Loc at = detail::Loc::current()) {
  return detail::flat_map(f, s, std::type_identity<typename detail::ItemArrays<A>::list>{}, at);
}

}  // namespace anabranch
