#include <optional>
#include <variant>

#include "agree.h"

// Structs of a user as elements.
namespace nbody {

struct Point {
  double x = 1, y = 2;
  friend bool operator==(const Point&, const Point&) = default;
};
ANABRANCH_AGGREGATE(Point, x, y);

struct Body {
  Point at;
  float mass;
  bool fixed;
  std::tuple<std::uint8_t, std::int64_t> label;
  friend bool operator==(const Body&, const Body&) = default;
};
ANABRANCH_AGGREGATE(Body, at, mass, fixed, label);

struct Outer {
  struct Inside {
    std::int32_t only;
    friend auto operator<=>(const Inside&, const Inside&) = default;
  };
};
ANABRANCH_AGGREGATE(Outer::Inside, only);

/// One whose other fields are there, and whose variant does not begin with its first alternative.
struct Reading {
  std::variant<std::int32_t, float> value = 2.0F;
  std::int32_t sensor = 0;
  friend bool operator==(const Reading&, const Reading&) = default;
};
ANABRANCH_AGGREGATE(Reading, value, sensor);

}  // namespace nbody

namespace anabranch::testing {
namespace {

using nbody::Body;
using nbody::Outer;
using nbody::Point;

Body body(std::int64_t i) {
  const auto at = static_cast<std::uint64_t>(i);
  return {{number<double>(at), number<double>(at + 1)},
          number<float>(at),
          number<bool>(at),
          {static_cast<std::uint8_t>(i), i}};
}
std::vector<Vector<Body>> bodies() {
  return {vector_of(67, body), Vector<Body>{}, vector_of(1, body), vector_of(33, body)};
}

TEST_CASE("arrays of structs on the host") {
  Vector<Body> v(3);
  REQUIRE(v[1] == Body{{0, 0}, 0, false, {0, 0}});
  v.set(1, body(7));
  REQUIRE(v[1] == body(7));
  REQUIRE(v.component<0>()[1] == body(7).at.x);
  REQUIRE(v.component<5>()[1] == 7);
  REQUIRE(Vector<Body>::components == 6);
  const auto [at, mass, fixed, label] = unzip(v);
  REQUIRE(at[1] == body(7).at);
  REQUIRE(mass[1] == body(7).mass);
  REQUIRE(label[1] == body(7).label);
  REQUIRE(v.copy() == v);
}

TEST_CASE("fields by name, by pointer, by number and by structured bindings") {
  const auto rows = bodies();
  const auto values = everywhere(
      [](auto row) {
        return map(
            [](auto b) {
              auto [at, mass, fixed, label] = b;
              return pack(b->at->x + get<&Point::y>(at), get<&Body::mass>(b) * mass, get<2>(b),
                          get<1>(b->label));
            },
            row);
      },
      rows);
  for (std::int64_t i = 0; i < 67; ++i) {
    const Body b = body(i);
    REQUIRE(values[0][i] == std::tuple(b.at.x + b.at.y, b.mass * b.mass, b.fixed, i));
  }
}

TEST_CASE("structs are made, changed and compared") {
  const auto rows = bodies();
  const auto moved = everywhere(
      [](auto row) {
        return map(
            [](auto b) {
              auto at = make<Point>(b->at->y, 0.5);
              return make<Body>(at, 2, !b->fixed, b->label);
            },
            row);
      },
      rows);
  for (std::int64_t i = 0; i < 67; ++i) {
    const Body b = body(i);
    REQUIRE(moved[0][i] == Body{{b.at.y, 0.5}, 2, !b.fixed, b.label});
  }
  const auto equal = agree(map([](auto b) { return b == body(3); }, use(rows[0])));
  for (std::int64_t i = 0; i < 67; ++i) REQUIRE(equal[i] == (i == 3));
  const Vector<Outer::Inside> v{{3}, {1}, {2}};
  const auto least = agree(fold1([](auto a, auto b) { return cond(a < b, a, b); }, use(v)));
  REQUIRE(least[0] == Outer::Inside{1});
  require_same(agree(map([](auto e) { return e->only + get<&Outer::Inside::only>(e); }, use(v))),
               Vector<std::int32_t>{6, 2, 4});
}

TEST_CASE("folds, scans, loops and branches over structs") {
  const auto add = [](Exp<Point> a, Exp<Point> b) { return make<Point>(a->x + b->x, a->y * b->y); };
  const auto point = [](std::int64_t i) {
    return Point{number<double>(static_cast<std::uint64_t>(i)), 1 + 1.0 / static_cast<double>(i + 2)};
  };
  const std::vector rows{vector_of(300, point), Vector<Point>{}, vector_of(2, point)};
  const auto totals = everywhere([&](auto row) { return fold(add, Point{0, 1}, row); }, rows);
  REQUIRE(totals[1][0] == Point{0, 1});
  REQUIRE(totals[2][0] == Point{point(0).x + point(1).x, point(0).y * point(1).y});
  agree(std::tuple(scanl1(add, use(rows[0])), std::get<1>(unzip(use(rows[0])))));
  require_same(agree(map(
                   [](auto p) {
                     return while_loop([](auto q) { return q->x < 10; },
                                       [](auto q) { return make<Point>(q->x * 2, q->y + 1); }, p);
                   },
                   use(Vector<Point>{{1, 0}, {20, 0}}))),
               Vector<Point>{{16, 4}, {20, 0}});
  require_same(
      agree(map([](auto p) { return cond(p->x > 0, p, Point{}); }, use(Vector<Point>{{-1, 5}, {3, 5}}))),
      Vector<Point>{{1, 2}, {3, 5}});
  require_same(agree(fill(2, Point{3, 4})), Vector<Point>{{3, 4}, {3, 4}});
  const auto program = compile<Vector<Body>>([](auto v) { return map([](auto b) { return b->at; }, v); });
  REQUIRE(agree_on(program, vector_of(5, body))[4] == body(4).at);
}

TEST_CASE("a variant that begins with another alternative than the element has") {
  using nbody::Reading;
  const Vector<Reading> three(Index{3});
  CHECK(three[0] == Reading{std::int32_t{0}, 0});
  const Vector<Reading> some{{std::int32_t{7}, 1}, {0.5F, 2}};
  CHECK(some[0] == Reading{std::int32_t{7}, 1});
  CHECK(some[1] == Reading{0.5F, 2});
  const Vector<std::optional<Reading>> optional{std::nullopt, some[1]};
  CHECK_FALSE(optional[0].has_value());
  CHECK(optional[1] == some[1]);
  require_same(agree(map([](auto r) { return r; }, use(some))), some);
}

}  // namespace
}  // namespace anabranch::testing
