#include <limits>

#include "agree.h"

// Programs that meet values they have no meaning for: the message names the operation, the numbers and the
// line; the next run works.
namespace anabranch::testing {
namespace {

/// "error_test.cpp:<the line of the call> + below".
std::string line(int below = 0, Loc at = Loc::current()) {
  return "error_test.cpp:" + std::to_string(static_cast<int>(at.line()) + below) + ")";
}

const Vector<double> table{1.0, 2.0, 3.0, 4.0, 5.0};

TEST_CASE("a gather out of range, outside and inside a sequence") {
  for (std::int32_t wrong : {5, 1000000, -1, std::numeric_limits<std::int32_t>::min()}) {
    const Vector<std::int32_t> ix{0, 4, wrong, 1};
    const std::vector<std::string> parts{"gather", std::to_string(wrong), "0..4", line(1)};
    const auto outside = gather(use(ix), use(table));
    fails<RunError>(outside, parts);
    const std::vector rows{Vector<std::int32_t>{0, 1}, Vector<std::int32_t>{}, ix, Vector<std::int32_t>{3}};
    const std::vector<std::string> inside{"gather", std::to_string(wrong), "0..4", line(1)};
    auto body = [&](auto row) { return gather(row, use(table)); };
    fails<RunError>(consume(elements(map_seq(body, stream_in(rows)))), inside);
    fails<RunError>(consume(elements(map_seq([&](auto row) { return sum(body(row)); }, stream_in(rows)))),
                    inside);
    fails<RunError>(consume(elements(map_seq(body, stream_in(regular(Index{4}), std::vector{ix})))), inside);
  }
  fails<RunError>(gather(use(Vector<std::int64_t>{0}), use(Vector<double>{})), {"gather", "empty", line()});
}

TEST_CASE("an index out of range") {
  auto v = use(table);
  auto m = use(Matrix<double>(Index{2, 3}, {1, 2, 3, 4, 5, 6}));
  fails<RunError>(unit(v[5]), {"index", "5", "0..4", line()});
  fails<RunError>(unit(v[-1]), {"index", "-1", line()});
  fails<RunError>(unit(v.linear(7)), {"index", "7", "0..4", line()});
  fails<RunError>(unit(m[index_of(1, 3)]), {"index", "3", "0..2", line()});
  fails<RunError>(unit(m[index_of(2, 0)]), {"index", "2", "0..1", line()});
  fails<RunError>(unit(m.linear(6)), {"index", "6", "0..5", line()});
  fails<RunError>(map([=](auto x) { return v[cast<std::int64_t>(x)]; }, v), {"index", "5", "0..4", line()});
}

TEST_CASE("backpermute and slice out of range") {
  auto m = use(Matrix<double>(Index{2, 3}, {1, 2, 3, 4, 5, 6}));
  const auto diagonal = [](auto ix) { return index_of(ix[0], ix[0]); };
  fails<RunError>(backpermute(index_of(3), diagonal, m), {"backpermute", "2", "0..1", line()});
  fails<RunError>(slice(m, 2, all), {"slice", "2", "0..1", line()});
  fails<RunError>(slice(m, all, -1), {"slice", "-1", line()});
  fails<RunError>(sum(slice(m, all, 3)), {"slice", "3", "0..2", line()});
  const auto at = std::vector{Scalar<std::int64_t>(0), Scalar<std::int64_t>(1), Scalar<std::int64_t>(2)};
  auto body = [=](auto i) { return slice(m, the(i), all); };
  fails<RunError>(consume(elements(map_seq(body, stream_in(at)))), {"slice", "2", "0..1", line(-1)});
}

TEST_CASE("integer division") {
  const std::int32_t lowest = std::numeric_limits<std::int32_t>::min();
  const Vector<std::int32_t> zero{4, 0}, minus_one{7, -1};
  fails<RunError>(map([](auto x) { return 7 / x; }, use(zero)), {"divide", "7", "by zero", line()});
  fails<RunError>(map([](auto x) { return 7 % x; }, use(zero)), {"remainder", "7", "zero", line()});
  fails<RunError>(map([=](auto x) { return lowest / x; }, use(minus_one)),
                  {"divide", "-2147483648 by -1 overflows", line(-1)});
  fails<RunError>(map([=](auto x) { return lowest % x; }, use(minus_one)),
                  {"remainder", "-2147483648 by -1 overflows", line(-1)});
  const Vector<std::int64_t> wide{7, -1};
  fails<RunError>(map([=](auto x) { return std::numeric_limits<std::int64_t>::min() / x; }, use(wide)),
                  {"divide", line(-1)});
  fails<RunError>(map([](auto x) { return Exp(std::int8_t{-128}) / x; }, use(Vector<std::int8_t>{-1})),
                  {"division of -128 by -1 overflows"});
  fails<RunError>(map([](auto x) { return Exp(~std::uint64_t{0}) % x; }, use(Vector<std::uint64_t>{1, 0})),
                  {"remainder: integer division of 18446744073709551615 by zero"});
  fails<RunError>(map([](auto x) { return Exp(std::uint16_t{7}) / x; }, use(Vector<std::uint16_t>{0})),
                  {"divide", "7 by zero", line(-1)});
  fails<RunError>(map([](auto x) { return Exp(std::uint8_t{7}) / x; }, use(Vector<std::uint8_t>{0})),
                  {"divide", line(-1)});
  // The dividend of the element that failed, in whatever lane.
  const auto numbers = vector_of(100, [](std::int64_t i) { return static_cast<std::int32_t>(i); });
  fails<RunError>(map([](auto x) { return (x - 1000) / (x - 37); }, use(numbers)),
                  {"divide", "-963", "zero", line(-1)});
  fails<RunError>(map([](auto x) { return cond(x > 37, (1000 - x) / (x - 77), x); }, use(numbers)),
                  {"divide", "923", "zero", line(-1)});
  // In a stream, reduced, behind a condition that lets one through.
  const std::vector rows{Vector<std::int32_t>{1, 2}, Vector<std::int32_t>{},
                         vector_of(100, [](std::int64_t i) { return static_cast<std::int32_t>(99 - i); })};
  auto inverse = [](auto row) { return sum(map([](auto x) { return cond(x > 50, x, 100 / x); }, row)); };
  fails<RunError>(consume(elements(map_seq(inverse, stream_in(rows)))), {"divide", "zero", line(-1)});
  // On floats it is no error.
  REQUIRE(agree(map([](auto x) { return 1.0 / x; }, use(Vector<double>{0.0})))[0] ==
          std::numeric_limits<double>::infinity());
}

TEST_CASE("an error of an operand that does not matter for the result appears") {
  const auto a = use(Vector<std::int64_t>{1, 2, 0});
  const auto none = [](auto x) { return x - x; };
  const auto same = [](auto x) { return x == x; };
  const auto less = [](auto x) { return x < x; };
  fails<RunError>(map([=](auto x) { return none(5 / x); }, a), {"divide", "5 by zero", line()});
  fails<RunError>(map([=](auto x) { return same(5 / x); }, a), {"divide", "5 by zero", line()});
  fails<RunError>(map([=](auto x) { return less(a[x + 1]); }, a), {"out of range", line()});
}

TEST_CASE("scalar code with thousands of conditionals inside each other") {
  const auto cases = [](auto x, int number) {
    auto found = x;
    for (int i = 0; i < number; ++i) found = cond(x == i, 7 * i, found);
    return found;
  };
  const Vector<std::int64_t> a{0, 1, 999, 1000, 1001, 2498, 2499, 2500, -1};
  const auto found = agree(map([=](auto x) { return cases(x, 2500); }, use(a)));
  for (std::int64_t i = 0; i < a.size(); ++i) CHECK(found[i] == (a[i] >= 0 && a[i] < 2500 ? 7 * a[i] : a[i]));
  // What may fail is evaluated under its conditions only, and code generators nest these.
  const auto divided = map(
      [](auto x) {
        auto y = x;
        for (int i = 0; i < 1100; ++i) y = cond(x == i, x / (x - i - 1), y);
        return y;
      },
      use(a));
  CHECK_THROWS_WITH(compile(divided), Catch::Contains("nested too deeply") && Catch::Contains("1000") &&
                                          Catch::Contains(line(-4)));
  CHECK_THROWS_AS(compile(divided), ProgramError);
}

TEST_CASE("reductions without a seed refuse empty rows") {
  fails<RunError>(minimum(use(Vector<double>{})), {"minimum", line()});
  fails<RunError>(maximum(use(Vector<std::int32_t>{})), {"maximum", line()});
  fails<RunError>(fold1(plus, use(Vector<double>{})), {"fold1", line()});
  fails<RunError>(minimum(use(Matrix<double>(Index{3, 0}))), {"minimum", line()});
  REQUIRE(agree(minimum(use(Matrix<double>(Index{0, 3})))).size() == 0);
  REQUIRE(agree(minimum(use(Matrix<double>(Index{0, 0})))).size() == 0);
  const std::vector rows{Vector<double>{1.0}, Vector<double>{}, Vector<double>{2.0}};
  auto body = [](auto row) { return maximum(row); };
  fails<RunError>(consume(elements(map_seq(body, stream_in(rows)))), {"maximum", line(-1)});
  auto seq = stream_in(regular(Index{0}), std::vector{Vector<double>{}});
  fails<RunError>(consume(elements(map_seq(body, seq))), {"maximum", line(-3)});
  require_same(agree(consume(elements(map_seq(body, stream_in(std::vector<Vector<double>>()))))),
               Vector<double>{});
}

TEST_CASE("extents below zero") {
  fails<RunError>(generate(size(use(table)) - 7, [](auto i) { return i; }), {"generate", "-2", line()});
  fails<RunError>(fill(index_of(3, Exp<std::int64_t>(-1)), Exp(1.0)), {"fill", "-1", line()});
  fails<RunError>(replicate(use(table), size(use(table)) - 6, all), {"replicate", "-1", line()});
  const std::vector rows{Vector<double>{1.0, 2.0, 3.0}, Vector<double>{1.0}};
  auto body = [](auto row) { return generate(size(row) - 2, [](auto i) { return i; }); };
  fails<RunError>(consume(elements(map_seq(body, stream_in(rows)))), {"generate", "-1", line(-1)});
  auto again = [](auto row) { return generate(size(row) - 2, [](auto i) { return i; }); };
  fails<RunError>(consume(elements(map_seq(again, stream_in(regular(Index{1}), std::vector{rows[1]})))),
                  {"generate", "-1", line(-2)});
  auto fewer = produce(the(use(Scalar<std::int64_t>(-3))), [](auto i) { return unit(i); });
  fails<RunError>(consume(elements(fewer)), {"produce", "-3", line(-1)});
}

TEST_CASE("an array with more elements than anyone can have") {
  const std::int64_t many = std::int64_t{1} << 40;
  fails<RunError>(fill(index_of(use(Vector<std::int64_t>{many})[0], many), Exp(1.0)),
                  {"fill", "1099511627776", line(-1)});
  const std::int64_t wide = std::int64_t{1} << 60;  // the bytes overflow
  fails<RunError>(generate(wide, [](auto i) { return i; }), {"generate", std::to_string(wide), line()});
  fails<ResourceError>(generate(std::int64_t{1} << 45, [](auto i) { return i; }),
                       {"generate", "281474976710656 bytes", line(-1)});
}

template <class F>
std::string refused(F&& f) {
  try {
    f();
  } catch (const ProgramError& e) {
    return e.what();
  }
  return "no ProgramError";
}

TEST_CASE("dimensions that are not there") {
  auto v = use(table);
  auto m = use(Matrix<double>(Index{2, 2}));
  const auto one = [](auto ix) { return ix[3]; };
  const std::string at_one = line(-1);
  REQUIRE(refused([&] { extent(v, 7); }) ==
          "extent: there is no dimension 7 in an array of rank 1 (" + line());
  REQUIRE(refused([&] { generate(Index{3}, one); }) ==
          "index: there is no dimension 3 in an array of rank 1 (" + at_one);
  REQUIRE(refused([&] { shape(m)[-1]; }) ==
          "index: there is no dimension -1 in an array of rank 2 (" + line());
  REQUIRE(refused([&] { transpose(m, {0, 0}); }) ==
          "transpose: (0, 0) is no permutation of the dimensions 0..1 (" + line());
  REQUIRE(refused([&] { transpose(m, {0, 2}); }) ==
          "transpose: (0, 2) is no permutation of the dimensions 0..1 (" + line());
  REQUIRE(refused([&] { sum(m, 2); }) == "sum: there is no dimension 2 in an array of rank 2 (" + line());
}

TEST_CASE("reshape wants as many elements as there are") {
  fails<RunError>(reshape(Index{2, 3}, use(table)), {"reshape", "1 more element than", line()});
  fails<RunError>(reshape(index_of(size(use(table)) + 1), use(table)),
                  {"reshape", "1 more element than", line(-1)});
  const std::vector rows{Vector<double>{1, 2}, Vector<double>{1, 2, 3, 4}, Vector<double>{1, 2, 3}};
  auto pairs = [](auto row) { return reshape(index_of(size(row) / 2, 2), row); };
  fails<RunError>(consume(elements(map_seq(pairs, stream_in(rows)))),
                  {"reshape", "1 fewer element than", line(-2)});
  fails<RunError>(consume(elements(map_seq(pairs, stream_in(regular(Index{3}), std::vector{rows[2]})))),
                  {"reshape", "1 fewer element than", line(-4)});
  REQUIRE(agree(consume(elements(map_seq(pairs, stream_in(std::vector{rows[0], rows[1]}))))).size() == 6);
}

TEST_CASE("an error says its line and its item apart from its message") {
  const std::vector rows{Vector<std::int64_t>{0, 1}, Vector<std::int64_t>{}, Vector<std::int64_t>{2, 5}};
  const auto picked =
      consume(elements(map_seq([](auto row) { return gather(row, use(table)); }, stream_in(rows))));
  const std::uint32_t line_of_gather = Loc::current().line() - 1;
  try {
    run(picked);
    FAIL("nothing was thrown");
  } catch (const RunError& e) {
    CHECK(e.place().line == line_of_gather);
    CHECK(std::string(e.place().file.view()).ends_with("error_test.cpp"));
    CHECK(e.item() == 2);
    CHECK_THAT(e.what(),
               Catch::Matchers::Contains("in item 2 (error_test.cpp:" + std::to_string(line_of_gather)));
  }
  const auto outside = gather(use(Vector<std::int64_t>{5}), use(table));
  try {
    run(outside);
    FAIL("nothing was thrown");
  } catch (const RunError& e) {
    CHECK(e.place().line == Loc::current().line() - 5);
    CHECK(e.item() < 0);
  }
  try {
    sum(use(table), 7);
    FAIL("nothing was thrown");
  } catch (const ProgramError& e) {
    CHECK(e.place().line == Loc::current().line() - 3);
  }
  CHECK_FALSE(Error("no place").place().known());
}

TEST_CASE("the run after an error works") {
  const auto program =
      compile<Vector<std::int32_t>, Vector<double>>([](auto ix, auto t) { return gather(ix, t); });
  const auto streamed = compile<Vector<double>>(
      [](auto t) { return consume(elements(produce(5, [=](auto i) { return unit(t[i]); }))); });
  for (const RunOptions& options : configurations()) {
    REQUIRE_THROWS_AS(program.run(options, Vector<std::int32_t>{9}, table), RunError);
    require_same(program.run(options, Vector<std::int32_t>{2, 0}, table), Vector<double>{3.0, 1.0});
    REQUIRE_THROWS_AS(streamed.run(options, Vector<double>{1.0, 2.0}), RunError);
    require_same(streamed.run(options, table), table);
  }
}

TEST_CASE("a fold along a dimension that is not there") {
  REQUIRE_THROWS_AS(sum(use(table), 1), ProgramError);
  REQUIRE_THROWS_AS(sum(use(table), -1), ProgramError);
  REQUIRE_THROWS_WITH(fold(plus, 0.0, use(table), 3),
                      Catch::Contains("3") && Catch::Contains("error_test.cpp"));
}

TEST_CASE("host arrays refuse what they cannot hold") {
  REQUIRE_THROWS_AS(Vector<double>(Index{std::int64_t{-1}}), RunError);
  REQUIRE_THROWS_AS(Matrix<double>(Index{std::int64_t{1} << 40, std::int64_t{1} << 40}), RunError);
  REQUIRE_THROWS_AS(Vector<double>(Index{3}, {1.0, 2.0}), RunError);
}

}  // namespace
}  // namespace anabranch::testing
