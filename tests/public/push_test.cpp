#include <atomic>
#include <ranges>
#include <thread>

#include "agree.h"
#include "io/matrix_files.h"
#include "support/trace_file.h"

// Programs that are driven by pushing items into them.
namespace anabranch::testing {
namespace {

using Row = Vector<double>;

const auto doubled = [](auto row) { return map([](auto x) { return x * 2.0; }, row); };
const auto all_doubled = [](const Seq<Row>& s) { return map_seq(doubled, s); };

std::vector<Row> some_rows(std::size_t n) {
  std::vector<Row> rows;
  for (std::uint64_t i = 0; i < n; ++i)
    rows.push_back(numbers<double>(static_cast<std::int64_t>((i * 5) % 7), i));
  return rows;
}

/// Every scheduler with every number of threads, and the interpreter.
std::vector<RunOptions> all_options() {
  std::vector<RunOptions> options{{.backend = Backend::interpreter}};
  for (const char* scheduler : {"adaptive", "paper", "fixed:1", "fixed:7", "fixed:1000000"})
    for (const int threads : {1, 2, 4}) options.push_back({.threads = threads, .scheduler = scheduler});
  return options;
}

/// What has been computed and not been taken.
template <class S>
void drain(S& stream, HostArrays& out) {
  while (const auto item = stream.pop())
    for (const HostArray& array : arrays_of(*item)) out.push_back(array);
}

/// The items of f of these, pushed and taken in several ways, are those that stream_out gives.
template <class In, class F>
void check_pushed(F f, const std::vector<In>& items, Loc at = Loc::current()) {
  HostArrays expected;
  for (const auto& item : stream_out(f(stream_in(items)), {.backend = Backend::interpreter}))
    for (const HostArray& array : arrays_of(item)) expected.push_back(array);
  const auto same_as_expected = [&](const HostArrays& got) {
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) require_same(got[i], expected[i], at);
  };
  for (const RunOptions& options : all_options()) {
    INFO(to_string(options));
    HostArrays at_end, polled, popped, given;
    auto all = push_stream<In>(f, options);
    for (const In& item : items) all.push(item);
    all.finish();
    drain(all, at_end);
    same_as_expected(at_end);

    auto one_by_one = push_stream<In>(f, options, {.seconds = 0});
    for (const In& item : items) {
      REQUIRE(one_by_one.try_push(item));
      while (const auto out = one_by_one.poll())
        for (const HostArray& array : arrays_of(*out)) polled.push_back(array);
    }
    one_by_one.finish();
    drain(one_by_one, polled);
    same_as_expected(polled);

    auto eager = push_stream<In>(f, options);
    for (const In& item : items) {
      eager.push(item);
      drain(eager, popped);
    }
    eager.finish();
    drain(eager, popped);
    same_as_expected(popped);

    auto calls = push_stream<In>(
        f,
        [&](const auto& out) {
          for (const HostArray& array : arrays_of(out)) given.push_back(array);
        },
        options);
    for (const In& item : items) calls.push(item);
    calls.finish();
    same_as_expected(given);
  }
}

TEST_CASE("push: the results of stream_out, in order") {
  const auto rows = some_rows(40);
  check_pushed(all_doubled, rows);
  check_pushed(all_doubled, std::vector<Row>{});
  check_pushed(all_doubled, std::vector<Row>(10, Row{}));
  check_pushed([](const auto& s) { return map_seq([](auto row) { return sum(row); }, s); }, rows);
  check_pushed([](const auto& s) { return s; }, rows);
  check_pushed(
      [](const auto& s) { return map_seq([](auto row) { return std::tuple(row, unit(size(row))); }, s); },
      rows);
  const std::vector<Matrix<float>> matrices{Matrix<float>(Index{2, 3}), Matrix<float>(Index{0, 5}),
                                            Matrix<float>(Index{4, 1})};
  check_pushed([](const auto& s) { return map_seq([](auto m) { return fold(plus, 1.0F, m); }, s); },
               matrices);
  // Beside another stream, and with one that ends before.
  const std::vector<Row> others(25, Row{1.0, 2.0, 3.0});
  check_pushed(
      [&](const auto& s) {
        return zip_with_seq([](auto a, auto b) { return zip_with(plus, a, b); }, s, stream_in(others));
      },
      rows);
  check_pushed([](const auto& s) { return take_seq(11, s); }, rows);
  // Other items than those that are pushed.
  const auto is_long = [](auto row) { return size(row) > 2; };
  check_pushed([=](const auto& s) { return map_seq(doubled, filter_seq(is_long, s)); }, rows);
  check_pushed([](const auto& s) { return drop_seq(7, s); }, rows);
  check_pushed(
      [](const auto& s) { return take_while_seq([](auto row) { return size(row) != 1; }, drop_seq(4, s)); },
      rows);
  check_pushed([](const auto& s) { return windows(s, 5, 2); }, rows);
  check_pushed([](const auto& s) { return append_seq(s, stream_in(std::vector<Row>{Row{9.0}})); }, rows);
  // What does not depend on the items is computed before.
  const auto table = use(numbers<double>(7, 3));
  check_pushed(
      [=](const auto& s) {
        return map_seq([=](auto row) { return map([=](auto x) { return x / the(sum(table)); }, row); }, s);
      },
      rows);
}

TEST_CASE("push: items of several arrays") {
  for (const RunOptions& options : all_options()) {
    auto stream = push_stream<std::tuple<Vector<float>, Scalar<std::int32_t>>>(
        [](auto s) {
          return map_seq(
              [](auto v, auto n) { return map([=](auto x) { return x * cast<float>(the(n)); }, v); }, s);
        },
        options);
    for (std::int32_t i = 0; i < 20; ++i) {
      const Vector<float> v{1.0F, static_cast<float>(i)};
      if (i % 2 == 0)
        stream.push(v, Scalar<std::int32_t>(i));
      else
        REQUIRE(stream.try_push({v, Scalar<std::int32_t>(i)}));
    }
    stream.finish();
    for (int i = 0; i < 20; ++i) {
      const auto out = stream.pop();
      REQUIRE(out);
      CHECK((*out)[0] == static_cast<float>(i));
      CHECK((*out)[1] == static_cast<float>(i * i));
    }
    CHECK(!stream.pop());
  }
}

TEST_CASE("push: values of terminals at the end") {
  const auto rows = some_rows(50);
  const auto program = [](const Seq<Row>& s) {
    auto [halves, totals] = unzip_seq(
        map_seq([](auto row) { return std::tuple(map([](auto x) { return x / 2; }, row), sum(row)); }, s));
    auto sums = consume(elements(totals));
    return std::tuple(consume(elements(halves)), sums, map([=](auto x) { return x / the(sum(sums)); }, sums));
  };
  const auto [halves, sums, shares] = run(program(stream_in(rows)), {.backend = Backend::interpreter});
  for (const RunOptions& options : all_options()) {
    INFO(to_string(options));
    auto stream = push_stream<Row>(program, options);
    for (const Row& row : rows) stream.push(row);
    const auto [a, b, c] = stream.finish();
    require_same(a, halves);
    require_same(b, sums);
    require_same(c, shares);
    auto none = push_stream<Row>([](auto s) { return consume(tabulate(s)); }, options);
    CHECK(none.finish().size() == 0);
  }
}

TEST_CASE("push: terminals that share the pass") {
  const auto rows = some_rows(50);
  const auto program = [](const Seq<Row>& s) {
    return std::tuple(consume(elements(s)), consume(elements(map_seq(doubled, s))));
  };
  for (const RunOptions& options : all_options()) {
    auto stream = push_stream<Row>(program, options);
    for (const Row& row : rows) stream.push(row);
    const auto [all, twice] = stream.finish();
    REQUIRE(all.size() == twice.size());
    for (std::int64_t i = 0; i < all.size(); ++i) REQUIRE(twice[i] == 2.0 * all[i]);
    CHECK(all.size() > 100);
  }
}

TEST_CASE("push: an item is copied when it is pushed") {
  Row row{1.0, 2.0};
  auto stream = push_stream<Row>(all_doubled, {.scheduler = "fixed:3"});
  for (int i = 0; i < 3; ++i) {
    row.set(0, static_cast<double>(i));
    stream.push(row);
  }
  for (int i = 0; i < 3; ++i) CHECK((*stream.pop())[0] == 2.0 * i);
}

TEST_CASE("push: who pushes rarely gets the result out of the same call") {
  std::vector<double> given;
  auto stream = push_stream<Row>(all_doubled, [&](const Row& row) { given.push_back(row[0]); });
  for (int i = 0; i < 5; ++i) {
    stream.push(Row{static_cast<double>(i)});
    CHECK(given.size() == static_cast<std::size_t>(i + 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST_CASE("push: flush computes what has been gathered") {
  std::size_t given = 0;
  auto stream = push_stream<Row>(all_doubled, [&](const Row&) { ++given; }, {.scheduler = "fixed:100"});
  for (std::size_t i = 0; i < 7; ++i) stream.push(Row{1.0});
  CHECK(given == 0);
  stream.flush();
  CHECK(given == 7);
  stream.flush();
  stream.finish();
  CHECK(given == 7);
}

TEST_CASE("push: results that are not taken") {
  auto stream = push_stream<Row>(all_doubled, {}, {.seconds = 0, .items = 3});
  int taken = 0;
  for (int i = 0; i < 3; ++i) REQUIRE(stream.try_push(Row{static_cast<double>(i)}));
  CHECK_FALSE(stream.try_push(Row{3.0}));
  CHECK((*stream.poll())[0] == 2.0 * taken++);
  REQUIRE(stream.try_push(Row{3.0}));
  CHECK_FALSE(stream.try_push(Row{4.0}));
  // Another thread takes, and push waits for it.
  std::jthread taker([&] {
    while (taken < 40)
      if (const auto row = stream.poll()) CHECK((*row)[0] == 2.0 * taken++);
  });
  for (int i = 4; i < 40; ++i) stream.push(Row{static_cast<double>(i)});
  taker.join();
  CHECK(taken == 40);
  auto large = push_stream<Row>(all_doubled, {}, {.seconds = 0, .bytes = 1000});
  REQUIRE(large.try_push(Row(Index{1000})));
  CHECK_FALSE(large.try_push(Row{1.0}));
  CHECK(large.pop());
  CHECK(large.try_push(Row{1.0}));
}

TEST_CASE("push: from several threads") {
  std::atomic<std::int64_t> sum = 0;
  auto stream = push_stream<Vector<std::int64_t>>(
      [](auto s) { return map_seq([](auto v) { return anabranch::sum(v); }, s); },
      [&](const Scalar<std::int64_t>& n) { sum += n[Index{}]; });
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (std::int64_t i = 0; i < 500; ++i) stream.push(Vector<std::int64_t>{i, 1});
      });
  }
  stream.finish();
  CHECK(sum == 4 * (499 * 500 / 2 + 500));
}

TEST_CASE("push: an error comes out once, after all results before it") {
  const auto inverse = [](auto s) {
    return map_seq([](auto n) { return map([](auto x) { return 100 / x; }, n); }, s);
  };
  for (const RunOptions& options : all_options())
    for (const std::int64_t bad : {0, 3, 19}) {
      INFO(to_string(options) << ", item " << bad);
      auto stream = push_stream<Vector<std::int64_t>>(inverse, options);
      std::string error;
      const auto or_error = [&](const auto& call) {
        try {
          call();
          return true;
        } catch (const RunError& e) {
          error = e.what();
          return false;
        }
      };
      bool fine = true;
      for (std::int64_t i = 0; i < 20 && fine; ++i)
        fine = or_error([&] { stream.push(Vector<std::int64_t>{i == bad ? 0 : i + 1}); });
      if (fine) fine = or_error([&] { stream.finish(); });
      REQUIRE_FALSE(fine);
      CHECK_THAT(error, Catch::Contains("zero") && Catch::Contains("push_test.cpp"));
      if (options.backend != Backend::interpreter)
        CHECK_THAT(error, Catch::Contains("item " + std::to_string(bad)));
      std::int64_t taken = 0;
      while (const auto out = stream.pop()) CHECK((*out)[0] == 100 / ++taken);
      CHECK(taken == (options.backend == Backend::interpreter ? taken : bad));
      const auto refused = Catch::Contains("push: the stream has failed: " + error);
      CHECK_THROWS_WITH(stream.push(Vector<std::int64_t>{1}), refused);
      CHECK_THROWS_WITH(stream.flush(), refused);
      CHECK_THROWS_WITH(stream.finish(), refused);
      CHECK(!stream.pop());
    }
  for (const RunOptions& options : all_options()) {
    auto totals =
        push_stream<Vector<std::int64_t>>([&](auto s) { return consume(elements(inverse(s))); }, options);
    const auto all = [&] {
      for (std::int64_t i = 5; i >= 0; --i) totals.push(Vector<std::int64_t>{i});
      totals.finish();
    };
    CHECK_THROWS_WITH(all(), Catch::Contains("zero"));
    CHECK_THROWS_WITH(totals.finish(), Catch::Contains("the stream has failed"));
  }
}

TEST_CASE("push: what the function throws that is given the results") {
  for (const int bad : {0, 4, 9}) {
    int given = 0;
    auto stream = push_stream<Row>(all_doubled, [&](const Row&) {
      if (given++ == bad) throw std::out_of_range("enough");
    });
    const auto all = [&] {
      for (int i = 0; i < 10; ++i) stream.push(Row{1.0});
      stream.finish();
    };
    CHECK_THROWS_AS(all(), std::out_of_range);
    CHECK(given == bad + 1);
    CHECK_THROWS_AS(stream.finish(), RunError);
    CHECK(given == bad + 1);
  }
  // It is no error of the program, also where it is of that type.
  int given = 0;
  auto stream = push_stream<Row>(all_doubled,
                                 [&](const Row&) {
                                   ++given;
                                   throw RunError("mine");
                                 },
                                 {.scheduler = "fixed:8"});
  for (int i = 0; i < 7; ++i) stream.push(Row{1.0});
  CHECK_THROWS_WITH(stream.push(Row{1.0}), "mine");
  CHECK(given == 1);
}

TEST_CASE("push: a stream cannot be used by the function that its results are given to") {
  std::function<void()> call;
  auto stream = push_stream<Row>(all_doubled, [&](const Row&) { call(); }, {}, {.seconds = 0});
  call = [&] { stream.push(Row{1.0}); };
  CHECK_THROWS_WITH(stream.push(Row{1.0}), Catch::Contains("the function that results are given to"));
}

TEST_CASE("push: after the end, and after what ends the stream") {
  for (const RunOptions& options : all_options()) {
    auto stream = push_stream<Row>(all_doubled, options);
    stream.push(Row{1.0});
    stream.finish();
    CHECK_THROWS_WITH(stream.push(Row{1.0}), Catch::Contains("push: the stream is finished"));
    CHECK_THROWS_AS(stream.try_push(Row{1.0}), RunError);
    CHECK_THROWS_AS(stream.flush(), RunError);
    CHECK_THROWS_AS(stream.finish(), RunError);
    CHECK(stream.pop());
    CHECK(!stream.pop());
  }
  auto few = push_stream<Row>([](auto s) { return take_seq(2, s); }, {}, {.seconds = 0});
  for (int i = 0; i < 100; ++i) few.push(Row{1.0});
  CHECK(few.over());
  few.finish();
  CHECK((few.pop() && few.pop()));
  CHECK(!few.pop());
}

TEST_CASE("push: a stream that is not finished forgets what has been gathered") {
  for (const RunOptions& options : all_options()) {
    int given = 0;
    {
      auto stream = push_stream<Row>(all_doubled, [&](const Row&) { ++given; }, options);
      for (int i = 0; i < 3; ++i) stream.push(Row{1.0});
      auto moved = std::move(stream);
      moved.push(Row{1.0});
    }
    CHECK(given <= 4);
    auto unused = push_stream<Row>(all_doubled, options);
  }
}

TEST_CASE("push: a stop request") {
  std::stop_source stop;
  auto stream = push_stream<Row>(all_doubled, {.stop = stop.get_token()}, {.seconds = 0, .items = 2});
  stream.push(Row{1.0});
  stream.push(Row{1.0});
  std::jthread stopper([&] { stop.request_stop(); });
  // It waits for results to be taken, or finds the request.
  CHECK_THROWS_AS(stream.push(Row{1.0}), Cancelled);
  CHECK(stream.pop());
  CHECK_THROWS_AS(stream.push(Row{1.0}), RunError);
  const auto forever = [](auto row) {
    return map(
        [](auto x) { return while_loop([](auto y) { return y >= 0.0; }, [](auto y) { return y + 1.0; }, x); },
        row);
  };
  std::stop_source later;
  auto endless = push_stream<Row>([&](auto s) { return map_seq(forever, s); }, {.stop = later.get_token()});
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    later.request_stop();
  });
  CHECK_THROWS_AS(endless.push(Row{1.0}), Cancelled);
}

