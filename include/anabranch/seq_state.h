#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include <anabranch/control.h>
#include <anabranch/seq_items.h>

/// What passes from item to item of a sequence: states, and sums of arrays. The order in which items meet depends on their
/// numbers and sizes alone, so results are the same however the stream is cut. The arrays of a state are Accs; several are a
/// std::tuple of them, and are given to functions as separate arguments. (Streaming Irregular Arrays, section 5, has
/// scanSeq and foldBatch.)
namespace anabranch {

namespace detail {

template <class State, class Arrays>
struct StateAndItem;
template <class... States, class... Items>
struct StateAndItem<std::tuple<States...>, std::tuple<Items...>> {
  using list = std::tuple<States..., Items...>;
};

template <class R>
struct IsStep : std::false_type {};
template <class State, class Out>
struct IsStep<std::pair<State, Out>> : std::bool_constant<ItemOf<State>::valid && ItemOf<Out>::valid> {};

/// The function of map_accum_seq, traced; its results are those of `results_of`, whose type says what becomes of an item.
template <class Out, class State, class A, class F, class Results>
Seq<Out> accumulated(F& f, const State& z, const Seq<A>& s, Results results_of, Symbol label, Loc at) {
  using Arrays = typename StateAndItem<typename ResultsOf<State>::arrays, typename ItemArrays<A>::list>::list;
  Arrays arrays = fresh_arrays(std::type_identity<Arrays>{}, at);
  Handles parameters = std::apply([](const auto&... each) { return Handles{each.handle()...}; }, arrays);
  Handles results = results_of(std::apply(f, arrays));
  return Seq<Out>(
      FromHandle{},
      detail::map_accum_seq(s.handle(), detail::lambda(std::move(parameters), std::move(results), at, {}),
                            ItemOf<State>::handles(z), at, label));
}

template <class F, class State, class A>
consteval bool takes_state_and_item() {
  using Arrays = typename StateAndItem<typename ResultsOf<State>::arrays, typename ItemArrays<A>::list>::list;
  return TakesArrays<F, Arrays>::value;
}

/// What a function of the state and an item gives.
template <class F, class State, class A>
using StepOf = std::remove_const_t<decltype(std::apply(
    std::declval<F&>(), std::declval<typename StateAndItem<typename ResultsOf<State>::arrays,
                                                           typename ItemArrays<A>::list>::list&>()))>;

/// An operator of elements as one of arrays that have one each.
template <class T, class F>
auto of_single_elements(F f, Loc at) {
  return [f, at](const Acc<Scalar<T>>& left, const Acc<Scalar<T>>& right) {
    Exp<T> x = the(left, at), y = the(right, at);
    return unit(as_exp(f(x, y), at), at);
  };
}

template <class X>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;

inline Handles joined(Handles first, const Handles& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace detail

/// f of a state and each item, from first to last: f(state arrays ..., item arrays ...) gives std::pair(next state, what the item
/// becomes), each an Acc or a std::tuple of Accs; the state is z at first. Where all of them are single elements and f is
/// made of scalar code, the states of a chunk are found at once, in parallel, if items set them or join something to them by an
/// operation that is exact in any order (docs/language.md, "From item to item"); else they are one loop (some nanoseconds an
/// item). With other arrays each item is computed by itself (some ten microseconds), in parallel inside. Memory: the state.
template <class F, class State, class A>
  requires(detail::ItemOf<State>::valid)
auto map_accum_seq(F f, const State& z, const Seq<A>& s, detail::Loc at = detail::Loc::current()) {
  static_assert(detail::takes_state_and_item<F, State, A>(),
                "anabranch: the function of map_accum_seq takes the arrays of the state and then those of an "
                "item, each as an "
                "argument");
  if constexpr (detail::takes_state_and_item<F, State, A>()) {
    using Step = detail::StepOf<F, State, A>;
    static_assert(detail::IsStep<Step>::value,
                  "anabranch: the function of map_accum_seq gives std::pair(next state, what the item "
                  "becomes), each an Acc "
                  "or a std::tuple of Accs");
    if constexpr (detail::IsStep<Step>::value) {
      static_assert(std::same_as<typename Step::first_type, State>,
                    "anabranch: the next state of map_accum_seq is of the types of the state");
      using Next = detail::ItemOf<typename Step::first_type>;
      using Out = detail::ItemOf<typename Step::second_type>;
      return detail::accumulated<typename Out::type>(
          f, z, s,
          [](const Step& step) {
            return detail::joined(Next::handles(step.first), Out::handles(step.second));
          },
          "map_accum_seq", at);
    } else {
      return s;
    }
  } else {
    return s;
  }
}

/// The same by a function of elements: f(state, item) takes Exps and gives a std::pair of them, z is an Exp or a value of the
/// state's type.
template <class F, class Z, class T>
  requires(detail::IsExp<Z> || IsElement<Z>)
auto map_accum_seq(F f, const Z& z, const Seq<Scalar<T>>& s, detail::Loc at = detail::Loc::current()) {
  const auto step = [f, at](const auto& state, const Acc<Scalar<T>>& item) {
    auto before = the(state, at);
    Exp<T> x = the(item, at);
    const auto both = f(before, x);
    static_assert(
        detail::is_pair<std::remove_const_t<decltype(both)>>,
        "anabranch: the function of map_accum_seq gives std::pair(next state, what the item becomes)");
    return std::pair(unit(detail::as_exp(both.first, at), at), unit(detail::as_exp(both.second, at), at));
  };
  return map_accum_seq(step, unit(detail::as_exp(z, at), at), s, at);
}

/// The states after each item: f(state arrays ..., item arrays ...) gives the next one. As map_accum_seq.
template <class F, class State, class A>
  requires(detail::ItemOf<State>::valid)
auto scan_seq(F f, const State& z, const Seq<A>& s, detail::Loc at = detail::Loc::current()) {
  static_assert(detail::takes_state_and_item<F, State, A>(),
                "anabranch: the function of scan_seq takes the arrays of the state and then those of an "
                "item, each as an argument");
  if constexpr (detail::takes_state_and_item<F, State, A>()) {
    using Next = detail::StepOf<F, State, A>;
    static_assert(std::same_as<Next, State>,
                  "anabranch: the function of scan_seq gives the next state, of the types of the state");
    if constexpr (std::same_as<Next, State>) {
      using Out = detail::ItemOf<State>;
      return detail::accumulated<typename Out::type>(
          f, z, s, [](const Next& next) { return detail::joined(Out::handles(next), Out::handles(next)); },
          "scan_seq", at);
    } else {
      return s;
    }
  } else {
    return s;
  }
}

/// The same by a function of elements: f(state, item) takes and gives Exps of the items' type, z is a number or an Exp.
///
///     scan_seq(plus, 0.0, numbers)  // the sum up to each item
template <class F, class T>
Seq<Scalar<T>> scan_seq(F f, const std::type_identity_t<Located<T>>& z, const Seq<Scalar<T>>& s,
                        detail::Loc at = detail::Loc::current()) {
  return scan_seq(detail::of_single_elements<T>(f, at), unit(z.value(), at), s, at);
}

/// Joins all items by f(left, right), which takes and gives Accs of the items' type and is associative: in a tree over the
/// numbers of the items (pairs, pairs of pairs, ...), those of a chunk together, so it is as parallel as map_seq; what remains at
/// the end is joined to z from left to right. Items may differ in shape. No items: z.
template <class F, class A>
  requires requires { A::rank; }
Terminal<A> fold_seq(F f, const Acc<A>& z, const Seq<A>& s, detail::Loc at = detail::Loc::current()) {
  static_assert(detail::takes<F, Acc<A>&, Acc<A>&>(),
                "anabranch: the function of fold_seq takes two Accs of the items' type");
  Acc<A> left = detail::fresh_array<A>(at), right = detail::fresh_array<A>(at);
  const auto result = f(left, right);
  static_assert(std::same_as<std::remove_const_t<decltype(result)>, Acc<A>>,
                "anabranch: the function of fold_seq gives an Acc of the items' type");
  return {
      detail::FromHandle{},
      detail::fold_seq(s.handle(), detail::lambda({left.handle(), right.handle()}, {result.handle()}, at, {}),
                       z.handle(), at)};
}

/// The same by a function of elements: f(left, right) takes and gives Exps of the items' type, z is a number or an Exp.
///
///     consume(fold_seq(maximum_of, 0.0, numbers))
template <class F, class T>
Terminal<Scalar<T>> fold_seq(F f, const std::type_identity_t<Located<T>>& z, const Seq<Scalar<T>>& s,
                             detail::Loc at = detail::Loc::current()) {
  return fold_seq(detail::of_single_elements<T>(f, at), unit(z.value(), at), s, at);
}

/// Sums of batches: consume_batch takes a sequence, some items that follow each other, and gives an Acc; combine(sum, of_batch)
/// joins these to z, from first to last. Batches are cut by the items alone: one ends with the item with which it has 2^20
/// elements or 2^17 items, so results do not depend on chunks. What is to be true of the whole stream has to hold
/// wherever it is cut. Memory: one batch.
template <class F, class G, class A, class B>
  requires requires { A::rank; }
Terminal<B> fold_batch(F consume_batch, G combine, const Acc<B>& z, const Seq<A>& s,
                       detail::Loc at = detail::Loc::current()) {
  static_assert(detail::takes<F, Seq<A>&>(),
                "anabranch: the first function of fold_batch takes a sequence of the items' type");
  static_assert(detail::takes<G, Acc<B>&, Acc<B>&>(),
                "anabranch: the second function of fold_batch takes two Accs of the type of the seed");
  const detail::BatchParameters batch =
      detail::batch_parameters(A::rank, detail::Element<typename A::value_type>::scalars, at);
  Seq<A> items(detail::FromHandle{}, batch.sequence);
  const auto of_batch = consume_batch(items);
  Acc<B> left = detail::fresh_array<B>(at), right = detail::fresh_array<B>(at);
  const auto sum = combine(left, right);
  static_assert(std::same_as<std::remove_const_t<decltype(of_batch)>, Acc<B>> &&
                    std::same_as<std::remove_const_t<decltype(sum)>, Acc<B>>,
                "anabranch: the functions of fold_batch give an Acc of the type of the seed");
  return {detail::FromHandle{},
          detail::fold_batch(s.handle(), detail::lambda(batch.parameters, {of_batch.handle()}, at, {}),
                             detail::lambda({left.handle(), right.handle()}, {sum.handle()}, at, {}),
                             z.handle(), at)};
}

}  // namespace anabranch
