#include <thread>

#include "agree.h"

// Programs as values: compiled once, run with arguments,
// from several threads, with several results; large programs.
namespace anabranch::testing {
namespace {

TEST_CASE("a program with arguments") {
  const auto dot = compile<Vector<double>, Vector<double>>(
      [](auto x, auto y) { return fold(plus, 0.0, zip_with(times, x, y)); });
  REQUIRE(agree_on(dot, Vector<double>{1, 2, 3}, Vector<double>{4, 5, 6})[0] == 32);
  REQUIRE(agree_on(dot, Vector<double>{}, Vector<double>{})[0] == 0);
  REQUIRE(agree_on(dot, Vector<double>{1, 2, 3}, Vector<double>{4})[0] == 4);
  REQUIRE(dot(Vector<double>{2}, Vector<double>{3})[0] == 6);
  for (std::int64_t n : border_lengths) agree_on(dot, numbers<double>(n, 1), numbers<double>(n, 2));
  agree_on(dot, numbers<double>(100000, 1), numbers<double>(100001, 2));
}

TEST_CASE("a program that has been prepared compiles nothing when it is run", "[once]") {
  // No other test has these kernels.
  const auto program_of = [](double factor, bool root) {
    return compile<Vector<double>>([=](auto a) {
      return sum(map([=](auto x) { return root ? sqrt(x * factor - 0.5) : x * factor - 0.5; }, a));
    });
  };
  const Vector<double> a{1, 2, 3};
  for (const bool prepared : {true, false}) {
    const auto program = program_of(5.25, prepared);
    if (prepared) program.prepare({.threads = 2});
    RunReport report;
    CHECK(program.run({}, &report, a).size() == 1);
    CHECK((report.kernels_compiled + report.kernels_from_disk == 0) == prepared);
  }
  const auto program = program_of(1, false);
  program.prepare({.backend = Backend::interpreter});
  CHECK_THROWS_AS(program.prepare({.threads = -1}), ProgramError);
  CHECK_THROWS_AS(program.prepare({.require = Expect::streaming}), ProgramError);
}

TEST_CASE("arguments of every rank, and of tuples") {
  using Pair = std::tuple<std::int32_t, bool>;
  const auto program =
      compile<Scalar<std::int32_t>, Matrix<std::int32_t>, Array<4, std::int32_t>, Vector<Pair>>(
          [](auto s, auto m, auto a, auto pairs) {
            auto [numbers, flags] = unzip(pairs);
            return std::tuple(map([=](auto x) { return x * the(s); }, m), sum(a),
                              zip_with([](auto n, auto f) { return cond(f, n, -n); }, numbers, flags));
          });
  const Matrix<std::int32_t> m(Index{2, 2}, {1, 2, 3, 4});
  const auto a = array_of(Index{2, 1, 2, 3}, [](std::int64_t i) { return static_cast<std::int32_t>(i); });
  const auto [scaled, sums, signs] =
      agree_on(program, Scalar<std::int32_t>(3), m, a, Vector<Pair>{{4, true}, {5, false}});
  require_same(scaled, Matrix<std::int32_t>(Index{2, 2}, {3, 6, 9, 12}));
  require_same(sums, Array<3, std::int64_t>(Index{2, 1, 2}, {3, 12, 21, 30}));
  require_same(signs, Vector<std::int32_t>{4, -5});
  agree_on(program, Scalar<std::int32_t>(3), Matrix<std::int32_t>(Index{0, 5}),
           Array<4, std::int32_t>(Index{2, 0, 2, 0}), Vector<Pair>{});
}

TEST_CASE("arguments inside a stream's function, and as a stream") {
  const auto program = compile<Matrix<double>, Vector<double>>([](auto m, auto x) {
    return consume(
        elements(map_seq([=](auto row) { return fold(plus, 0.0, zip_with(times, row, x)); }, rows(m))));
  });
  require_same(agree_on(program, Matrix<double>(Index{2, 3}, {1, 2, 3, 4, 5, 6}), Vector<double>{1, 0, 2}),
               Vector<double>{7, 16});
  require_same(agree_on(program, Matrix<double>(Index{0, 3}), Vector<double>{1, 0, 2}), Vector<double>{});
  agree_on(
      program,
      array_of(Index{70, 130}, [](std::int64_t i) { return number<double>(static_cast<std::uint64_t>(i)); }),
      numbers<double>(130, 5));
}

TEST_CASE("a computation used twice is one") {
  auto x = map([](auto e) { return exp(e); }, use(numbers<double>(100, 1)));
  const auto [a, b, c] = agree(std::tuple(x, sum(x), zip_with(times, x, x)));
  for (std::int64_t i = 0; i < 100; ++i) REQUIRE(c[i] == a[i] * a[i]);
  const auto [p, q] = agree(std::tuple(x, x));
  require_same(p, q);
}

TEST_CASE("one program, many host threads") {
  const auto program = compile<Vector<double>>([](auto x) {
    return consume(elements(
        produce(200, [=](auto i) { return sum(map([=](auto e) { return e + cast<double>(i); }, x)); })));
  });
  const auto x = numbers<double>(300, 1);
  const auto expected = program.run({.backend = Backend::interpreter}, x);
  std::vector<int> good(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < good.size(); ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 10; ++k)
        good[t] +=
            program.run({.threads = static_cast<int>(t % 3) + 1, .scheduler = k % 2 ? "fixed:7" : "adaptive"},
                        x) == expected;
    });
  for (auto& t : threads) t.join();
  REQUIRE(good == std::vector<int>(4, 10));
}

