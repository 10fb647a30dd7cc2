#pragma once

#include <tuple>
#include <type_traits>

#include <anabranch/loop.h>
#include <anabranch/seq.h>

/// Loops and branches over arrays. Their bodies are programs of their own: they may hold reductions, streams
/// that are consumed, further loops and branches. Inside the function of a sequence those that depend on its item run
/// for all items of a chunk together. (Accelerate's awhile and acond; docs/language.md, "Loops and branches".)
namespace anabranch {

namespace detail {

/// Computations from handles: an Acc, or a std::tuple of Accs.
template <class S>
struct ResultsOf;
template <class A>
struct ResultsOf<Acc<A>> {
  using arrays = std::tuple<Acc<A>>;
  static Acc<A> from(const Handles& handles) { return {FromHandle{}, handles[0]}; }
};
template <class... As>
struct ResultsOf<std::tuple<Acc<As>...>> {
  using arrays = std::tuple<Acc<As>...>;
  static arrays from(const Handles& handles) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return arrays{Acc<As>(FromHandle{}, handles[I])...};
    }(std::index_sequence_for<As...>{});
  }
};
template <class A>
std::tuple<Acc<A>> arrays_of_state(const Acc<A>& state) {
  return {state};
}
template <class... As>
const std::tuple<Acc<As>...>& arrays_of_state(const std::tuple<Acc<As>...>& state) {
  return state;  // NOLINT: whoever calls it copies them at once
}
template <class S>
concept Computations = ItemOf<std::remove_cvref_t<S>>::valid;

/// Does the function take these arrays, each as an argument?
template <class F, class Arrays>
struct TakesArrays;
template <class F, class... As>
struct TakesArrays<F, std::tuple<As...>> : std::bool_constant<takes<F, As&...>()> {};

template <class State>
struct Bodies {
  using Arrays = typename ResultsOf<State>::arrays;

  /// Does not compile where it is false; then nothing else is said of the function.
  template <class F>
  static consteval bool takes_state() {
    static_assert(TakesArrays<F, Arrays>::value,
                  "anabranch: the functions of awhile take the arrays of the state, each as an argument");
    return TakesArrays<F, Arrays>::value;
  }

  template <class F>
  static Handle function(F& f, Place at) {
    if constexpr (takes_state<F>()) {
      Arrays arrays = fresh_arrays(std::type_identity<Arrays>{}, at);
      const auto result = std::apply(f, arrays);
      static_assert(
          std::same_as<std::remove_const_t<decltype(result)>, State>,
          "anabranch: the second function of awhile returns the next state, of the types of the state");
      return lambda(ItemOf<Arrays>::handles(arrays), ItemOf<State>::handles(result), at, {});
    }
  }

  template <class P>
  static Handle predicate(P& p, Place at) {
    if constexpr (takes_state<P>()) {
      Arrays arrays = fresh_arrays(std::type_identity<Arrays>{}, at);
      const auto holds = std::apply(p, arrays);
      using Holds = std::remove_const_t<decltype(holds)>;
      static_assert(
          std::same_as<Holds, Exp<bool>> || std::same_as<Holds, Acc<Scalar<bool>>>,
          "anabranch: the first function of awhile says whether there is another round: an Exp<bool>");
      if constexpr (std::same_as<Holds, Exp<bool>>)
        return lambda(ItemOf<Arrays>::handles(arrays), {unit(holds.handle(), at)}, at, {});
      else
        return lambda(ItemOf<Arrays>::handles(arrays), {holds.handle()}, at, {});
    }
  }
};

/// One side of acond: computations, or a function that gives them.
template <class Side>
auto side_of(const Side& side) {
  if constexpr (Computations<Side>) {
    return side;
  } else {
    static_assert(
        std::is_invocable_v<const Side&>,
        "anabranch: a side of acond is an Acc, a std::tuple of Accs, or a function without arguments "
        "that gives one");
    const auto result = side();
    static_assert(Computations<decltype(result)>,
                  "anabranch: the function of a side of acond returns an Acc, or a std::tuple of Accs");
    return result;
  }
}

}  // namespace detail

