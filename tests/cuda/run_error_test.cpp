#include "tests/cuda/support/whole_runs.h"

#include <stop_token>

// Whole programs on a simulated GPU that end early: failing checks, exceptions, being cancelled.
namespace anabranch::testing {

TEST_CASE("run: a failing check is the interpreter's error, and comes in its turn") {
  const Vector<double> x = numbers(50, 35);
  Csr a(100, 60, 36);
  for (auto& c : a.columns) c %= 50;
  a.columns[static_cast<std::size_t>(a.offsets[55])] = 57;
  a.columns[static_cast<std::size_t>(a.offsets[78])] = 58;
  std::vector<Vector<std::int64_t>> divisors(100, Vector<std::int64_t>{7, 3, -2});
  divisors[56] = Vector<std::int64_t>{5, 0, 0};
  divisors[81] = Vector<std::int64_t>{0};
  std::vector<Vector<std::int64_t>> sizes(100, Vector<std::int64_t>{2, 1});
  sizes[57] = Vector<std::int64_t>{2, -6};
  sizes[91] = Vector<std::int64_t>{-8};
  auto gathered = map_seq(
      [x = use(x)](auto row) {
        auto [columns, values] = unzip(row);
        return fold(plus, 0.0, zip_with(times, values, gather(columns, x)));
      },
      stream_in(a.source()));
  auto divided = map_seq([](auto row) { return map([](auto e) { return Exp(std::int64_t{100}) / e; }, row); },
                         stream_in(divisors));
  auto sized =
      map_seq([](auto row) { return generate(the(sum(row)), [](auto k) { return k; }); }, stream_in(sizes));
  const auto check = [&](const auto& sequence, const std::string& what) {
    const auto run = running(consume(elements(sequence)));
    const std::string expected = message_of([&] { run({.backend = Backend::interpreter}, nullptr); });
    INFO(expected);
    CHECK_THAT(expected, Catch::Contains(what) && Catch::Contains("(run_error_test.cpp:"));
    CHECK(message_of([&] { run({.backend = Backend::cpu}, nullptr); }) == expected);
    std::uint64_t seed = 0;
    for (const Backend backend : {Backend::cuda, Backend::cpu_and_cuda})
      for (const std::string scheduler : {"fixed:10", "fixed:1", "fixed:100", "adaptive"}) {
        const WithFakeGpu gpu(seeded(seed++));
        std::int64_t items = 0;
        const RunOptions options{.backend = backend,
                                 .scheduler = scheduler,
                                 .progress = [&](const Progress& p) { items = p.items; }};
        CHECK_THROWS_AS(run(options, nullptr), RunError);
        CHECK(message_of([&] { run(options, nullptr); }) == expected);
        if (scheduler == "fixed:10") CHECK(items == 50);
        check_clean();
      }
    const WithFakeGpu gpu;
    // Chunks of a stream that is read are large; a bound makes them small.
    std::int64_t seen = 0;
    const RunOptions options{.backend = Backend::cuda, .memory = 24 << 10};
    try {
      for (const auto& item : stream_out(sequence, options)) seen += item.size() >= 0;
      FAIL("no error");
    } catch (const RunError& e) {
      CHECK(e.what() == expected);
    }
    CHECK(seen <= 57);
    check_clean();
  };
  check(gathered, "57 out of range 0..49 in item 55");
  check(divided, "zero in item 56");
  check(sized, "-4 in item 57");
}

TEST_CASE("run: what came before an error is streamed out") {
  const WithFakeGpu gpu;
  {
    const std::int64_t count = 1'000'000;
    auto items = produce(count, [](auto i) { return unit(Exp(std::int64_t{1000}) / (i - 800'000)); });
    std::int64_t seen = 0;
    try {
      for (const auto& item : stream_out(items, {.backend = Backend::cuda, .scheduler = "fixed:100000"})) {
        if (item[Index{}] != 1000 / (seen - 800'000)) FAIL("item " << seen);
        ++seen;
      }
      FAIL("no error");
    } catch (const RunError&) {
      CHECK(seen == 800'000);
    }
  }
  check_clean();
}

TEST_CASE("run: cancelled in the middle") {
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    for (const Backend backend : {Backend::cuda, Backend::cpu_and_cuda}) {
      const WithFakeGpu gpu(seeded(seed));
      {
        std::stop_source stop;
        const auto watch = [&](int i) {
          if (i == 50 + static_cast<int>(seed) * 7) stop.request_stop();
        };
        const auto program =
            compile(consume(elements(map_seq(sums, stream_in(made_items(1000, -1, watch))))));
        CHECK_THROWS_AS(program.run({.backend = backend, .scheduler = "fixed:10", .stop = stop.get_token()}),
                        Cancelled);
        // From the callback, while chunks are on the GPU.
        std::stop_source later;
        const Csr a(500, 20, seed);
        CHECK_THROWS_AS(compile(multiply(a.source(), numbers(20, 1)))
                            .run({.backend = backend,
                                  .scheduler = "fixed:5",
                                  .stop = later.get_token(),
                                  .progress =
                                      [&](const Progress& p) {
                                        if (p.chunks == 4) later.request_stop();
                                      }}),
                        Cancelled);
      }
      check_clean();
    }
  const WithFakeGpu gpu;
  {
    std::stop_source stop;
    auto out = stream_out(map_seq(sums, stream_in(made_items(1 << 20))),
                          {.backend = Backend::cuda, .stop = stop.get_token()});
    std::int64_t seen = 0;
    const auto read = [&] {
      for (auto it = out.begin(); it != out.end(); ++it)
        if (++seen == 10) stop.request_stop();
    };
    CHECK_THROWS_AS(read(), Cancelled);
  }
  check_clean();
}

TEST_CASE("run: exceptions of the user's code in the middle") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const WithFakeGpu gpu(seeded(seed));
    for (const std::string scheduler : {"fixed:10", "fixed:1", "adaptive"}) {
      std::int64_t items = 0;
      const RunOptions options{.backend = Backend::cuda,
                               .scheduler = scheduler,
                               .progress = [&](const Progress& p) { items = p.items; }};
      CHECK_THROWS_AS(run(consume(elements(map_seq(sums, stream_in(made_items(200, 117))))), options),
                      std::domain_error);
      if (scheduler != "adaptive") CHECK(items == 117);
      const RunOptions thrower{
          .backend = Backend::cuda, .scheduler = scheduler, .progress = [](const Progress& p) {
            if (p.items > 60) throw std::out_of_range("enough");
          }};
      CHECK_THROWS_AS(run(consume(elements(map_seq(sums, stream_in(made_items(200))))), thrower),
                      std::out_of_range);
    }
    check_clean();
  }
}

}  // namespace anabranch::testing
