#include <atomic>
#include <string>
#include <vector>

#include "agree.h"
#include "io/matrix_files.h"
#include "support/memory_sink.h"
#include "support/memory_source.h"

// Whatever memory there is, a run gives all items, each once and in its place, or says that it has too little: what is read
// or computed when memory runs out is neither lost nor given again.
namespace anabranch::testing {
namespace {

/// Runs with ever more memory, until several in a row have had enough: each has too little, or gives what is expected.
void in_any_memory(std::int64_t least, const std::function<void(const RunOptions&)>& run,
                   const std::vector<std::string>& schedulers = {"adaptive", "fixed:1", "fixed:7",
                                                                 "fixed:1000000"}) {
  for (const std::string& scheduler : schedulers)
    for (const int threads : {1, 2, 4}) {
      std::int64_t memory = least;
      for (int enough = 0; enough < 5; memory += memory / 12) {
        INFO(scheduler << ", " << threads << " threads, " << memory << " bytes");
        try {
          run({.threads = threads, .memory = memory, .scheduler = scheduler});
          ++enough;
        } catch (const ResourceError&) {
          enough = 0;
          REQUIRE(memory < 1 << 26);
        }
      }
    }
}
template <class R>
void same_in_any_memory(std::int64_t least, const R& computation) {
  const auto program = compile(computation);
  const auto expected = program.run({.backend = Backend::interpreter});
  in_any_memory(least, [&](const RunOptions& options) { require_same(program.run(options), expected); });
}

/// Rows of `short_ones` elements at most, and every `period`-th a long one.
std::vector<std::vector<double>> rows_with_long_ones(std::size_t count, std::size_t short_ones,
                                                     std::size_t period, std::size_t length) {
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < count; ++i)
    rows.emplace_back(i % period == period / 2 ? length : i % (short_ones + 1), static_cast<double>(i));
  return rows;
}

const auto total = [](auto row) { return sum(row); };
/// By way of an array of its own.
const auto total_of_sums = [](auto row) {
  return sum(map([](auto x) { return sqrt(abs(x)); }, scanl1(plus, row)));
};

TEST_CASE("little memory: streams that are read in pieces, side by side, and of which one has long items",
          "[once]") {
  const auto a = ragged<double>("one", rows_with_long_ones(400, 120, 1000, 0));
  const auto b = ragged<double>("other", rows_with_long_ones(400, 3, 50, 1500));
  for (const auto& source : {a, b}) {
    source->read_in_pieces();
    source->refuses_large_items = true;
  }
  same_in_any_memory(
      8 << 10,
      consume(elements(zip_with_seq(
          [](auto x, auto y) {
            return unit(the(total_of_sums(x)) + 1000 * the(total_of_sums(y)) + cast<double>(size(y)));
          },
          stream_in(Source<Vector<double>>(a)), stream_in(Source<Vector<double>>(b))))));
}

TEST_CASE("little memory: lines that become short where long ones were expected", "[once]") {
  // Their offsets then take four times what the text does.
  const TemporaryDirectory dir;
  std::string text;
  for (int i = 0; i < 3'000; ++i) text += std::string(static_cast<std::size_t>(60 + i % 9), 'x') + '\n';
  for (int i = 0; i < 60'000; ++i) text += i % 50 == 0 ? "1\n" : "\n";
  for (int i = 0; i < 1'000; ++i) text += std::string(static_cast<std::size_t>(i % 200), 'y') + '\n';
  io_test::write_file(dir / "lines.txt", text);
  const auto lines = stream_in(io::open_lines(dir / "lines.txt"));
  const auto length = [](auto line) { return unit(size(line)); };
  const auto total_length = fold_seq([](auto a, auto b) { return unit(the(a) + the(b)); },
                                     unit(std::int64_t{0}), map_seq(length, lines));
  const auto program = compile(std::tuple(consume(elements(map_seq(length, lines))), consume(total_length)));
  const auto expected = program.run({.backend = Backend::interpreter});
  const auto same = [&](const RunOptions& options) {
    const auto got = program.run(options);
    REQUIRE(got == expected);
  };
  in_any_memory(100 << 10, same, {"adaptive"});
}

TEST_CASE("little memory: streams side by side of which each is large where the others are small", "[once]") {
  // That with the larger items on the whole, a third of a megabyte each, begins with small ones.
  std::vector<std::vector<double>> small_first, large_first, large_last;
  for (std::size_t i = 0; i < 2000; ++i) {
    small_first.emplace_back(i < 1000 ? 1 : 60, static_cast<double>(i));
    large_first.emplace_back(i < 500 ? 80 : 2, 0.5);
    large_last.emplace_back(i < 900 ? i % 2 : 30, 0.25);
  }
  std::vector<Seq<Vector<double>>> streams;
  for (const auto& rows : {small_first, large_first, large_last}) {
    const auto source = ragged<double>("rows", rows);
    source->read_in_pieces();
    streams.push_back(stream_in(Source<Vector<double>>(source)));
  }
  const auto program = compile(consume(elements(zip_with_seq(
      [](auto x, auto y, auto z) {
        return unit(the(total_of_sums(x)) + 1000 * the(total_of_sums(y)) + the(total_of_sums(z)));
      },
      streams[0], streams[1], streams[2]))));
  const auto expected = program.run({.backend = Backend::interpreter});
  for (const char* scheduler : {"adaptive", "fixed:100", "fixed:1000000"})
    for (const int threads : {1, 2, 4}) {
      INFO(scheduler << ", " << threads << " threads");
      require_same(program.run({.threads = threads, .memory = 100 << 10, .scheduler = scheduler}), expected);
    }
}

TEST_CASE("little memory: a stream that passes once, read in two places", "[once]") {
  const auto rows = rows_with_long_ones(200, 3, 40, 900);
  const auto results_of = [&](const RunOptions& options) {
    const auto source = ragged<double>("once", rows, false);
    source->read_in_pieces();
    const auto s = stream_in(Source<Vector<double>>(source));
    const auto long_ones = filter_seq([](auto row) { return size(row) > 2; }, s);
    return run(std::tuple(consume(elements(map_seq(total, s))), consume(elements(map_seq(total, long_ones)))),
               options);
  };
  const auto expected = results_of({.backend = Backend::interpreter});
  in_any_memory(4 << 10, [&](const RunOptions& options) {
    const auto got = results_of(options);
    require_same(std::get<0>(got), std::get<0>(expected));
    require_same(std::get<1>(got), std::get<1>(expected));
  });
}

TEST_CASE(
    "little memory: of a stream that passes once little is kept for those behind, nothing for those that "
    "have ended",
    "[once]") {
  const auto rows = rows_with_long_ones(2000, 0, 1, 1000);
  const auto run_with = [&](int what, const RunOptions& options) {
    const auto source = ragged<double>("once", rows, false);
    source->read_in_pieces();
    const auto s = stream_in(Source<Vector<double>>(source));
    const auto all = consume(elements(map_seq(total, s)));
    const auto none = take_while_seq([](auto x) { return x[0] > 0; }, s);
    const auto few = zip_with_seq([](auto x, auto y) { return unit(the(sum(x)) + cast<double>(the(y))); }, s,
                                  produce(10, [](auto i) { return unit(i); }));
    const auto other = what == 0   ? map_seq(total, take_seq(1000, s))
                       : what == 1 ? map_seq(total, none)
                       : what == 2 ? few
                                   : map_seq(total, filter_seq([](auto x) { return x[0] > 1000; }, s));
    return run(std::tuple(all, consume(elements(other))), options);
  };
  for (int what = 0; what < 4; ++what) {
    const auto expected = run_with(what, {.backend = Backend::interpreter});
    for (const int threads : {1, 2}) {
      INFO(what << ", " << threads << " threads");
      // The stream has 16 MB.
      for (const std::int64_t memory : {1 << 20, 4 << 20}) {
        const auto got = run_with(what, {.threads = threads, .memory = memory});
        require_same(std::get<0>(got), std::get<0>(expected));
        require_same(std::get<1>(got), std::get<1>(expected));
      }
    }
  }
}

TEST_CASE("little memory: of sequences that are appended none keeps a stream for another", "[once]") {
  const auto source = ragged<double>("rows", rows_with_long_ones(2000, 0, 1, 1000));  // 16 MB
  source->read_in_pieces();
  const auto s = stream_in(Source<Vector<double>>(source));
  const auto pairs =
      zip_with_seq([](auto x, auto y) { return unit(the(sum(x)) - the(sum(y))); }, s, drop_seq(1, s));
  for (const auto& both : {append_seq(map_seq(total, s), pairs), append_seq(pairs, map_seq(total, s))}) {
    const auto program = compile(consume(elements(both)));
    const auto expected = program.run({.backend = Backend::interpreter});
    for (const int threads : {1, 2})
      require_same(program.run({.threads = threads, .memory = 2 << 20}), expected);
  }
}

TEST_CASE("little memory: long items that are kept among others that are not", "[once]") {
  const auto items = produce(200, [](auto i) {
    return generate(cond(i % 20 == 7, 2000 + i, i % 5), [=](auto k) { return cast<double>(i * 10 + k); });
  });
  same_in_any_memory(
      4 << 10, consume(elements(map_seq(total, filter_seq([](auto x) { return size(x) % 5 != 3; }, items)))));
  same_in_any_memory(
      4 << 10, consume(elements(map_seq(total, filter_seq([](auto x) { return size(x) > 1000; }, items)))));
}

TEST_CASE("little memory: windows of blocks of which some are long", "[once]") {
  const auto blocks = ragged<double>("blocks", rows_with_long_ones(200, 150, 20, 2500));
  blocks->read_in_pieces();
  blocks->refuses_large_items = true;
  for (const int hop : {16, 64, 200})
    same_in_any_memory(
        4 << 10, consume(elements(
                     map_seq(total_of_sums, windows(stream_in(Source<Vector<double>>(blocks)), 64, hop)))));
}

TEST_CASE("little memory: a state that passes through items of which some are long", "[once]") {
  const auto items = produce(100, [](auto i) {
    return generate(cond(i % 10 == 9, 3000 + i, i % 7), [=](auto k) { return cast<double>(i + k); });
  });
  same_in_any_memory(4 << 10, consume(elements(map_accum_seq(
                                  [](auto state, auto x) {
                                    const auto next = unit(the(state) * 0.5 + the(sum(x)));
                                    return std::pair(next, next);
                                  },
                                  unit(1.0), items))));
}

TEST_CASE("little memory: items that are joined while others compute", "[once]") {
  const auto rows = ragged<double>("rows", rows_with_long_ones(300, 90, 60, 800));
  rows->read_in_pieces();
  const auto s = stream_in(Source<Vector<double>>(rows));
  const auto add = [](auto x, auto y) { return zip_with(plus, x, y); };
  const auto zeros = generate(50, [](auto) { return Exp<double>(0); });
  const auto residues = map_seq(
      [](auto row) {
        const auto sums = scanl1(plus, row);
        return generate(50, [=](auto i) {
          return cond(i < size(sums), sums[max(size(sums) - 1 - i, 0)], Exp<double>(1));
        });
      },
      s);
  same_in_any_memory(8 << 10, consume(fold_seq(add, unit(0.0), map_seq(total_of_sums, s))));
  same_in_any_memory(24 << 10, consume(fold_seq(add, zeros, residues)));
  const auto of_batch = [](auto batch) { return unit(the(sum(consume(elements(batch))))); };
  same_in_any_memory(8 << 10, zip_with(plus, sum(consume(elements(map_seq(total_of_sums, s)))),
                                       consume(fold_batch(of_batch, add, unit(0.0), map_seq(total, s)))));
}

TEST_CASE("little memory: windows beside items that are small", "[once]") {
  const auto blocks = ragged<double>("blocks", rows_with_long_ones(1000, 150, 20, 200));
  const auto labels = ragged<double>("labels", rows_with_long_ones(9000, 3, 50, 3));
  for (const auto& source : {blocks, labels}) source->read_in_pieces();
  const auto of_both = [](auto label, auto window) {
    return unit(the(sum(label)) + the(total_of_sums(window)));
  };
  const auto program =
      compile(consume(elements(zip_with_seq(of_both, stream_in(Source<Vector<double>>(labels)),
                                            windows(stream_in(Source<Vector<double>>(blocks)), 256, 8)))));
  const auto expected = program.run({.backend = Backend::interpreter});
  RunReport report;
  // All windows together are 18 MB.
  for (const char* scheduler : {"adaptive", "fixed:1000000"}) {
    require_same(program.run({.threads = 2, .memory = 1 << 20, .scheduler = scheduler}, &report), expected);
    CHECK(report.chunks > 4);
  }
}

TEST_CASE("little memory: large chunks that are given as they are", "[once]") {
  const auto rows =
      ragged<double>("rows", std::vector<std::vector<double>>(8000, std::vector<double>(100, 0.5)));
  rows->read_in_pieces();
  const auto all =
      filter_seq([](auto row) { return size(row) > 0; }, stream_in(Source<Vector<double>>(rows)));
  const auto program =
      compile(consume(elements(map_seq(total, filter_seq([](auto row) { return size(row) > 1; }, all)))));
  for (const int threads : {1, 2})
    require_same(program.run({.threads = threads, .memory = 2 << 20, .scheduler = "fixed:1000000"}),
                 Vector<double>(Index{8000}, std::vector<double>(8000, 50)));
}

TEST_CASE("little memory: a state that gives much for each item gives it before the last item has passed",
          "[once]") {
  std::atomic<int> passed = 0, before_the_first = -1;
  const auto sink = std::make_shared<MemorySink>("sink", detail::sink_arrays<Vector<double>>(),
                                                 [&](const std::string& what, int) {
                                                   if (what == "write" && before_the_first < 0)
                                                     before_the_first = passed.load();
                                                 });
  const auto lines = map_accum_seq(
      [](auto state, auto x) {
        const auto next = trace("", unit(the(state) * 0.5 + the(x)));
        return std::pair(next, generate(1000, [=](auto k) { return the(next) + cast<double>(k); }));
      },
      unit(1.0), map_seq([](auto i) { return unit(cast<double>(the(i))); }, produce(2000, [](auto i) {
                           return unit(i);
                         })));
  run(consume(write(lines, Sink<Vector<double>>(sink))),
      {.threads = 2, .memory = 1 << 20, .print = [&](std::string_view) { ++passed; }});
  CHECK(passed == 2000);
  CHECK(before_the_first > 0);
  CHECK(before_the_first < 500);  // 4 MB
}

TEST_CASE("little memory: streams behind each other that hold memory as long as they are open", "[once]") {
  struct Resident final : MemorySource {
    using MemorySource::MemorySource;
    std::int64_t resident_bytes() const override { return 6000; }
  };
  const auto open = [](const char* name) {
    std::vector<Item> items;
    for (int i = 0; i < 50; ++i) items.push_back({vector_of<double>(std::vector<double>(20, i))});
    const auto source = std::make_shared<Resident>(
        name, std::vector{array_info({ScalarType::float64}, {std::nullopt}, 0)}, items);
    source->read_in_pieces();
    return stream_in(Source<Vector<double>>(source));
  };
  same_in_any_memory(4 << 10,
                     consume(elements(map_seq(total_of_sums, append_seq(open("one"), open("other"))))));
}

TEST_CASE("little memory: a sink that fails", "[once]") {
  const auto items = map_seq(
      [](auto row) { return map([](auto x) { return x / 2; }, scanl1(plus, scanl1(plus, row))); },
      stream_in(Source<Vector<double>>(ragged<double>("rows", rows_with_long_ones(300, 3, 30, 200)))));
  for (const int good : {0, 1, 3, 8}) {
    const auto sink = std::make_shared<MemorySink>("sink", detail::sink_arrays<Vector<double>>(),
                                                   [=](const std::string& what, int before) {
                                                     if (what == "write" && before == good)
                                                       throw std::runtime_error("disk full");
                                                   });
    const auto program =
        compile(std::tuple(consume(write(items, Sink<Vector<double>>(sink))),
                           consume(fold_seq([](auto x, auto y) { return unit(the(x) + the(y)); }, unit(0.0),
                                            map_seq(total, items)))));
    in_any_memory(2 << 10, [&](const RunOptions& options) {
      try {
        program.run(options);
      } catch (const std::runtime_error& e) {
        if (dynamic_cast<const ResourceError*>(&e) != nullptr) throw;
        CHECK(std::string(e.what()).find("disk full") != std::string::npos);
      }
    });
    CHECK(sink->commits <= sink->begun);
    CHECK(sink->destroyed == sink->begun);
  }
}

TEST_CASE("little memory: results that are kept get what lies idle, or others hold only while they compute",
          "[once]") {
  const auto rows =
      stream_in(Source<Vector<double>>(ragged<double>("rows", rows_with_long_ones(200, 120, 40, 300))));
  const auto halves =
      map_seq([](auto row) { return map([](auto x) { return x / 2; }, scanl1(plus, row)); }, rows);
  const auto large = map_seq(
      [](auto row) {
        const auto sums = scanl1(plus, trace("", row));  // lines keep a stage out of pieces
        return std::get<0>(filter([](auto x) { return x > 3; }, sums));
      },
      halves);
  // What is kept takes 90 KB in the end.
  for (const auto& [threads, memory] : {std::pair(1, 110'000), std::pair(2, 180'000)}) {
    INFO(threads << " threads");
    const auto sink = std::make_shared<MemorySink>("sink", detail::sink_arrays<Vector<double>>());
    CHECK_NOTHROW(run(
        std::tuple(consume(write(halves, Sink<Vector<double>>(sink))), consume(elements(large))),
        {.threads = threads, .memory = memory, .scheduler = "fixed:20", .print = [](std::string_view) {}}));
  }
}

TEST_CASE("little memory: results of an item that wait to be written make room for the next one", "[once]") {
  const std::int64_t n = 10'000;  // 80 KB
  const auto both = map_seq(
      [=](auto i) {
        const auto many =
            compute(generate(10 * n, [=](auto k) { return cast<double>(k) * 0.5 + cast<double>(the(i)); }));
        const auto all = sum(zip_with(times, many, reverse(many)));
        return std::tuple(generate(8 * n, [=](auto k) { return cast<double>(k) + the(all); }),
                          generate(3 * n, [=](auto k) { return cast<double>(k) - the(all); }));
      },
      produce(8, [](auto i) { return unit(i); }));
  const auto [large, small] = unzip_seq(both);
  const auto sink = [] {
    return std::make_shared<MemorySink>("sink", detail::sink_arrays<Vector<double>>());
  };
  const auto first = sink(), second = sink();
  const auto program = compile(std::tuple(consume(write(large, Sink<Vector<double>>(first))),
                                          consume(write(small, Sink<Vector<double>>(second)))));
  // An item takes 800 KB while it is computed, and 880 KB are its results.
  for (const char* scheduler : {"adaptive", "fixed:1", "fixed:2"})
    for (const int threads : {1, 2})
      for (std::int64_t memory = 990'000; memory < 4'000'000; memory += memory / 8) {
        INFO(scheduler << ", " << threads << " threads, " << memory << " bytes");
        CHECK_NOTHROW(program.run({.threads = threads, .memory = memory, .scheduler = scheduler}));
      }
}

TEST_CASE("little memory: large items that are joined", "[once]") {
  const std::int64_t n = 10'000;  // 80 KB
  const auto of_one_size =
      produce(100, [=](auto i) { return generate(n, [=](auto k) { return cast<double>(k + i); }); });
  const auto of_many =
      produce(100, [=](auto i) { return generate(n + i % 3, [=](auto k) { return cast<double>(k + i); }); });
  const auto add = [](auto x, auto y) { return zip_with(plus, x, y); };
  for (const auto& items : {of_one_size, of_many}) {
    const auto program = compile(consume(fold_seq(add, fill(n, 0.0), items)));
    const auto expected = program.run({.backend = Backend::interpreter});
    // Twelve items: a sum waits on each of seven levels.
    for (const char* scheduler : {"adaptive", "fixed:1", "fixed:5", "fixed:100"})
      for (std::int64_t memory = 12 * n * 8; memory < 60 * n * 8; memory += memory / 6) {
        INFO(scheduler << ", " << memory << " bytes");
        require_same(program.run({.threads = 1, .memory = memory, .scheduler = scheduler}), expected);
      }
  }
}

TEST_CASE("little memory: large items that wait to be joined count", "[once]") {
  const std::int64_t n = 20'000;  // 160 KB
  const auto items =
      produce(63, [=](auto i) { return generate(n, [=](auto k) { return cast<double>(k + i); }); });
  const auto add = [](auto x, auto y) { return zip_with(plus, x, y); };
  RunReport report;
  compile(consume(fold_seq(add, fill(n, 0.0), items))).run({.threads = 1, .scheduler = "fixed:1"}, &report);
  // The last item and its copy, a sum on each of five levels, two sums of which one is made, and the seed.
  CHECK(report.peak_bytes > 10 * n * 8);
}

TEST_CASE("little memory: items that are written, and joined or kept, too", "[once]") {
  const auto sink = std::make_shared<MemorySink>("sink", detail::sink_arrays<Vector<double>>());
  const auto add = [](auto x, auto y) { return zip_with(plus, x, y); };
  struct Case {
    std::int64_t length, items, memory;
  };
  for (const auto& [n, count, memory] :
       {Case{12'500, 200, 6'400'000}, Case{3'900, 300, 1 << 20}, Case{1'200, 2000, 6'400'000}}) {
    const auto items =
        produce(count, [n = n](auto i) { return generate(n, [=](auto k) { return cast<double>(k + i); }); });
    const auto both = compile(std::tuple(consume(write(items, Sink<Vector<double>>(sink))),
                                         consume(fold_seq(add, fill(n, 0.0), items))));
    const auto expected = both.run({.backend = Backend::interpreter});
    for (const char* scheduler : {"adaptive", "paper", "fixed:1", "fixed:1000"})
      for (const int threads : {1, 2}) {
        INFO(n << " elements, " << scheduler << ", " << threads << " threads");
        require_same(std::get<1>(both.run({.threads = threads, .memory = memory, .scheduler = scheduler})),
                     std::get<1>(expected));
      }
  }
}

TEST_CASE("what is pushed behind items that are in memory is computed when it has come", "[once]") {
  const auto program = [](const Seq<Scalar<double>>& pushed) {
    const auto given = rows(use(Vector<double>{1, -1, 3}));
    return consume(elements(filter_seq([](auto x) { return the(x) > 0; },
                                       append_seq(map_seq([](auto x) { return x; }, given), pushed))));
  };
  for (const char* scheduler : {"adaptive", "fixed:1", "fixed:2", "fixed:7"}) {
    INFO(scheduler);
    auto stream = push_stream<Scalar<double>>(program, {.scheduler = scheduler});
    for (const double x : {5.0, 7.0, -2.0, 9.0, 11.0, 13.0}) stream.push(Scalar<double>(x));
    require_same(stream.finish(), Vector<double>{1, 3, 5, 7, 9, 11, 13});
  }
}

TEST_CASE("stream_out gives the items before the one that a state fails for", "[once]") {
  const auto items = produce(100, [](auto i) { return unit(i); });
  const auto at_once = map_accum_seq(
      [](auto state, auto x) {
        const auto next = unit(the(state) + 100 / (the(x) - 37));
        return std::pair(next, next);
      },
      unit(std::int64_t{0}), items);
  const auto one_by_one = map_accum_seq(
      [](auto state, auto x) {
        const auto next = unit(the(state) % 1000 * 3 + 100 / (the(x) - 37));
        return std::pair(next, next);
      },
      unit(std::int64_t{0}), items);
  for (const auto& s : {at_once, one_by_one})
    for (const char* scheduler : {"adaptive", "fixed:1", "fixed:7", "fixed:64", "fixed:1000"})
      for (const int threads : {1, 2}) {
        INFO(scheduler << ", " << threads << " threads");
        int given = 0;
        CHECK_THROWS_AS(
            [&] {
              for (const auto& item : stream_out(s, {.threads = threads, .scheduler = scheduler})) {
                REQUIRE(item.size() == 1);
                ++given;
              }
            }(),
            RunError);
        CHECK(given == 37);
      }
}

TEST_CASE("stream_out gives the windows before the block that fails", "[once]") {
  const auto blocks = produce(20, [](auto i) {
    return generate(std::int64_t{50}, [=](auto k) { return cast<double>(100 / (i - 13) + k); });
  });
  for (const int hop : {10, 70, 130})
    for (const char* scheduler : {"adaptive", "fixed:1", "fixed:7", "fixed:1000"}) {
      INFO(hop << ", " << scheduler);
      const auto given = [&](const RunOptions& options) {
        int count = 0;
        CHECK_THROWS_AS(
            [&] {
              for (const auto& item : stream_out(map_seq(total, windows(blocks, 70, hop)), options)) {
                REQUIRE(item.size() == 1);
                ++count;
              }
            }(),
            RunError);
        return count;
      };
      CHECK(given({.scheduler = scheduler}) == given({.backend = Backend::interpreter}));
    }
}

TEST_CASE("tabulate holds about its result, however large items are before they are trimmed") {
  // 40 MB of items, of which 0.8 or 2.4 MB stay; their shapes get smaller late, once in the first and once in the second extent.
  constexpr std::int64_t count = 50'000;
  const auto items = produce(count, [](auto i) {
    const auto rows = cond(i < 30'000, std::int64_t{10}, std::int64_t{3});
    const auto columns = cond(i % 7 == 0, std::int64_t{2}, cond(i < 45'000, std::int64_t{15}, i % 5 + 2));
    return generate(index_of(rows, columns), [=](auto ix) { return i * 100 + ix[0] * 10 + ix[1]; });
  });
  for (const char* scheduler : {"adaptive", "fixed:3000", "fixed:10000"}) {
    const auto table = run(consume(tabulate(items)), {.memory = 24 << 20, .scheduler = scheduler});
    REQUIRE(table.shape() == Index{count, 3, 2});
    bool same = true;
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t r = 0; r < 3; ++r)
        for (std::int64_t c = 0; c < 2; ++c) same = same && table[Index{i, r, c}] == i * 100 + r * 10 + c;
    CHECK(same);
  }
}

TEST_CASE("tabulate trims large items, of which there are few, too") {
  // 40 MB, of which 5 KB stay.
  const auto items = produce(500, [](auto i) {
    return generate(cond(i == 1, std::int64_t{1}, i * 0 + 10'000), [=](auto ix) { return i + ix; });
  });
  for (const int threads : {1, 2}) {
    const auto table = run(consume(tabulate(items)), {.threads = threads, .memory = 16 << 20});
    REQUIRE(table.shape() == Index{500, 1});
    for (std::int64_t i = 0; i < 500; ++i) REQUIRE(table[Index{i, 0}] == i);
  }
}

TEST_CASE("little memory: what stages leave idle gives way to what comes after them", "[once]") {
  static constexpr std::int64_t count = 1'000'000;
  const auto items = produce(
      1, [](auto) { return generate(count, [](auto k) { return cast<double>(k * 7919 % (count + 3)); }); });
  const auto first = consume(elements(map_seq(
      [](auto v) {
        const auto t = sort(v);
        return unit(t[size(t) - 1] - t[0]);
      },
      items)));
  const auto after = map([=](auto k) { return cast<double>(k) + first[0]; }, iota(2'250'000));  // 18 MB
  CHECK(run(after, {.threads = 1, .memory = 36 << 20}).size() == 2'250'000);
}

}  // namespace
}  // namespace anabranch::testing