/// The first of x, f(x), f(f(x)), ... of which p does not hold, where x is `state`: an Acc, or a std::tuple
/// of Accs. p and f take its arrays as separate arguments; p gives an Exp<bool> (or an Acc of rank 0 of one)
/// and is asked before each round, f gives the next state. Extents may change from round to round. What p and
/// f mention and what does not depend on the state is computed once, before the loop.
///
/// Each round is a run of f's kernels, which are compiled once. Memory: two states, and what f computes
/// between them.
template <class P, class F, detail::Computations State>
State awhile(P p, F f, const State& state, detail::Loc at = detail::Loc::current()) {
  using Bodies = detail::Bodies<State>;
  return detail::ResultsOf<State>::from(detail::awhile(Bodies::predicate(p, at), Bodies::function(f, at),
                                                       detail::ItemOf<State>::handles(state), at));
}

/// f applied n times to arrays: x, f(x), f(f(x)), ... where x is `state`, an Acc or a std::tuple of Accs, whose arrays f takes
/// as separate arguments. `n` is a number or an Exp of any integer type; 0 or less gives x. As awhile, with the rounds counted.
template <class F, detail::Computations State>
State iterate(const Position& n, F f, const State& state, detail::Loc at = detail::Loc::current()) {
  using Arrays = typename detail::ResultsOf<State>::arrays;
  constexpr bool takes = detail::TakesArrays<F, Arrays>::value;
  static_assert(takes,
                "anabranch: the function of iterate takes the arrays of the state, each as an argument");
  if constexpr (takes) {
    using Next = std::remove_cvref_t<decltype(std::apply(f, std::declval<Arrays&>()))>;
    constexpr bool fits = std::same_as<Next, State>;
    static_assert(fits,
                  "anabranch: the function of iterate returns the next state, of the types of the state");
    if constexpr (fits) {
      const Exp<std::int64_t> rounds = n.value();
      const auto none = detail::number<std::int64_t>(0, at), one = detail::number<std::int64_t>(1, at);
      const auto counted = [&](const Exp<std::int64_t>& done, const State& now) {
        return std::tuple_cat(std::tuple(unit(done, at)), detail::arrays_of_state(now));
      };
      const auto more = [&](const Acc<Scalar<std::int64_t>>& done, const auto&...) {
        return the(done, at) < rounds;
      };
      const auto step = [&](const Acc<Scalar<std::int64_t>>& done, auto&... now) {
        return counted(the(done, at) + one, f(now...));
      };
      const auto ended = awhile(more, step, counted(none, state), at);
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return State(std::get<I + 1>(ended)...);
      }(std::make_index_sequence<std::tuple_size_v<Arrays>>{});
    } else {
      return state;
    }
  } else {
    return state;
  }
}

/// Refused, with a sentence: the state before the function.
template <detail::Computations State, class F>
  requires(!detail::Computations<F>)
State iterate(const Position&, const State& state, const F&) {
  static_assert(detail::always_false<F>,
                "anabranch: iterate takes a number, the function, then the state, as in iterate(3, f, a)");
  return state;
}

/// What t gives where c holds, else what e gives: each an Acc, a std::tuple of Accs, or a function without
/// arguments that gives one; both of one type. The side that is not taken does not run: what only it mentions
/// is not computed, and no stream of it is read, but for those that depend neither on the state of a loop nor on the item of a
/// sequence that the branch is in: they are read once, before it.
template <class T, class E>
auto acond(const Exp<bool>& c, const T& t, const E& e, detail::Loc at = detail::Loc::current()) {
  const auto then = detail::side_of(t);
  const auto otherwise = detail::side_of(e);
  using Result = std::remove_const_t<decltype(then)>;
  static_assert(std::same_as<Result, std::remove_const_t<decltype(otherwise)>>,
                "anabranch: both sides of acond give the same types of arrays");
  const auto body = [&](const Result& side) {
    return detail::lambda({}, detail::ItemOf<Result>::handles(side), at, {});
  };
  return detail::ResultsOf<Result>::from(detail::acond(c.handle(), body(then), body(otherwise), at));
}

}  // namespace anabranch
