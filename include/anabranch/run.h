#pragma once

#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <anabranch/acc.h>
#include <anabranch/device_array.h>
#include <anabranch/run_options.h>
#include <anabranch/run_report.h>
#include <anabranch/seq.h>

/// Running programs.
namespace anabranch {

namespace detail {

template <class R>
struct ResultOf;
template <class A>
struct ResultOf<Acc<A>> {
  using type = A;
  using References = A&;
  static constexpr std::size_t arrays = 1;
  static Handles handles(const Acc<A>& a) { return {a.handle()}; }
  static A wrap(std::span<const std::shared_ptr<ArrayData>> results) { return A(results[0]); }
  using OnDevice = DeviceArray<A>;
  static OnDevice wrap_on_device(std::span<const std::shared_ptr<ArrayData>> results) {
    return OnDevice(results[0]);
  }
  static std::vector<std::shared_ptr<ArrayData>> memory(const A& into) { return {into.erased()}; }
};
template <class... Rs>
  requires(requires { typename ResultOf<Rs>::type; } && ...)
struct ResultOf<std::tuple<Rs...>> {
  using type = std::tuple<typename ResultOf<Rs>::type...>;
  using References = std::tuple<typename ResultOf<Rs>::References...>;
  static constexpr std::size_t arrays = (ResultOf<Rs>::arrays + ... + 0);
  static Handles handles(const std::tuple<Rs...>& t) {
    return joined(t, []<class R>(const R& part) { return ResultOf<R>::handles(part); });
  }
  static type wrap(std::span<const std::shared_ptr<ArrayData>> results) {
    const auto next = [at = std::size_t{0}, results]<class Of>(std::type_identity<Of>) mutable {
      return Of::wrap(results.subspan(std::exchange(at, at + Of::arrays), Of::arrays));
    };
    return in_turn<type>(next);
  }
  using OnDevice = std::tuple<typename ResultOf<Rs>::OnDevice...>;
  static OnDevice wrap_on_device(std::span<const std::shared_ptr<ArrayData>> results) {
    const auto next = [at = std::size_t{0}, results]<class Of>(std::type_identity<Of>) mutable {
      return Of::wrap_on_device(results.subspan(std::exchange(at, at + Of::arrays), Of::arrays));
    };
    return in_turn<OnDevice>(next);
  }
  static std::vector<std::shared_ptr<ArrayData>> memory(const References& into) {
    return std::apply(
        [](const auto&... parts) {
          std::vector<std::shared_ptr<ArrayData>> all;
          (append(all, ResultOf<Rs>::memory(parts)), ...);
          return all;
        },
        into);
  }

 private:
  template <class Tuple, class F>
  static Tuple in_turn(F next) {
    return Tuple{next(std::type_identity<ResultOf<Rs>>{})...};
  }
  template <class X>
  static void append(std::vector<X>& all, std::vector<X> more) {
    all.insert(all.end(), more.begin(), more.end());
  }
  template <class F>
  static Handles joined(const std::tuple<Rs...>& t, F f) {
    Handles all;
    std::apply([&](const Rs&... parts) { (append(all, f(parts)), ...); }, t);
    return all;
  }
};

}  // namespace detail

/// A compiled program: run it as often as you like, from as many threads as you like (each source serves one
/// run at a time: RunError). `R` is an Acc or a std::tuple of Accs, `Args` are Arrays.
template <class R, class... Args>
class Program {
 public:
  using Result = typename detail::ResultOf<R>::type;
  /// An Array&, or a std::tuple of them.
  using Into = typename detail::ResultOf<R>::References;
  using OnDevice = typename detail::ResultOf<R>::OnDevice;

  /// Compiles the kernels of runs with these options, so that the first one does not wait for it (17 ms of a
  /// small program; from disk less): else they are compiled when they are first needed. Runs nothing, reads nothing. Kernels for the rare
  /// case are left for later, and those of the GPU may still be being compiled when it returns. `Backend::automatic` prepares the CPU.
  void prepare(const RunOptions& options = {}) const { detail::prepare(*impl_, options); }

  /// Runs with these arguments. Throws RunError, DataError,
  /// IoError, ResourceError, Cancelled, or what a source throws.
  Result operator()(const Args&... args) const { return run({}, nullptr, args...); }
  Result run(const Args&... args) const { return run({}, nullptr, args...); }
  Result run(const RunOptions& options, const Args&... args) const { return run(options, nullptr, args...); }
  Result run(const RunOptions& options, RunReport* report, const Args&... args) const {
    return detail::ResultOf<R>::wrap(detail::run(*impl_, {args.erased()...}, options, report));
  }

