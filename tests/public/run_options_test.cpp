#include <atomic>
#include <chrono>
#include <ranges>
#include <thread>

#include <anabranch/doctor.h>

#include "agree.h"
#include "support/one_processor.h"
#include "support/sanitized.h"

// Memory bounds, cancellation, progress, reports and back ends.
namespace anabranch::testing {
namespace {

const auto sums = [](auto row) { return sum(row); };

/// `items` vectors of `length`, made when they are read.
auto many(int items, std::int64_t length) {
  return std::views::iota(0, items) |
         std::views::transform([=](int i) { return numbers<double>(length, static_cast<std::uint64_t>(i)); });
}

TEST_CASE("a stream larger than its memory bound passes through") {
  const auto program = compile(consume(elements(map_seq(sums, stream_in(many(2000, 1000))))));
  RunReport report;
  const auto unbounded = program();
  for (const char* scheduler : {"adaptive", "paper"}) {
    const auto bounded = program.run({.memory = 1 << 20, .scheduler = scheduler}, &report);
    require_same(bounded, unbounded);
    REQUIRE(report.peak_bytes <= 1 << 20);
    REQUIRE(report.chunks > 8);
    REQUIRE(report.items == 2000);
  }
}

TEST_CASE("what cannot fit is named before it is allocated") {
  const auto large = numbers<double>(20000);
  REQUIRE_THROWS_AS(run(map([](auto x) { return x + 1.0; }, use(large)), {.memory = 1000}), ResourceError);
  REQUIRE_THROWS_WITH(run(map([](auto x) { return x + 1.0; }, use(large)), {.memory = 1000}),
                      Catch::Contains("input") && Catch::Contains("1000"));
  // Inputs fit, the result does not.
  REQUIRE_THROWS_AS(run(generate(1000000, [](auto i) { return i; }), {.memory = 100000}), ResourceError);
  REQUIRE_THROWS_WITH(run(generate(1000000, [](auto i) { return i; }), {.memory = 100000}),
                      Catch::Contains("generate") && Catch::Contains("run_options_test.cpp"));
  // One item is too large for a chunk.
  const std::vector<Vector<double>> rows{numbers<double>(3), numbers<double>(1000000)};
  REQUIRE_THROWS_AS(run(consume(elements(map_seq(sums, stream_in(rows)))), {.memory = 100000}),
                    ResourceError);
  // The collected results outgrow the bound.
  REQUIRE_THROWS_AS(run(consume(elements(stream_in(many(1000, 1000)))), {.memory = 1 << 20}), ResourceError);
  REQUIRE_THROWS_AS(run(unit(Exp(1)), {.memory = -1}), ProgramError);
  // And the next run works.
  REQUIRE(run(consume(elements(map_seq(sums, stream_in(rows))))).size() == 2);
}

TEST_CASE("a stop request ends the run") {
  for (Backend backend : {Backend::interpreter, Backend::cpu}) {
    std::stop_source stop;
    std::atomic<int> pulled = 0;
    auto endless = std::views::iota(0) | std::views::transform([&](int) {
                     if (++pulled == 500) stop.request_stop();
                     return Vector<double>{1.0};
                   });
    const auto program = compile(consume(elements(map_seq(sums, stream_in(endless)))));
    const char* scheduler = backend == Backend::interpreter ? "adaptive" : "fixed:10";
    REQUIRE_THROWS_AS(program.run({.backend = backend, .scheduler = scheduler, .stop = stop.get_token()}),
                      Cancelled);
    REQUIRE(pulled < 2000);
  }
  std::stop_source stopped;
  stopped.request_stop();
  const auto program = compile(consume(elements(map_seq(sums, stream_in(many(50, 5))))));
  for (Backend backend : {Backend::interpreter, Backend::cpu}) {
    REQUIRE_THROWS_AS(program.run({.backend = backend, .stop = stopped.get_token()}), Cancelled);
    REQUIRE(program.run({.backend = backend}).size() == 50);
  }
}

/// Runs for seconds unless it is stopped, which happens after 50 ms.
template <class R>
void stops(const R& computation, Backend backend) {
  const auto program = compile(computation);
  std::stop_source stop;
  std::atomic<bool> requested = false;
  const std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    requested = true;  // before who is stopped may look
    stop.request_stop();
  });
  const auto begin = std::chrono::steady_clock::now();
  const int threads = backend == Backend::interpreter ? 1 : 2;
  REQUIRE_THROWS_AS(program.run({.backend = backend, .threads = threads, .stop = stop.get_token()}),
                    Cancelled);
  REQUIRE(requested);
  // (Sanitized, one kernel of the simulated GPU takes minutes, and nothing stops a kernel.)
  if (!sanitized) REQUIRE(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("a stop request ends what is no stream, and one large item") {
  const auto slow = [](auto i) {
    auto x = cast<double>(i);
    for (int k = 0; k < 40; ++k) x = sin(x);
    return x;
  };
  const std::int64_t large = std::int64_t{1} << 24;
  stops(sum(generate(large, slow)), Backend::cpu);
  stops(consume(elements(produce(2, [&](auto i) { return sum(generate(i + large, slow)); }))), Backend::cpu);
  stops(sum(generate(large, slow)), Backend::interpreter);
  const auto forever = [](auto i) {
    return while_loop([](auto) { return true; }, [](auto n) { return n + 1; }, i);
  };
  stops(generate(3, forever), Backend::interpreter);
  stops(consume(elements(produce(2, [&](auto) { return sum(generate(large, slow)); }))),
        Backend::interpreter);
}

TEST_CASE("a range source looks at an item's size before it copies it") {
  int made = 0;
  auto items = std::views::iota(0, 4) | std::views::transform([&](int i) {
                 ++made;
                 return numbers<double>(i == 2 ? 1000000 : 1000, static_cast<std::uint64_t>(i));
               });
  detail::RangeSource<decltype(items), Vector<double>> source(items, std::nullopt, false, false, Place{});
  SourceChunk chunk;
  REQUIRE(source.next({.memory = 20000}, chunk));
  REQUIRE(chunk.items == 2);
  for (int k = 0; k < 2; ++k) {
    try {
      source.next({.memory = 20000}, chunk);
      FAIL("no error");
    } catch (const ItemTooBig& e) {
      REQUIRE(e.bytes() > 8000000);
      REQUIRE(e.bytes() < 8000100);
    }
  }
  REQUIRE(made == 3);
  REQUIRE(source.next({.items = 1, .memory = 9000000}, chunk));
  REQUIRE(chunk.work == 1000000);
  REQUIRE(source.next({}, chunk));
  REQUIRE(chunk.work == 1000);
  REQUIRE(made == 4);
  REQUIRE_FALSE(source.next({}, chunk));

  // A chunk stays within its bytes unless one item alone does not.
  source.rewind();
  REQUIRE(source.next({.bytes = 9000}, chunk));
  REQUIRE(chunk.items == 1);

  const std::vector<Vector<double>> rows{numbers<double>(3), numbers<double>(1000000)};
  auto s = stream_in(rows);
  const auto program = compile(consume(elements(map_seq(sums, s))));
  for (const char* scheduler : {"adaptive", "paper", "fixed:1", "fixed:2"}) {
    REQUIRE_THROWS_WITH(
        program.run({.memory = 100000, .scheduler = scheduler}),
        Catch::Contains("item 1") && Catch::Contains("[1000000]") && Catch::Contains("run_options_test.cpp"));
    REQUIRE(program.run({.memory = 20000000, .scheduler = scheduler}).size() == 2);
  }
  const auto read = [&] {
    for (const auto& item : stream_out(s, {.memory = 100000})) REQUIRE(item.size() == 3);
  };
  REQUIRE_THROWS_AS(read(), ResourceError);
}

TEST_CASE("large items one after the other in little memory") {
  const auto program = compile(consume(elements(map_seq(sums, stream_in(many(40, 20000))))));
  const auto expected = program();
  for (int threads : {1, 2, 4}) {
    RunReport report;
    require_same(program.run({.threads = threads, .memory = 400000}, &report), expected);
    REQUIRE(report.peak_bytes <= 400000);
  }
}

TEST_CASE("a stop request ends streaming out") {
  for (Backend backend : {Backend::interpreter, Backend::cpu}) {
    std::stop_source stop;
    auto endless = std::views::iota(0) | std::views::transform([](int) { return numbers<double>(5000); });
    auto out = stream_out(map_seq(sums, stream_in(endless)), {.backend = backend, .stop = stop.get_token()});
    std::int64_t seen = 0;
    const auto read = [&] {
      for (auto it = out.begin(); it != out.end(); ++it)
        if (++seen == 10) stop.request_stop();
    };
    REQUIRE_THROWS_AS(read(), Cancelled);
    REQUIRE(seen >= 10);
  }
}

TEST_CASE("progress after every chunk") {
  std::vector<Progress> seen;
  const auto rows = std::vector<Vector<double>>(100, Vector<double>{1.0, 2.0});
  run(consume(elements(map_seq(sums, stream_in(rows)))),
      {.scheduler = "fixed:30", .progress = [&](const Progress& p) { seen.push_back(p); }});
  REQUIRE(seen.size() == 4);
  REQUIRE(seen[1].items == 60);
  REQUIRE(seen[3].items == 100);
  REQUIRE(seen[3].chunks == 4);
  REQUIRE(seen[0].total_items == 100);
  REQUIRE(seen[0].work == 60);
  REQUIRE(seen[3].work == 200);
  REQUIRE(!seen[0].total_work);
  for (std::size_t i = 1; i < seen.size(); ++i) REQUIRE(seen[i].seconds >= seen[i - 1].seconds);
}

TEST_CASE("progress of each stream of a program, and of what is streamed out") {
  std::vector<Progress> seen;
  const auto see = [&](const Progress& p) { seen.push_back(p); };
  auto s = stream_in(many(100, 3));
  const auto total = sum(consume(elements(map_seq(sums, s))));
  run(consume(elements(
          map_seq([=](auto row) { return map([=](auto e) { return e + the(total); }, sum(row)); }, s))),
      {.scheduler = "fixed:25", .progress = see});
  REQUIRE(seen.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) {
    REQUIRE(seen[i].stage == static_cast<int>(i / 4));
    REQUIRE(seen[i].items == static_cast<std::int64_t>(i % 4 + 1) * 25);
    REQUIRE(seen[i].work == 3 * seen[i].items);
    REQUIRE(seen[i].bytes >= 24 * seen[i].items);  // a range is copied
  }
  seen.clear();
  for (const auto& item : stream_out(s, {.scheduler = "fixed:30", .progress = see}))
    REQUIRE(item.size() == 3);
  REQUIRE(seen.size() == 4);
  REQUIRE(seen[3].items == 100);
  REQUIRE(seen[3].work == 300);
  REQUIRE(seen[3].chunks == 4);
  seen.clear();
  run(consume(elements(map_seq(sums, s))), {.backend = Backend::interpreter, .progress = see});
  REQUIRE(seen.size() == 100);
  REQUIRE(seen[99].items == 100);
}

TEST_CASE("an exception of the progress callback reaches the caller, and the next run works") {
  const auto program = compile(consume(elements(map_seq(sums, stream_in(many(100, 3))))));
  for (int bad : {1, 3, 10}) {
    int calls = 0;
    const auto progress = [&](const Progress&) {
      if (++calls == bad) throw std::out_of_range("enough");
    };
    REQUIRE_THROWS_AS(program.run({.threads = 2, .scheduler = "fixed:10", .progress = progress}),
                      std::out_of_range);
    REQUIRE(program.run({.threads = 2, .scheduler = "fixed:10"}).size() == 100);
  }
}

TEST_CASE("the report says what was done") {
  const auto rows = std::vector<Vector<double>>(100, numbers<double>(50));
  RunReport report;
  const auto program = compile(consume(elements(map_seq(sums, stream_in(rows)))));
  program.run({.backend = Backend::automatic, .threads = 2, .scheduler = "fixed:30"}, &report);
  REQUIRE((report.backend == "cpu" || report.backend == "cuda"));  // whether there is a GPU
  REQUIRE(!report.backend_reason.empty());
  REQUIRE(report.threads >= 2);
  REQUIRE(report.items == 100);
  REQUIRE(report.work == 5000);
  REQUIRE(report.chunks == 4);
  REQUIRE(report.stages.size() == 1);
  REQUIRE(report.stages[0].records.size() == 4);
  REQUIRE(report.stages[0].records[0].items == 30);
  REQUIRE(report.seconds > 0);
  program.run({.backend = Backend::interpreter}, &report);
  REQUIRE(report.backend == "interpreter");
}

TEST_CASE("results that the system has no memory for are named") {
  const auto program =
      compile(consume(elements(produce(std::int64_t{1} << 45, [](auto i) { return unit(i); }))));
  REQUIRE_THROWS_AS(program(), ResourceError);
  REQUIRE_THROWS_WITH(program(), Catch::Contains("unit") && Catch::Contains("256.0 TiB") &&
                                     Catch::Contains("run_options_test.cpp"));
}

TEST_CASE("results of which the bytes have no number are refused before one item is computed") {
  for (const int log2 : {60, 61, 62}) {
    const std::int64_t items = std::int64_t{1} << log2;
    const auto one = [](auto i) { return unit(i); };
    const auto stored = [](auto i) { return sort(generate(4, [=](auto k) { return i * (3 - k); })); };
    for (const RunOptions& options : {RunOptions{}, RunOptions{.threads = 2, .memory = 64 << 20}}) {
      INFO(log2 << " " << options.memory);
      REQUIRE_THROWS_AS(run(consume(elements(produce(items, one))), options), ResourceError);
      REQUIRE_THROWS_AS(run(consume(tabulate(produce(items, one))), options), ResourceError);
      REQUIRE_THROWS_AS(run(consume(elements(produce(items / 4, stored))), options), ResourceError);
    }
  }
}

TEST_CASE("options that make no sense") {
  const auto program = compile(consume(elements(stream_in(std::vector{Vector<double>{1.0}}))));
  REQUIRE_THROWS_WITH(program.run({.scheduler = "fixed:0"}), Catch::Contains("fixed"));
  REQUIRE_THROWS_WITH(program.run({.scheduler = "wild"}), Catch::Contains("wild"));
  for (Backend backend : {Backend::interpreter, Backend::cpu}) {
    for (const char* scheduler : {"wild", "fixed:0", ""})
      REQUIRE_THROWS_AS(program.run({.backend = backend, .scheduler = scheduler}), ProgramError);
    for (int threads : {-1, 100000})
      REQUIRE_THROWS_AS(program.run({.backend = backend, .threads = threads}), ProgramError);
    REQUIRE_THROWS_AS(program.run({.backend = backend, .memory = -1}), ProgramError);
    REQUIRE_THROWS_AS(run(unit(1), {.backend = backend, .threads = -1}), ProgramError);
    auto s = stream_in(std::vector{Vector<double>{1.0}});
    REQUIRE_THROWS_AS(stream_out(s, {.backend = backend, .threads = -1}), ProgramError);
  }
  REQUIRE(program.run({.threads = 3}).size() == 1);
}

TEST_CASE("explain names what a person wrote") {
  const auto program =
      compile(consume(elements(map_seq([](auto row) { return sum(row); }, stream_in(many(3, 3))))));
  REQUIRE_THAT(program.explain(), Catch::Contains("sum") && Catch::Contains("run_options_test.cpp"));
}

TEST_CASE("a run that names no number of threads has as many as this process may use", "[once]") {
  const auto threads_of = [](const RunOptions& options) {
    RunReport report;
    compile(consume(elements(map_seq(sums, stream_in(many(20, 10)))))).run(options, &report);
    return report.threads;
  };
  CHECK(threads_of({}) == machine_facts().threads);
  CHECK(threads_of({.threads = 3}) == 3);
  const OneProcessor one;
  CHECK(machine_facts().threads == 1);
  CHECK(threads_of({}) == 1);
}

TEST_CASE("a report counts the kernels of its own run, whatever others compile") {
  const Vector<double> numbers(1000);
  const auto reported = [&](double factor) {
    const auto program = compile(sum(map([=](auto x) { return x * factor + factor; }, use(numbers))));
    RunReport report;
    program.run({.threads = 1}, &report);
    return report.kernels_compiled + report.kernels_from_disk + report.kernels_cached;
  };
  const int alone = reported(1.5);
  REQUIRE(alone >= 1);
  constexpr int runs = 16;
  std::vector<int> counted(4 * runs);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t r = 0; r < runs; ++r)
        counted[t * runs + r] = reported(2.0 + static_cast<double>(t * runs + r));
    });
  for (std::thread& thread : threads) thread.join();
  for (const int kernels : counted) REQUIRE(kernels == alone);
}

}  // namespace
}  // namespace anabranch::testing