TEST_CASE("programs are built and run in many threads at once") {
  std::vector<int> good(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < good.size(); ++t)
    threads.emplace_back([&, t] {
      for (std::int32_t k = 0; k < 5; ++k) {
        const auto own = static_cast<std::int32_t>(t) * 100 + k;
        const auto out = run(map([=](auto x) { return x * own + k; }, use(Vector<std::int32_t>{1, 2})));
        good[t] += out == Vector<std::int32_t>{own + k, 2 * own + k};
      }
    });
  for (auto& t : threads) t.join();
  REQUIRE(good == std::vector<int>(4, 5));
}

// What took time that grows with the square would not come to its end.
TEST_CASE("a chain of 100000 operations", "[once]") {
  auto v = use(Vector<std::int64_t>{1, 2, 3});
  for (int k = 0; k < 100000; ++k) v = map([](auto x) { return x + 1; }, v);
  require_same(run(v, {.backend = Backend::interpreter}), Vector<std::int64_t>{100001, 100002, 100003});
  const auto program = compile(v);
  require_same(program.run({.backend = Backend::cpu}), Vector<std::int64_t>{100001, 100002, 100003});
  REQUIRE(!program.explain().empty());
}

TEST_CASE("a chain of 100000 scalar operations", "[once]") {
  auto v = map(
      [](auto x) {
        for (int k = 0; k < 100000; ++k) x = x * x + 1;
        return x;
      },
      use(Vector<std::int64_t>{1, 2, 3}));
  const auto values = run(v, {.backend = Backend::interpreter});
  std::uint64_t x = 3;
  for (int k = 0; k < 100000; ++k) x = x * x + 1;
  REQUIRE(values[2] == static_cast<std::int64_t>(x));
}

TEST_CASE("long chains on the CPU") {
  auto v = use(numbers<std::int64_t>(200, 1));
  for (int k = 0; k < 300; ++k) v = map([=](auto x) { return x * 3 + k; }, v);
  agree(v);
  auto s = stream_in(
      std::vector{numbers<std::int64_t>(20, 1), Vector<std::int64_t>{}, numbers<std::int64_t>(70, 2)});
  for (int k = 0; k < 100; ++k)
    s = map_seq([=](auto row) { return map([=](auto x) { return x + k; }, row); }, s);
  agree(consume(elements(s)));
}

}  // namespace
}  // namespace anabranch::testing
