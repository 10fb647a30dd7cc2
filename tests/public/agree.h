#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <anabranch/anabranch.h>

#include "support/catch.h"

/// The oracle of the public tests: a program has one meaning, that of the interpreter, and every back end,
/// chunk policy and number of threads gives it to the last bit.
namespace anabranch::testing {

using HostArray = std::shared_ptr<detail::ArrayData>;
using HostArrays = std::vector<HostArray>;
using RunWith = std::function<HostArrays(const RunOptions&)>;
using Loc = std::source_location;

/// What is compared with the interpreter: every chunk policy and every number of threads on the CPU, each policy with one or two
/// of the numbers; with ANABRANCH_TEST_CONFIGURATIONS=all in the environment with every one (the long tier). With
/// ANABRANCH_TEST_BACKEND=cuda a few policies on the GPU instead, and each as often as ANABRANCH_TEST_REPEAT says: what is
/// left to chance shows in one run out of some.
const std::vector<RunOptions>& configurations();
std::string to_string(const RunOptions& options);

/// Runs the interpreter, then the CPU in every configuration;
/// fails where one differs. The interpreter's results.
HostArrays agree_erased(const RunWith& run, Loc at);

/// Runs the interpreter and the CPU in every configuration; each must throw E whose message has all `parts`
/// ("a|b": a or b). The interpreter's message.
template <class E>
std::string fails_erased(const RunWith& run, const std::vector<std::string>& parts, Loc at);

void require_same(const HostArray& got, const HostArray& expected, Loc at);
/// What `elements` and `tabulate` give of these items.
HostArray joined(const HostArrays& items, const std::vector<ScalarType>& scalars);
HostArray stacked(const HostArrays& items, int rank, const std::vector<ScalarType>& scalars);

template <int N, class T>
HostArrays arrays_of(const Array<N, T>& array) {
  return {array.erased()};
}
template <class... As>
HostArrays arrays_of(const std::tuple<As...>& arrays) {
  return std::apply([](const auto&... a) { return HostArrays{a.erased()...}; }, arrays);
}

/// The value of a computation (or of a tuple of them), on which all configurations agree.
template <class R>
auto agree(const R& computation, Loc at = Loc::current()) {
  const auto program = compile(computation);
  return detail::ResultOf<R>::wrap(
      agree_erased([&](const RunOptions& options) { return arrays_of(program.run(options)); }, at));
}

/// Its value alone, for what many small computations are compared with together.
template <class R>
auto reference(const R& computation) {
  return detail::ResultOf<R>::wrap(arrays_of(run(computation, {.backend = Backend::interpreter})));
}

/// `agree` for a program with arguments.
template <class R, class... Args>
auto agree_on(const Program<R, Args...>& program, const Args&... args) {
  return detail::ResultOf<R>::wrap(agree_erased(
      [&](const RunOptions& options) { return arrays_of(program.run(options, args...)); }, Loc::current()));
}

/// The computation compiles, and running it throws E everywhere, saying all `parts`.
template <class E, class R>
std::string fails(const R& computation, const std::vector<std::string>& parts, Loc at = Loc::current()) {
  const auto program = compile(computation);
  return fails_erased<E>([&](const RunOptions& options) { return arrays_of(program.run(options)); }, parts,
                         at);
}

template <int N, class T>
void require_same(const Array<N, T>& got, const Array<N, T>& expected, Loc at = Loc::current()) {
  require_same(got.erased(), expected.erased(), at);
}

template <class A>
std::vector<ScalarType> scalars_of() {
  constexpr auto& s = detail::Element<typename A::value_type>::scalars;
  return {s.begin(), s.end()};
}

/// The sequence has these items: through every terminal, and one by one.
template <class A>
void check_items(const Seq<A>& sequence, const std::vector<A>& expected, Loc at = Loc::current()) {
  HostArrays items;
  for (const A& item : expected) items.push_back(item.erased());
  require_same(agree(consume(elements(sequence)), at).erased(), joined(items, scalars_of<A>()), at);
  if constexpr (A::rank <= 3)
    require_same(agree(consume(tabulate(sequence)), at).erased(), stacked(items, A::rank, scalars_of<A>()),
                 at);
  for (Backend backend : {Backend::interpreter, Backend::cpu}) {
    std::size_t i = 0;
    const int threads = backend == Backend::interpreter ? 1 : 2;
    for (const A& item : stream_out(sequence, {.backend = backend, .threads = threads})) {
      REQUIRE(i < items.size());
      require_same(item.erased(), items[i++], at);
    }
    REQUIRE(i == items.size());
  }
}

/// f is a function from an Acc to an Acc. Checks it outside of sequences on every item, and inside in all
/// three forms: segmented (the items as they are), regular (the items of one shape), avoided (an item from
/// outside). The values, item by item.
template <class F, class A>
auto everywhere(F f, const std::vector<A>& items, Loc at = Loc::current()) {
  using B = typename decltype(f(use(items[0])))::array_type;
  std::vector<B> alone;
  for (const A& item : items) alone.push_back(agree(f(use(item)), at));

  check_items(map_seq(f, stream_in(items)), alone, at);

  std::vector<bool> done(items.size());
  for (std::size_t first = 0; first < items.size(); ++first) {
    if (done[first]) continue;
    std::vector<A> alike;
    std::vector<B> expected;
    for (std::size_t i = first; i < items.size(); ++i) {
      if (items[i].shape() != items[first].shape()) continue;
      done[i] = true;
      alike.push_back(items[i]);
      expected.push_back(alone[i]);
    }
    alike.push_back(items[first]);
    expected.push_back(alone[first]);
    check_items(map_seq(f, stream_in(regular(items[first].shape()), alike)), expected, at);
  }

  const std::vector<Vector<std::int32_t>> ticks{{1}, {}, {2, 3}};
  check_items(map_seq([&](auto) { return f(use(items[0])); }, stream_in(ticks)), {3, alone[0]}, at);
  return alone;
}

/// The vector f(0), f(1), ..., f(n - 1).
template <class F>
auto vector_of(std::int64_t n, F f) {
  Vector<decltype(f(std::int64_t{0}))> out{Index{n}};
  for (std::int64_t i = 0; i < n; ++i) out.set(i, f(i));
  return out;
}

/// Well mixed bits of a number, the same on every machine.
constexpr std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// A number of T that depends on `seed` only; floats have several significant digits and both signs.
template <class T>
constexpr T number(std::uint64_t seed) {
  const std::uint64_t bits = mixed(seed);
  if constexpr (std::is_same_v<T, bool>)
    return (bits & 1) != 0;
  else if constexpr (std::is_same_v<T, half>)
    return half(number<float>(seed));
  else if constexpr (detail::FloatValue<T>)
    return static_cast<T>(static_cast<std::int64_t>(bits % 2000001) - 1000000) / static_cast<T>(4099);
  else
    return static_cast<T>(bits);
}

template <class T>
Vector<T> numbers(std::int64_t n, std::uint64_t seed = 0) {
  return vector_of(n,
                   [=](std::int64_t i) { return number<T>(static_cast<std::uint64_t>(i) + 1000003 * seed); });
}

/// An array of rank N filled by row-major position.
template <int N, class F>
auto array_of(const Index<N>& shape, F f) {
  Array<N, decltype(f(std::int64_t{0}))> out(shape);
  for (std::int64_t i = 0; i < out.size(); ++i) out.set(i, f(i));
  return out;
}

/// Row lengths around the places where code changes its way: vectors, lanes, blocks.
inline const std::vector<std::int64_t> border_lengths{0,  1,   2,   15,  16,  17,  31,  32,   33,   63,  64,
                                                      65, 127, 128, 129, 255, 256, 257, 4095, 4096, 4097};

}  // namespace anabranch::testing
