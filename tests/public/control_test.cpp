#include <cmath>

#include "agree.h"

// cond, while_loop and the logic that skips its right side: what is not taken is not evaluated.
namespace anabranch::testing {
namespace {

const std::vector<Vector<std::int32_t>> rows{
    Vector<std::int32_t>{0, 5, -3, 0, 7, 100, 0}, Vector<std::int32_t>{}, Vector<std::int32_t>{0},
    vector_of(131, [](std::int64_t i) { return static_cast<std::int32_t>(i % 5); }),
    vector_of(131, [](std::int64_t i) { return static_cast<std::int32_t>(i % 7); })};

TEST_CASE("cond picks") {
  const auto values =
      everywhere([](auto row) { return map([](auto x) { return cond(x > 2, x * 10, -x); }, row); }, rows);
  require_same(values[0], Vector<std::int32_t>{0, 50, 3, 0, 70, 1000, 0});
}

TEST_CASE("cond of tuples") {
  everywhere(
      [](auto row) {
        return map(
            [](auto x) {
              return cond(x % 2 == 0, pack(x, cast<double>(x)), pack(x + 1, cast<double>(x) / 3.0));
            },
            row);
      },
      rows);
}

TEST_CASE("sides and states may be std::tuples of Exps") {
  const auto values = everywhere(
      [](auto row) {
        return map(
            [](auto x) {
              auto [low, high] = cond(x < 3, std::tuple(x, 3), std::tuple(x * 0 + 3, x));
              auto [a, b] = while_loop([](auto s) { return get<0>(s) > 0; },
                                       [](auto s) {
                                         auto [n, sum] = s;
                                         return std::tuple(n - 1, sum + n);
                                       },
                                       std::tuple(min(high, 10), low));
              auto [c, d] =
                  iterate(3, [](auto s) { return std::tuple(get<1>(s), get<0>(s)); }, std::tuple(a, b));
              return pack(c, d);
            },
            row);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const std::int32_t low = std::min(rows[r][i], 3), n = std::min(std::max(rows[r][i], 3), 10);
      REQUIRE(values[r][i] == std::tuple(low + n * (n + 1) / 2, 0));
    }
}

TEST_CASE("the side of a cond that is not taken cannot fail") {
  const auto values = everywhere(
      [](auto row) { return map([](auto x) { return cond(x == 0, Exp(-1), 100 / x); }, row); }, rows);
  require_same(values[0], Vector<std::int32_t>{-1, 20, -33, -1, 14, 1, -1});

  // An index out of range, a division inside an index, and one cond inside another.
  const Vector<double> table{1.5, 2.5, 3.5};
  everywhere(
      [&](auto row) {
        auto t = use(table);
        return map(
            [=](auto x) {
              auto i = cast<std::int64_t>(x);
              return cond(i >= 0 && i < 3, t[i],
                          cond(x == 0, Exp(0.0), t[cast<std::int64_t>(6 / x) % 3 * 0]));
            },
            row);
      },
      rows);
}

TEST_CASE("the right side of && and || is evaluated only when it is needed") {
  everywhere(
      [](auto row) {
        return map([](auto x) { return pack(x != 0 && 12 / x > 1, x == 0 || 12 % x == 0); }, row);
      },
      rows);
}

TEST_CASE("while_loop") {
  // Collatz steps: very different numbers of rounds side by side.
  using State = std::tuple<std::int64_t, std::int32_t>;
  const auto values = everywhere(
      [](auto row) {
        return map(
            [](auto x) {
              auto start = pack(cast<std::int64_t>(abs(x)) + 1, Exp(0));
              auto end = while_loop([](auto s) { return get<0>(s) != 1; },
                                    [](Exp<State> s) {
                                      auto [n, steps] = s;
                                      return pack(cond(n % 2 == 0, n / 2, 3 * n + 1), steps + 1);
                                    },
                                    start);
              return get<1>(end);
            },
            row);
      },
      rows);
  require_same(values[0], Vector<std::int32_t>{0, 8, 2, 0, 3, 25, 0});
}

TEST_CASE("while_loop from a plain value") {
  auto last = [](auto x) {
    return while_loop([=](auto y) { return y < x; }, [](auto y) { return y * 2; }, 100.0);
  };
  require_same(agree(map(last, use(Vector<double>{1, 101, 1000}))), Vector<double>{100, 200, 1600});
}

TEST_CASE("while_loop on doubles, with captured values, and one inside another") {
  const auto xs = vector_of(70, [](std::int64_t i) { return 0.25 + static_cast<double>(i); });
  const auto values = everywhere(
      [](auto row) {
        return map(
            [](auto x) {
              auto root = while_loop([x](auto r) { return abs(r * r - x) > 1e-9 * x; },
                                     [x](auto r) { return (r + x / r) / 2.0; }, x);
              return root;
            },
            row);
      },
      std::vector{xs, Vector<double>{}, Vector<double>{2.0}});
  for (std::int64_t i = 0; i < xs.size(); ++i) REQUIRE(std::abs(values[0][i] - std::sqrt(xs[i])) < 1e-6);

  const auto nested = everywhere(
      [](auto row) {
        return map(
            [](auto n) {
              // sum of the triangle numbers up to n
              auto [sum, i] = while_loop(
                  [n](auto s) { return get<1>(s) <= n; },
                  [](auto s) {
                    auto [total, k] = s;
                    auto inner = while_loop([k](auto t) { return get<1>(t) <= k; },
                                            [](auto t) { return pack(get<0>(t) + get<1>(t), get<1>(t) + 1); },
                                            pack(Exp(0), Exp(1)));
                    return pack(total + get<0>(inner), k + 1);
                  },
                  pack(Exp(0), Exp(1)));
              return sum;
            },
            row);
      },
      rows);
  require_same(nested[0], Vector<std::int32_t>{0, 35, 0, 0, 84, 171700, 0});
}

TEST_CASE("a loop that reads an array") {
  // Position of the first element that is at least x, by bisection.
  const Vector<std::int32_t> sorted{1, 3, 3, 8, 20, 21};
  const auto values = everywhere(
      [&](auto row) {
        auto s = use(sorted);
        return map(
            [=](auto x) {
              auto end = while_loop([](auto r) { return get<0>(r) < get<1>(r); },
                                    [=](auto r) {
                                      auto [low, high] = r;
                                      auto middle = (low + high) / 2;
                                      return cond(s[middle] < x, pack(middle + 1, high), pack(low, middle));
                                    },
                                    pack(Exp<std::int64_t>(0), size(s)));
              return get<0>(end);
            },
            row);
      },
      rows);
  require_same(values[0], Vector<std::int64_t>{0, 3, 0, 0, 3, 6, 0});
}

}  // namespace
}  // namespace anabranch::testing
