#include "agree.h"

// std::variant as an element, and choice by a number.
namespace anabranch::testing {
namespace {

using Rectangle = std::tuple<double, double>;
using Shape = std::variant<double, Rectangle, std::int32_t>;

Shape shape_of(std::int64_t i) {
  const auto at = static_cast<std::uint64_t>(i);
  switch (mixed(at) % 3) {
    case 0:
      return number<double>(at);
    case 1:
      return Rectangle(number<double>(at), number<double>(at + 1));
    default:
      return number<std::int32_t>(at) % 50;
  }
}
std::vector<Vector<Shape>> shape_rows() {
  return {vector_of(67, shape_of), Vector<Shape>{}, vector_of(1, shape_of), vector_of(33, shape_of)};
}

struct Area {
  double operator()(double r) const { return r * r * 3; }
  double operator()(const Rectangle& r) const { return std::get<0>(r) * std::get<1>(r); }
  double operator()(std::int32_t) const { return 1; }
};

TEST_CASE("arrays of variant on the host") {
  Vector<Shape> v(2);
  REQUIRE(v[0] == Shape(0.0));
  v.set(0, Rectangle(1, 2));
  v.set(1, 5);
  REQUIRE(v[0] == Shape(Rectangle(1, 2)));
  REQUIRE(v[1] == Shape(5));
  REQUIRE(v.component<0>()[0] == 1);
  v.set(0, 0.0);
  v.set(1, 0.0);
  REQUIRE(v == Vector<Shape>(2));
}

TEST_CASE("match of a variant") {
  const auto rows = shape_rows();
  const auto areas = everywhere(
      [](auto row) {
        return map(
            [](auto s) {
              return match(
                  s, [](auto r) { return r * r * 3; },
                  [](auto e) {
                    auto [a, b] = e;
                    return a * b;
                  },
                  [](Exp<std::int32_t>) { return 1; });
            },
            row);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i)
      REQUIRE(areas[r][i] == std::visit(Area{}, Shape(rows[r][i])));
}

TEST_CASE("variants are made, compared and asked") {
  const auto rows = shape_rows();
  const auto made = everywhere(
      [](auto row) {
        return map(
            [](auto s) {
              auto halved = match(
                  s, [](auto r) { return make_variant<Shape>(r / 2); },
                  [](auto e) { return make_variant<Shape, 0>(get<1>(e)); },
                  [](auto n) {
                    return cond(n > 10, make_variant<Shape>(n / 2), make_variant<Shape, 1>(Rectangle(1, 2)));
                  });
              return pack(halved, holds<1>(s), holds<Rectangle>(s), s == halved, s < halved);
            },
            row);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const Shape s = rows[r][i];
      Shape halved;
      if (s.index() == 0) halved = std::get<0>(s) / 2;
      if (s.index() == 1) halved = std::get<1>(std::get<1>(s));
      if (s.index() == 2 && std::get<2>(s) > 10) halved = std::get<2>(s) / 2;
      if (s.index() == 2 && std::get<2>(s) <= 10) halved = Rectangle(1, 2);
      REQUIRE(made[r][i] == std::tuple(halved, s.index() == 1, s.index() == 1, s == halved, s < halved));
    }
}

TEST_CASE("functions of other alternatives are not evaluated") {
  using Number = std::variant<std::int32_t, std::tuple<std::int32_t, std::int32_t>>;
  const Vector<Number> v{Number(3), Number(std::tuple(6, 2)), Number(0)};
  const auto divided = [](auto n) {
    return match(n, [](auto x) { return x; }, [](auto e) { return get<0>(e) / get<1>(e); });
  };
  require_same(agree(map(divided, use(v))), Vector<std::int32_t>{3, 3, 0});
  fails<RunError>(map(divided, use(Vector<Number>{Number(std::tuple(6, 0))})), {"zero"});
}

TEST_CASE("folds, scans and arguments of variants") {
  const auto rows = shape_rows();
  const auto larger = [](auto a, auto b) { return cond(a < b, b, a); };
  const auto largest = everywhere([&](auto row) { return fold(larger, Shape(-1e9), row); }, rows);
  REQUIRE(largest[1][0] == Shape(-1e9));
  Shape most(-1e9);
  for (std::int64_t i = 0; i < rows[0].size(); ++i) most = most < rows[0][i] ? rows[0][i] : most;
  REQUIRE(largest[0][0] == most);
  agree(scanl1(larger, use(rows[0])));
  const auto program = compile<Scalar<Shape>>([](auto s) { return fill(2, the(s)); });
  REQUIRE(agree_on(program, Scalar<Shape>(Shape(4)))[1] == Shape(4));
}

enum class Kind : std::uint8_t { none, half, inverse };

TEST_CASE("switch_ by numbers and by enumerators") {
  const std::vector rows{numbers<std::int32_t>(67), Vector<std::int32_t>{}, Vector<std::int32_t>{0, 1, 2, 3}};
  const auto values = everywhere(
      [](auto row) {
        return map(
            [](auto x) {
              auto kind = cast<std::uint8_t>(x & 3);
              return pack(
                  switch_(kind, case_<Kind::none>(x), case_<Kind::half>([&] { return x / 2; }), -1),
                  switch_(x, case_<3>(2.5), case_<-1>([] { return 1.0; }), [=] { return cast<double>(x); }),
                  switch_(kind, true));
            },
            row);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const std::int32_t x = rows[r][i];
      const int kind = x & 3;
      REQUIRE(values[r][i] == std::tuple(kind == 0   ? x
                                         : kind == 1 ? x / 2
                                                     : -1,
                                         x == 3    ? 2.5
                                         : x == -1 ? 1.0
                                                   : static_cast<double>(x),
                                         true));
    }
}

TEST_CASE("only the case at hand is evaluated") {
  const Vector<std::tuple<std::int64_t, std::int64_t>> v{{0, 0}, {1, 5}, {2, 0}, {-8, 0}};
  const auto f = [](auto e) {
    auto [kind, x] = e;
    return switch_(kind, case_<0>(7), case_<1>([=] { return 10 / x; }), case_<9>([=] { return 20 / x; }), x);
  };
  require_same(agree(map(f, use(v))), Vector<std::int64_t>{7, 2, 0, 0});
  fails<RunError>(map(f, use(Vector<std::tuple<std::int64_t, std::int64_t>>{{1, 5}, {9, 0}})), {"zero"});
}

}  // namespace
}  // namespace anabranch::testing