  /// The same with arguments of which some stay on the GPU.
  template <class... Xs>
    requires((detail::Passable<Xs, Args> && ...) && (detail::is_device_array<Xs> || ...))
  Result operator()(const Xs&... args) const {
    return run({}, nullptr, args...);
  }
  template <class... Xs>
    requires((detail::Passable<Xs, Args> && ...) && (detail::is_device_array<Xs> || ...))
  Result run(const Xs&... args) const {
    return run({}, nullptr, args...);
  }
  template <class... Xs>
    requires((detail::Passable<Xs, Args> && ...) && (detail::is_device_array<Xs> || ...))
  Result run(const RunOptions& options, const Xs&... args) const {
    return run(options, nullptr, args...);
  }
  template <class... Xs>
    requires((detail::Passable<Xs, Args> && ...) && (detail::is_device_array<Xs> || ...))
  Result run(const RunOptions& options, RunReport* report, const Xs&... args) const {
    return detail::ResultOf<R>::wrap(detail::run(*impl_, {args.erased()...}, options, report));
  }

  /// Runs, with results that stay on the GPU if it has computed them: a DeviceArray, or a std::tuple of them (a Ragged comes to the
  /// host). Arguments are Arrays or DeviceArrays.
  template <class... Xs>
    requires(sizeof...(Xs) == sizeof...(Args) && (detail::Passable<Xs, Args> && ...))
  OnDevice run_on_device(const RunOptions& options, const Xs&... args) const {
    return run_on_device(options, nullptr, args...);
  }
  template <class... Xs>
    requires(sizeof...(Xs) == sizeof...(Args) && (detail::Passable<Xs, Args> && ...))
  OnDevice run_on_device(const RunOptions& options, RunReport* report, const Xs&... args) const {
    return detail::ResultOf<R>::wrap_on_device(
        detail::run(*impl_, {args.erased()...}, options, report, {}, detail::ResultsIn::device));
  }

  /// Runs into memory the caller owns: the result takes the place of the elements of `results`, which gets
  /// the result's shape. For several results: `std::tie(y, z)`.
  ///
  ///     Vector<double> y = ...;                 // or a view of other memory: Vector<double>::view(shape, p)
  ///     for (...) program.run_into(y, x);
  ///
  /// The memory holds `y.capacity()` elements: a result may be shorter, and the next one longer again. Other
  /// handles of `y` see the new elements, but keep their shape. Throws as `operator()` does, and
  /// ResourceError where the result has more elements than the memory holds (before anything is computed,
  /// where its size is known by then); ProgramError where the memory is a view of constants, or that of an
  /// input or of another result. After an exception the shape of `y` is what it was; its elements may be
  /// overwritten.
  ///
  /// Cost: that of `run` without memory for the result, which counts in the memory bound all the same.
  /// Results are written where they belong, but for these, which are copied: two results that are the same
  /// array, an input as it is, `tabulate` of items whose shapes may differ, and all results of the
  /// interpreter.
  void run_into(Into results, const Args&... args) const { run_into(results, {}, nullptr, args...); }
  void run_into(Into results, const RunOptions& options, const Args&... args) const {
    run_into(results, options, nullptr, args...);
  }
  void run_into(Into results, const RunOptions& options, RunReport* report, const Args&... args) const {
    using Of = detail::ResultOf<R>;
    results = Of::wrap(detail::run(*impl_, {args.erased()...}, options, report, Of::memory(results)));
  }

  /// What was made of the program and why: the terms after sharing, operations with their forms, what was fused into which
  /// kernel and what was stored instead, how arrays are read and checked, bytes. (docs/explain.md.)
  std::string explain(Explain form = Explain::text) const { return detail::explain(*impl_, form); }

  /// Throws ProgramError, with the operation, its place and the reason, where the program is not as expected; gives the
  /// program itself: `const auto program = compile(...).require(Expect::no_intermediates | Expect::one_pass);`
  Program require(Expect expected) const {
    detail::require(*impl_, expected);
    return *this;
  }

  explicit Program(std::shared_ptr<detail::ProgramImpl> impl) : impl_(std::move(impl)) {}

