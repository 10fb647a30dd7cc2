#include "shapes.h"

// Rows of states, each made of the one before it: alone and inside of sequences in every form; the values by loops of
// the host.
namespace anabranch::testing {
namespace {

using Number = std::int64_t;

/// Neither associative nor symmetric.
const auto turned = [](auto s, auto x) { return s * 3 - x; };

template <int N>
void along_each_axis() {
  const auto items = arrays<N, std::int32_t>(N);
  for (int axis = 0; axis < N; ++axis) {
    const auto states = everywhere([=](auto a) { return scan_state(turned, 7, a, axis); }, items);
    for (std::size_t i = 0; i < items.size(); ++i)
      each_position(items[i].shape(), [&](const Index<N>& ix) {
        Index<N> before = ix;
        --before[axis];
        const std::uint32_t s = ix[axis] == 0 ? 7 : static_cast<std::uint32_t>(states[i][before]);
        CHECK(states[i][ix] == static_cast<std::int32_t>(s * 3 - static_cast<std::uint32_t>(items[i][ix])));
      });
  }
}
TEST_CASE("states of vectors") { along_each_axis<1>(); }
TEST_CASE("states of matrices along each axis") { along_each_axis<2>(); }
TEST_CASE("states at rank 3 along each axis") { along_each_axis<3>(); }
TEST_CASE("states at rank 4 along each axis", "[once]") { along_each_axis<4>(); }

/// Neighbours of nearly one length, and of very different ones; as many as make a vector, and more.
std::vector<Vector<float>> rows() {
  std::vector<Vector<float>> all;
  const auto add = [&](Number n) {
    all.push_back(
        vector_of(n, [&](Number i) { return number<float>(static_cast<std::uint64_t>(n * 977 + i)); }));
  };
  for (Number n = 0; n < 40; ++n) add(n % 11);
  for (const Number n : {3000, 1, 0, 0, 70, 64, 65, 66, 67, 63, 65, 65, 90, 64, 63, 64, 80, 65, 66, 64})
    add(n);
  for (Number n = 0; n < 33; ++n) add(0);
  return all;
}

TEST_CASE("states of rows that differ in length") {
  const auto items = rows();
  const auto states = everywhere(
      [](auto a) { return scan_state([](auto s, auto x) { return s * 0.5f + x; }, 1.0f, a); }, items);
  for (std::size_t i = 0; i < items.size(); ++i) {
    float s = 1;
    for (Number k = 0; k < items[i].size(); ++k) {
      s = s * 0.5f + items[i][k];
      REQUIRE(states[i][k] == s);
    }
  }
}

TEST_CASE("a state of another type than the elements, and a first state that depends on the item") {
  // A run of a small machine: counts what it saw in each of two modes, in which large elements switch.
  using Machine = std::tuple<bool, Number, double>;
  const auto step = [](Exp<Machine> m, Exp<float> x) {
    const auto mode = get<0>(m) != (x > 9e3f);
    return make<Machine>(mode, get<1>(m) + cond(mode, Number{1}, Number{10}),
                         get<2>(m) / 2 + cast<double>(x));
  };
  const auto items = rows();
  const auto states = everywhere(
      [=](auto a) { return scan_state(step, make<Machine>(size(a) > 5, size(a), 0.0), a); }, items);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Number n = items[i].size();
    bool mode = n > 5;
    Number counted = n;
    double sum = 0;
    for (Number k = 0; k < n; ++k) {
      mode = mode != (items[i][k] > 9e3f);
      counted += mode ? 1 : 10;
      sum = sum / 2 + static_cast<double>(items[i][k]);
      REQUIRE(states[i][k] == Machine(mode, counted, sum));
    }
  }
}

TEST_CASE("states of the same elements from different beginnings") {
  const auto shared = vector_of(50, [](Number i) { return static_cast<std::int32_t>(i * i % 13); });
  const auto states = agree(consume(tabulate(map_seq(
      [&](Acc<Scalar<Number>> i) {
        return scan_state([](auto s, auto x) { return s * 2 + x; }, cast<std::int32_t>(the(i)), use(shared));
      },
      produce(37, [](auto i) { return unit(i); })))));
  for (Number i = 0; i < 37; ++i) {
    std::uint32_t s = static_cast<std::uint32_t>(i);
    for (Number k = 0; k < 50; ++k) {
      s = s * 2 + static_cast<std::uint32_t>(shared[k]);
      REQUIRE(states[Index{i, k}] == static_cast<std::int32_t>(s));
    }
  }
}

TEST_CASE("states between other computations") {
  const auto items = rows();
  everywhere([](auto a) { return sum(scan_state(minus, 0.0f, map([](auto x) { return x * x; }, a))); },
             items);
  everywhere([](auto a) { return zip_with(plus, scan_state(minus, 0.0f, a), reverse(a)); }, items);
  everywhere([](auto a) { return scan_state(plus, 0.0f, scan_state(minus, 0.0f, a)); }, items);
  // Steps that loop, each as long as its element says.
  everywhere(
      [](auto a) {
        const auto collatz = [](auto s, auto x) {
          return iterate(
              cast<Number>(x) % 5, [](auto v) { return cond(v % 2 == 0, v / 2, v * 3 + 1); }, s % 1000 + 1);
        };
        return scan_state(collatz, Number{1}, a);
      },
      items);
}

TEST_CASE("a check that fails in a step is an error with its item") {
  std::vector<Vector<std::int32_t>> items(20, Vector<std::int32_t>{1, 2, 3});
  items[13] = {4, 4, 0, 0, 5};
  const auto bad_step = [](auto a) { return scan_state([](auto s, auto x) { return s / x; }, 1000, a); };
  fails<RunError>(consume(elements(map_seq(bad_step, stream_in(items)))), {"divide", "item 13"});
  const auto bad_start = [](auto a) { return scan_state(plus, 12 / (cast<std::int32_t>(size(a)) - 5), a); };
  fails<RunError>(consume(elements(map_seq(bad_start, stream_in(items)))), {"divide", "item 13"});
  fails<RunError>(bad_step(use(items[13])), {"divide"});
  // Where there is no element, there is no first state.
  std::vector<Vector<std::int32_t>> empty(20);
  CHECK(agree(consume(elements(
                  map_seq([](auto a) { return scan_state(plus, 12 / cast<std::int32_t>(size(a)), a); },
                          stream_in(empty)))))
            .size() == 0);
}

}  // namespace
}  // namespace anabranch::testing
