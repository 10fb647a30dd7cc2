#include "agree.h"

// std::optional as an element: made, matched, on the host, in folds and in streams.
namespace anabranch::testing {
namespace {

using Maybe = std::optional<std::int32_t>;
using Pair = std::tuple<std::uint8_t, double>;
using MaybePair = std::optional<Pair>;

Maybe maybe(std::int64_t i) {
  const auto at = static_cast<std::uint64_t>(i);
  return number<bool>(at) ? Maybe(number<std::int32_t>(at + 1) % 100) : std::nullopt;
}
std::vector<Vector<Maybe>> maybes() {
  return {vector_of(67, maybe), Vector<Maybe>{}, Vector<Maybe>{std::nullopt}, vector_of(33, maybe)};
}

TEST_CASE("arrays of optional on the host") {
  Vector<MaybePair> v{MaybePair(Pair(3, 0.5)), std::nullopt};
  REQUIRE(v[0] == Pair(3, 0.5));
  REQUIRE(!v[1]);
  v.set(0, std::nullopt);
  REQUIRE(!v[0]);
  REQUIRE(v.component<1>()[0] == 0);
  REQUIRE(v.component<2>()[0] == 0);
  REQUIRE(v == Vector<MaybePair>(2));
  const std::optional<std::optional<bool>> nested(std::in_place, std::nullopt);
  REQUIRE(Vector<std::optional<std::optional<bool>>>{nested}[0] == nested);
}

TEST_CASE("match, value_or and has_value") {
  const auto rows = maybes();
  const auto values = everywhere(
      [](auto row) {
        return map(
            [](auto o) {
              return pack(
                  match(o, [](auto x) { return x + 1; }, [] { return -7; }), value_or(o, 5), has_value(o));
            },
            row);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const Maybe o = rows[r][i];
      REQUIRE(values[r][i] == std::tuple(o ? *o + 1 : -7, o.value_or(5), o.has_value()));
    }
}

TEST_CASE("some, none and optional_if") {
  const std::vector rows{numbers<std::int32_t>(67), Vector<std::int32_t>{}, Vector<std::int32_t>{0}};
  const auto values = everywhere(
      [](auto row) {
        return map(
            [](auto x) {
              return pack(optional_if(x != 0, 100 / x), cond(x > 0, some(x), none<std::int32_t>()),
                          optional_if(x % 2 == 0, Pair(1, 0.5)), some(2.5));
            },
            row);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const std::int32_t x = rows[r][i];
      REQUIRE(values[r][i] ==
              std::tuple(x != 0 ? Maybe(100 / x) : std::nullopt, x > 0 ? Maybe(x) : std::nullopt,
                         x % 2 == 0 ? MaybePair(Pair(1, 0.5)) : std::nullopt, std::optional<double>(2.5)));
    }
}

TEST_CASE("only the side that is taken is evaluated") {
  const Vector<Maybe> v{Maybe(4), std::nullopt, Maybe(-2)};
  const Vector<std::int32_t> zero{0};
  const auto zeros = use(zero);
  // None holds 0 inside, by which nothing is divided.
  require_same(
      agree(map([](auto o) { return match(o, [](auto x) { return 8 / x; }, [] { return 0; }); }, use(v))),
      Vector<std::int32_t>{2, 0, -4});
  require_same(agree(map([=](auto o) { return value_or(o, 1 / zeros[0]); }, use(Vector<Maybe>{Maybe(3)}))),
               Vector<std::int32_t>{3});
  fails<RunError>(map([=](auto o) { return value_or(o, 1 / zeros[0]); }, use(v)), {"division by zero|divi"});
  fails<RunError>(
      map([=](auto o) { return match(o, [=](auto x) { return zeros[x]; }, [] { return 0; }); }, use(v)),
      {"index 4 out of range|index -2 out of range"});
}

TEST_CASE("optionals are equal and ordered as std::optional") {
  const Vector<std::tuple<Maybe, Maybe>> v{{Maybe(1), Maybe(1)},
                                           {Maybe(1), Maybe(2)},
                                           {std::nullopt, Maybe(-5)},
                                           {Maybe(0), std::nullopt},
                                           {std::nullopt, std::nullopt}};
  const auto values = agree(map(
      [](auto e) {
        auto [x, y] = e;
        return pack(x == y, x < y, x >= y);
      },
      use(v)));
  for (std::int64_t i = 0; i < v.size(); ++i) {
    const auto [x, y] = v[i];
    REQUIRE(values[i] == std::tuple(x == y, x < y, x >= y));
  }
  // Equal elements have equal bytes, also those that were computed.
  require_same(agree(map([](auto x) { return optional_if(x > 5, x); }, use(Vector<std::int32_t>{1, 2}))),
               Vector<Maybe>(2));
}

TEST_CASE("folds and streams of optional") {
  const auto rows = maybes();
  const auto first = [](auto a, auto b) { return cond(has_value(a), a, b); };
  const auto firsts = everywhere([&](auto row) { return fold(first, Maybe{}, row); }, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    Maybe expected;
    for (std::int64_t i = rows[r].size(); i-- > 0;)
      if (rows[r][i]) expected = rows[r][i];
    REQUIRE(firsts[r][0] == expected);
  }
  agree(scanl1(first, use(rows[0])));
  const auto last = [](auto o) {
    return while_loop([](auto p) { return value_or(p, 0) > 10; },
                      [](auto p) {
                        return match(
                            p, [](auto x) { return optional_if(x % 2 == 0, x / 2); },
                            [] { return none<std::int32_t>(); });
                      },
                      o);
  };
  require_same(agree(map(last, use(Vector<Maybe>{Maybe(40), Maybe(44), Maybe(3), std::nullopt}))),
               Vector<Maybe>{Maybe(10), std::nullopt, Maybe(3), std::nullopt});
  const auto program = compile<Vector<Maybe>, Scalar<Maybe>>([](auto v, auto s) {
    return map(
        [=](auto o) {
          return match(the(s), [=](auto x) { return pack(x, o); }, [=] { return pack(Exp(7), o); });
        },
        v);
  });
  const Vector<Maybe> two{Maybe(1), std::nullopt};
  REQUIRE(agree_on(program, two, Scalar<Maybe>(Maybe(3)))[1] == std::tuple(3, Maybe{}));
  REQUIRE(agree_on(program, two, Scalar<Maybe>(Maybe{}))[0] == std::tuple(7, Maybe(1)));
}

}  // namespace
}  // namespace anabranch::testing