 private:
  std::shared_ptr<detail::ProgramImpl> impl_;
};

/// A reusable program from a computation (or a std::tuple of them, which then share one run).
template <class R>
  requires requires { typename detail::ResultOf<R>::type; }
Program<R> compile(const R& computation) {
  return Program<R>(detail::compile(detail::ResultOf<R>::handles(computation), {}));
}
/// A reusable program from a function over Accs: compile<Vector<double>, Vector<double>>(dotp)(x, y).
template <class... Args, class F>
  requires(sizeof...(Args) >= 1)
auto compile(F f, detail::Loc at = detail::Loc::current()) {
  constexpr bool arrays = (detail::IsHostArray<Args> && ...);
  static_assert(
      arrays,
      "anabranch: compile's types are those of its arguments: Arrays, as in compile<Vector<double>>(f)");
  if constexpr (arrays) {
    constexpr bool fits = detail::takes<F, Acc<Args>&...>();
    static_assert(fits, "anabranch: the function given to compile takes one Acc for each of compile's types");
    if constexpr (fits) {
      std::tuple<Acc<Args>...> parameters{detail::fresh_array<Args>(at)...};
      using R = std::remove_cvref_t<decltype(f(std::declval<Acc<Args>&>()...))>;
      constexpr bool computes = requires { typename detail::ResultOf<R>::type; };
      static_assert(
          computes,
          "anabranch: the function given to compile returns an Acc, or a std::tuple of them: unit(x) is "
          "one of a scalar, consume(elements(s)) one of a sequence");
      if constexpr (computes) {
        const R result = std::apply([&](auto&... p) { return f(p...); }, parameters);
        detail::Handles handles =
            std::apply([](auto&... p) { return detail::Handles{p.handle()...}; }, parameters);
        return Program<R, Args...>(detail::compile(detail::ResultOf<R>::handles(result), handles));
      }
    }
  }
}

/// Compiles and runs once. A std::tuple of computations gives a tuple of arrays.
template <class R>
  requires requires { typename detail::ResultOf<R>::type; }
auto run(const R& computation, const RunOptions& options = {}, RunReport* report = nullptr) {
  return compile(computation).run(options, report);
}

template <class S>
  requires detail::IsSequence<S>::value
void run(const S&, const RunOptions& = {}, RunReport* = nullptr) {
  static_assert(
      detail::always_false<S>,
      "anabranch: a sequence is not run as it is; run consume(elements(s)) or consume(tabulate(s)), or read "
      "stream_out(s)");
}
template <class S>
  requires detail::IsSequence<S>::value
void compile(const S&) {
  static_assert(detail::always_false<S>,
                "anabranch: a sequence is not compiled as it is; compile consume(elements(s)) or "
                "consume(tabulate(s)), or read stream_out(s)");
}

/// A C++ input range of the items of a sequence, as host arrays. While its reader works on an item, the next ones are read
/// and computed by the other threads of the run, within the bounds of ReadAhead; with one thread, chunk by chunk as the
/// range is read. So sources are read by other threads than the range: what their code uses must not be changed
/// meanwhile. Not so a live source that depends on its results (SourceInfo::live, independent), unless bounds are given:
/// then a chunk is one item, or N with the scheduler "fixed:N", and item k is here before the source is asked for item
/// k + 1.
///
/// An exception of a source or of a computation comes out when all items before it have been read. Destroying the range
/// ends what is under way, within one call of a source or one piece of a kernel.
template <class A>
class StreamOut {
 public:
  StreamOut(const Seq<A>& sequence, const RunOptions& options, const std::optional<ReadAhead>& ahead = {})
      : reader_(sequence.handle(), options, ahead) {}

  class Iterator {
   public:
    using value_type = A;
    using difference_type = std::ptrdiff_t;
    explicit Iterator(StreamOut* out) : out_(out) { ++*this; }
    const A& operator*() const { return *out_->item_; }
    Iterator& operator++() {
      std::vector<std::shared_ptr<detail::ArrayData>> arrays;
      if (out_->reader_.next(arrays)) {
        out_->item_ = wrap(arrays);
      } else {
        out_->item_.reset();
        out_->over_ = true;
      }
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.at_end(); }

   private:
    bool at_end() const { return !out_->item_; }
    StreamOut* out_;
  };
  /// The next item. RunError where all of them have been read: for another pass make another range.
  Iterator begin() {
    if (over_)
      throw RunError("stream_out: its items have been read; for another pass make another stream_out(s)");
    return Iterator(this);
  }
  std::default_sentinel_t end() { return {}; }

 private:
  template <class X>
  struct Wrap;
  template <int N, class T>
  struct Wrap<Array<N, T>> {
    static Array<N, T> from(const std::vector<std::shared_ptr<detail::ArrayData>>& a) {
      return Array<N, T>(a[0]);
    }
  };
  template <class... As>
  struct Wrap<std::tuple<As...>> {
    static std::tuple<As...> from(const std::vector<std::shared_ptr<detail::ArrayData>>& a) {
      return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::tuple<As...>{As(a[I])...};
      }(std::index_sequence_for<As...>{});
    }
  };
  static A wrap(const std::vector<std::shared_ptr<detail::ArrayData>>& a) { return Wrap<A>::from(a); }

  detail::ItemReader reader_;
  std::optional<A> item_;
  bool over_ = false;
};

/// The items of a sequence as a range: for (const auto& item : stream_out(s)) ...
template <class A>
StreamOut<A> stream_out(const Seq<A>& sequence, const RunOptions& options = {}) {
  return StreamOut<A>(sequence, options);
}
/// With bounds of its own, which hold for every source: stream_out(s, {}, {.items = 0}) reads nothing ahead.
template <class A>
StreamOut<A> stream_out(const Seq<A>& sequence, const RunOptions& options, const ReadAhead& ahead) {
  return StreamOut<A>(sequence, options, ahead);
}

template <class X>
void stream_out(const X&, const RunOptions& = {}) {
  static_assert(
      detail::always_false<X>,
      "anabranch: stream_out gives the items of a sequence: stream_out(map_seq(f, s)); run gives what is "
      "made of an array");
}

}  // namespace anabranch