TEST_CASE("push: within a memory bound") {
  auto stream = push_stream<Row>(all_doubled, {.memory = 400'000});
  int taken = 0;
  for (int i = 0; i < 300; ++i) {
    stream.push(numbers<double>(i % 50 == 49 ? 15'000 : i % 7, 1));
    while (const auto row = stream.poll()) taken += row->size() >= 0;
  }
  stream.finish();
  while (stream.pop()) ++taken;
  CHECK(taken == 300);
  auto small = push_stream<Row>(all_doubled, {.memory = 10'000});
  small.push(Row{1.0});
  CHECK_THROWS_WITH(small.push(Row(Index{100'000})),
                    Catch::Contains("item 1 takes") && Catch::Contains("push_test.cpp"));
}

TEST_CASE("push: results wait in a quarter of the memory bound") {
  auto stream = push_stream<Row>(all_doubled, {.memory = 1 << 20});
  int pushed = 0, taken = 0;
  while (pushed < 1000)
    if (stream.try_push(Row(Index{1000})))
      ++pushed;
    else
      while (stream.poll()) ++taken;
  CHECK(taken > 500);
  std::jthread taker([&] {
    while (taken < 2000)
      if (stream.poll()) ++taken;
  });
  while (pushed < 2000) stream.push(Row(Index{1000})), ++pushed;
  stream.flush();
  taker.join();
  CHECK(taken == 2000);
}

TEST_CASE("push: progress after every chunk, and a timeline") {
  const io_test::TemporaryDirectory dir;
  std::vector<Progress> seen;
  const RunOptions options{.scheduler = "fixed:4",
                           .progress = [&](const Progress& p) { seen.push_back(p); },
                           .trace = dir / "t.json"};
  {
    auto stream = push_stream<Row>(all_doubled, options);
    for (int i = 0; i < 10; ++i) stream.push(Row{1.0});
    stream.finish();
  }
  REQUIRE(seen.size() == 3);
  CHECK(seen[1].items == 8);
  CHECK(seen[2].items == 10);
  CHECK(seen[2].chunks == 3);
  const TraceFile file(dir / "t.json");
  CHECK(file.row("compute").size() == 3);
  CHECK(file.row("read").size() == 3);
}

TEST_CASE("push: what cannot be pushed") {
  const auto with_total = [](auto s) {
    auto total = sum(consume(elements(s)));
    return map_seq([=](auto row) { return map([=](auto x) { return x / the(total); }, row); }, s);
  };
  for (const Backend backend : {Backend::cpu, Backend::interpreter}) {
    const RunOptions options{.backend = backend};
    CHECK_THROWS_WITH(
        push_stream<Row>(with_total, options),
        Catch::Contains("push_stream: what is pushed passes once") && Catch::Contains("push_test.cpp"));
    // Two streams with other items than one another: each is read at its own pace.
    const auto at_two_paces = [](auto s) {
      const auto some = filter_seq([](auto row) { return unit(size(row) > 2); }, s);
      return std::tuple(consume(elements(s)), consume(elements(some)));
    };
    CHECK_THROWS_WITH(push_stream<Row>(at_two_paces, options),
                      Catch::Contains("push_stream: what is pushed passes once, and it is read at") &&
                          Catch::Contains("and again at"));
    // One behind the other is two passes; beside each other they are one.
    for (const auto& twice : std::vector<std::function<Seq<Row>(const Seq<Row>&)>>{
             [](const auto& s) { return append_seq(s, s); },
             [](const auto& s) { return append_seq(take_seq(2, s), s); },
             [](const auto& s) { return append_seq(s, append_seq(s, s)); },
             [](const auto& s) {
               return append_seq(filter_seq([](auto row) { return size(row) > 2; }, s), s);
             }})
      CHECK_THROWS_WITH(push_stream<Row>(twice, options),
                        Catch::Contains("push_stream: what is pushed passes once, and it is read at"));
    const auto beside = [](auto s) {
      return zip_with_seq([](auto x, auto y) { return unit(the(sum(x)) + the(sum(y))); }, s,
                          append_seq(s, s));
    };
    auto sums = push_stream<Row>(beside, options);
    for (const double x : {1.0, 2.0, 3.0}) sums.push(Row{x});
    sums.finish();
    for (const double x : {2.0, 4.0, 6.0}) CHECK((*sums.pop())[Index{}] == x);
    CHECK_THROWS_WITH(push_stream<Row>([](auto) { return stream_in(std::vector<Row>{}); }, options),
                      Catch::Contains("does not read what is pushed"));
  }
  // Functions that change themselves, and such as can only be moved.
  int asked = 0;
  auto counts = std::make_unique<int>(0);
  const auto all_of = [&asked](const auto& s) mutable {
    ++asked;
    return all_doubled(s);
  };
  auto given = push_stream<Row>(
      all_of, [counts = std::move(counts), &asked](const Row&) mutable { asked = 10 + ++*counts; });
  given.push(Row{1.0});
  given.push(Row{1.0});
  given.finish();
  CHECK(asked == 12);
  Row row{1.0};
  const Row other = std::move(row);
  auto stream = push_stream<Row>(all_doubled);
  CHECK_THROWS_WITH(stream.push(row),
                    Catch::Contains("an empty handle"));  // NOLINT(bugprone-use-after-move): the case
  stream.push(other);
  CHECK((*stream.pop())[0] == 2.0);
  CHECK_THROWS_WITH(push_stream<Row>(all_doubled, {}, {.seconds = -1}),
                    Catch::Contains("PushOptions: -1 seconds"));
  CHECK_THROWS_AS(push_stream<Row>(all_doubled, {}, {.items = 0}), ProgramError);
  CHECK_THROWS_AS(push_stream<Row>(all_doubled, {}, {.bytes = 0}), ProgramError);
  CHECK_THROWS_AS(push_stream<Row>(all_doubled, {.scheduler = "wild"}), ProgramError);
  CHECK_THROWS_WITH(push_stream<Row>(all_doubled, {.require = Expect::regular}),
                    Catch::Contains("require regular"));
}

TEST_CASE("a pushed stream that takes so many items is over with the last of them") {
  auto few = push_stream<Row>([](auto s) { return take_seq(2, s); }, {}, {.seconds = 0});
  few.push(Row{1.0});
  CHECK_FALSE(few.over());
  few.push(Row{2.0});
  CHECK(few.over());
  few.finish();
  CHECK((*few.pop())[0] == 1.0);
  CHECK((*few.pop())[0] == 2.0);
}

}  // namespace
}  // namespace anabranch::testing
