#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <anabranch/detail/pusher.h>
#include <anabranch/run.h>

/// Programs that are driven by pushing items into them, for callers that own the loop: an event loop, a callback of a
/// device, a test. (stream_out is for loops of their own; run and consume for streams that are pulled to their end.)
namespace anabranch {

namespace detail {

template <class A>
struct ArraysOfItem {
  static constexpr bool valid = requires { A::rank; };
  static ItemData erased(const A& item) { return {item.erased()}; }
  static A wrap(const ItemData& arrays) { return A(arrays[0]); }
};
template <class... As>
struct ArraysOfItem<std::tuple<As...>> {
  static constexpr bool valid = (requires { As::rank; } && ...);
  static ItemData erased(const std::tuple<As...>& item) {
    return std::apply([](const auto&... a) { return ItemData{a.erased()...}; }, item);
  }
  static std::tuple<As...> wrap(const ItemData& arrays) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<As...>{As(arrays[I])...};
    }(std::index_sequence_for<As...>{});
  }
};

/// What a pushed program gives: the items of a sequence one by one, or values at the end.
template <class R>
struct PushedResult {
  static constexpr bool valid = requires { typename ResultOf<R>::type; };
  static constexpr bool items = false;
  static Handles handles(const R& r) { return ResultOf<R>::handles(r); }
};
template <class A>
struct PushedResult<Seq<A>> {
  static constexpr bool valid = true;
  static constexpr bool items = true;
  static Handles handles(const Seq<A>& s) { return {s.handle()}; }
};

}  // namespace detail

/// A program that is driven by what is pushed. `In`: what an item is, an Array or a std::tuple of them. `R`: what the
/// program is: a Seq, whose items come one by one; or an Acc or a std::tuple of them, whose values come at the end. Made by
/// push_stream.
///
/// Without a thread of its own: the one that pushes computes (with the other threads of the run), in chunks. **Latency**: who
/// pushes rarely gets the result of an item out of the same call. Who pushes often has items gathered, as long as the next
/// can be expected, at the pace of the last ones, before PushOptions::seconds or the fixed costs of some chunks (some 50 us)
/// have passed. What was gathered is computed by a later call that finds its time over; so if for now there are no more,
/// say so with flush(), or take results with pop(), which does not wait either.
///
/// Calls may come from several threads; one of them computes at a time.
///
/// An exception of the program comes out of the call that computes, once, when the results of all items before the one that
/// failed are there; after it only what is there can be taken, and all else throws RunError. Destroying it without
/// finish() forgets what has been gathered.
template <class In, class R>
class PushStream {
  using Item = detail::ArraysOfItem<In>;
  static constexpr bool gives_items = detail::PushedResult<R>::items;
  template <class S>
  struct ItemOf {
    using type = void;
  };
  template <class A>
  struct ItemOf<Seq<A>> {
    using type = A;
  };

 public:
  /// An item of the results; void where they come at the end.
  using Out = typename ItemOf<R>::type;

  explicit PushStream(detail::Pusher pusher) : pusher_(std::move(pusher)) {}

  /// Takes an item, which is copied: afterwards it may be changed. Waits while too many results have not been taken
  /// (PushOptions); so who takes them in the same thread pushes with try_push, or gives a function. Throws RunError after
  /// finish(), and whatever the program throws.
  void push(const In& item) { pusher_.push(Item::erased(item), true); }
  /// The same for an item of several arrays.
  template <class A, class B, class... As>
    requires std::is_constructible_v<In, const A&, const B&, const As&...>
  void push(const A& a, const B& b, const As&... as) {
    push(In(a, b, as...));
  }
  /// False: too many results have not been taken, and neither has the item.
  [[nodiscard]] bool try_push(const In& item) { return pusher_.push(Item::erased(item), false); }

  template <class X>
    requires(!std::is_convertible_v<const X&, const In&>)
  void push(const X&) {
    static_assert(detail::always_false<X>,
                  "anabranch: push takes an item of the type that push_stream was given");
  }

  /// There are no more items for now: computes what has been gathered.
  void flush() { pusher_.flush(); }

  /// The next result, if it is there. Computes what has been gathered only where its time is over.
  auto poll() { return take(false); }
  /// The next result. Computes what has been gathered, where none is there; nothing: all that was pushed has been taken.
  auto pop() { return take(true); }

  /// Whether further items would have no effect: the program takes no more (take_seq), or a shorter sequence beside them has
  /// ended. They are not refused.
  bool over() const { return pusher_.over(); }

  /// The stream ends: computes what has been gathered. Gives the values of the program; of a sequence nothing: the last items
  /// can be taken after it. Throws RunError when called again.
  auto finish() {
    const detail::ItemData results = pusher_.finish();
    if constexpr (!gives_items) return detail::ResultOf<R>::wrap(results);
  }

 private:
  auto take(bool now) {
    static_assert(
        gives_items,
        "anabranch: this program gives no items to take: finish() gives its values when all has been "
        "pushed");
    if constexpr (gives_items) {
      std::optional<Out> out;
      if (detail::ItemData arrays; pusher_.take(arrays, now)) out = detail::ArraysOfItem<Out>::wrap(arrays);
      return out;
    }
  }

  detail::Pusher pusher_;
};

namespace detail {

struct NoFunction {};

template <class In, class F, class OnItem>
auto push_stream(F& f, OnItem on_item, const RunOptions& options, const PushOptions& push, Place at) {
  constexpr bool item = ArraysOfItem<In>::valid;
  static_assert(item, "anabranch: push_stream<A> takes items of type A: an Array, or a std::tuple of Arrays");
  if constexpr (item) {
    constexpr bool fits = takes<F, Seq<In>&>();
    static_assert(fits,
                  "anabranch: the function given to push_stream takes the sequence of what is pushed: "
                  "push_stream<Vector<double>>([](Seq<Vector<double>> s) { return map_seq(f, s); })");
    if constexpr (fits) {
      using R = std::remove_cvref_t<decltype(f(std::declval<Seq<In>&>()))>;
      using Result = PushedResult<R>;
      static_assert(
          Result::valid,
          "anabranch: the function given to push_stream returns a Seq, whose items are given one by one, or "
          "what consume(terminal) gives, or a std::tuple of such");
      if constexpr (Result::valid) {
        Pusher::OnItem give;
        if constexpr (!std::is_same_v<OnItem, NoFunction>) {
          static_assert(
              Result::items,
              "anabranch: this program gives no items that a function could be given: finish() gives its "
              "values when all has been pushed");
          if constexpr (Result::items) {
            using Out = typename R::item_type;
            constexpr bool takes_items = takes<OnItem, Out>();
            static_assert(takes_items,
                          "anabranch: the second function of push_stream takes an item of the results");
            if constexpr (takes_items)
              // One that can only be moved cannot be in a std::function.
              give = [function = std::make_shared<OnItem>(std::move(on_item))](const ItemData& arrays) {
                (*function)(ArraysOfItem<Out>::wrap(arrays));
              };
          }
        }
        return PushStream<In, R>(Pusher(
            ItemTypes<In>::scalars(), ItemTypes<In>::ranks(),
            [&f](const Handle& pushed) {
              Seq<In> items(FromHandle{}, pushed);
              return Result::handles(f(items));
            },
            options, push, std::move(give), at));
      }
    }
  }
}

}  // namespace detail

/// A program that is driven by what is pushed into it: `f` is an ordinary function from the sequence of items to a sequence,
/// or to what `consume` gives of one, or a std::tuple of such.
///
///     auto means = push_stream<Vector<double>>([](auto s) { return map_seq(mean_of, s); });
///     while (receive(frame)) {
///       means.push(frame);
///       while (auto m = means.poll()) send(*m);
///     }
///     means.finish();
///     while (auto m = means.pop()) send(*m);
///
/// It is compiled here. What is pushed passes once: several terminals must share a pass. All options act as in `run`; with
/// "fixed:N" N items are gathered, however long that takes; the interpreter computes when the stream is finished. Throws
/// ProgramError.
template <class In, class F>
auto push_stream(F f, const RunOptions& options = {}, const PushOptions& push = {},
                 detail::Loc at = detail::Loc::current()) {
  return detail::push_stream<In>(f, detail::NoFunction{}, options, push, at);
}

/// The results are not taken but given to a function, one by one and in order, by the call that computes. The function may not
/// call the stream; what it throws comes out of that call.
template <class In, class F, class OnItem>
  requires(!std::is_convertible_v<OnItem, RunOptions>)
auto push_stream(F f, OnItem on_item, const RunOptions& options = {}, const PushOptions& push = {},
                 detail::Loc at = detail::Loc::current()) {
  return detail::push_stream<In>(f, std::move(on_item), options, push, at);
}

}  // namespace anabranch
