#include <stdexcept>

#include "agree.h"
#include "support/memory_sink.h"
#include "support/memory_source.h"

// write: what sinks get of every kind of stream, in every configuration, and what becomes of runs that fail.
namespace anabranch::testing {
namespace {

using Catch::Matchers::Contains;

ReadArray read_array(const HostArray& array) {
  ReadArray out{array->extents, {}};
  for (std::size_t c = 0; c < array->scalars.size(); ++c) {
    out.components.emplace_back();
    if (array->size() > 0)
      out.components.back().assign(static_cast<const char*>(array->buffers[c].get()),
                                   static_cast<std::size_t>(array->size()) * size_of(array->scalars[c]));
  }
  return out;
}
template <int N, class T>
ReadItem read_item(const Array<N, T>& array) {
  return {read_array(array.erased())};
}
template <class... As>
ReadItem read_item(const std::tuple<As...>& arrays) {
  return std::apply([](const auto&... a) { return ReadItem{read_array(a.erased())...}; }, arrays);
}

template <class A, class S = MemorySink>
std::shared_ptr<S> sink_for(const Seq<A>&, MemorySink::Hook hook = {}) {
  return std::make_shared<S>("sink", detail::sink_arrays<A>(), std::move(hook));
}

/// The sink gets the items that stream_out gives, however they are computed, and says how many.
template <class A>
void check_written(const Seq<A>& sequence, std::int64_t count, Loc at = Loc::current()) {
  ReadItems expected;
  for (const A& item : stream_out(sequence, {.backend = Backend::interpreter}))
    expected.push_back(read_item(item));
  REQUIRE(static_cast<std::int64_t>(expected.size()) == count);
  const auto sink = sink_for<A, SameAgainSink>(sequence);
  CHECK(agree(consume(write(sequence, Sink<A>(sink))), at) == count);
  CHECK(sink->items == expected);
  CHECK(sink->begun == sink->commits);
  CHECK(sink->begun == sink->destroyed);
}

std::vector<Vector<double>> some_rows() {
  std::vector<Vector<double>> rows;
  for (std::int64_t n : {5, 0, 64, 1, 0, 0, 130, 17, 33})
    rows.push_back(numbers<double>(n, static_cast<std::uint64_t>(n)));
  return rows;
}

const auto scale = [](auto row) { return map([](auto x) { return x * 2.0 + 1.0; }, row); };

TEST_CASE("write: scalars, vectors and matrices of all forms, and no items") {
  const auto rows = some_rows();
  check_written(stream_in(rows), 9);
  check_written(map_seq(scale, stream_in(rows)), 9);
  check_written(map_seq([](auto row) { return sum(row); }, stream_in(rows)), 9);
  check_written(map_seq(scale, anabranch::rows(use(Matrix<double>(Index{7, 5})))), 7);
  check_written(map_seq([](auto row) { return sum(row); }, stream_in(std::vector<Vector<double>>{})), 0);
  check_written(map_seq(scale, stream_in(std::vector<Vector<double>>{})), 0);
  check_written(map_seq([](auto) { return use(Vector<float>{1, 2}); }, stream_in(rows)), 9);
  // Which extents differ.
  check_written(map_seq([](auto row) { return replicate(row, 3, all); }, stream_in(rows)), 9);
  check_written(map_seq([](auto row) { return replicate(row, all, 3); }, stream_in(rows)), 9);
  check_written(map_seq([](auto row) { return outer_product(row, row); }, stream_in(rows)), 9);
  check_written(produce(20,
                        [](auto i) {
                          return generate(index_of(i % 3, 2, i % 2, i % 4), [=](auto ix) {
                            return ix[0] + 10 * ix[1] + 100 * ix[2] + 1000 * ix[3] + i;
                          });
                        }),
                20);
  check_written(take_seq(4, map_seq(scale, stream_in(rows))), 4);
  check_written(
      produce(9, [](auto i) { return generate(index_of(i % 3, 0), [](auto ix) { return ix[0] + ix[1]; }); }),
      9);
}

TEST_CASE("write: elements of several components, items of several arrays, and components of these") {
  const auto rows = some_rows();
  check_written(
      map_seq([](auto row) { return zip(row, map([](auto x) { return cast<std::int32_t>(x); }, row)); },
              stream_in(rows)),
      9);
  const auto tuples = map_seq(
      [](auto row) {
        return std::tuple(sum(row), row, outer_product(row, take(2, row)),
                          fill(3, cast<float>(the(sum(row)))));
      },
      stream_in(rows));
  check_written(tuples, 9);
  auto [total, row, products, constants] = unzip_seq(tuples);
  check_written(products, 9);
  const auto again =
      map_seq([](auto a, auto b, auto c, auto d) { return std::tuple(d, a, a, c, b); }, tuples);
  check_written(again, 9);
}

TEST_CASE("write: files of sinks and other terminals share one pass") {
  const auto source = ragged<double>("items", {{1, 2}, {}, {3}, {4, 5, 6}});
  const auto items = map_seq([](auto row) { return std::tuple(scale(row), sum(row)); },
                             stream_in(Source<Vector<double>>(source)));
  auto [scaled, sums] = unzip_seq(items);
  const auto both = sink_for(items), one = sink_for(scaled), same = sink_for(scaled);
  const auto program =
      compile(std::tuple(consume(write(items, Sink<std::tuple<Vector<double>, Scalar<double>>>(both))),
                         consume(elements(scaled)), consume(write(scaled, Sink<Vector<double>>(one))),
                         consume(elements(sums)), consume(write(scaled, Sink<Vector<double>>(same)))));
  for (const RunOptions& options : configurations()) {
    source->rewinds = 0;
    auto [count, all, second, totals, third] = program.run(options);
    CHECK(source->rewinds == 1);
    CHECK((count[0] == 4 && second[0] == 4 && third[0] == 4));
    require_same(all, Vector<double>{3, 5, 7, 9, 11, 13});
    require_same(totals, Vector<double>{3, 0, 3, 15});
    CHECK(both->items.size() == 4);
    CHECK(one->items == same->items);
    CHECK(one->items == ReadItems{vector_item<double>({3, 5}), vector_item<double>({}),
                                  vector_item<double>({7}), vector_item<double>({9, 11, 13})});
  }
}

TEST_CASE("write: what is known before the first item", "[once]") {
  const auto tuples =
      map_seq([](auto row) { return std::tuple(row, replicate(row, all, 3), fill(2, 1.0F), sum(row)); },
              stream_in(some_rows()));
  const auto sink = sink_for(tuples);
  run(consume(
      write(tuples, Sink<std::tuple<Vector<double>, Matrix<double>, Vector<float>, Scalar<double>>>(sink))));
  using Extents = std::vector<std::optional<std::int64_t>>;
  REQUIRE(sink->declared.size() == 4);
  CHECK(sink->declared[0].extents == Extents{std::nullopt});
  CHECK(sink->declared[1].extents == Extents{std::nullopt, 3});
  CHECK(sink->declared[2].extents == Extents{2});
  CHECK(sink->declared[3].extents.empty());
}

TEST_CASE("write: sinks are finished when all has been computed, and put in place when all are finished",
          "[once]") {
  std::string said;
  const auto hook = [&](const std::string& who) {
    return [&said, who](const std::string& what, int before) {
      if (what != "write" || before == 0) said += who + " " + what + ", ";
    };
  };
  const auto first = stream_in(some_rows());
  const auto second = produce(3, [](auto i) { return fill(i, 1.0); });
  const auto a = sink_for(first, hook("a")), b = sink_for(first, hook("b")), c = sink_for(second, hook("c"));
  for (const Backend backend : {Backend::interpreter, Backend::cpu}) {
    said.clear();
    run(std::tuple(consume(write(first, Sink<Vector<double>>(a))),
                   consume(write(first, Sink<Vector<double>>(b))),
                   consume(write(second, Sink<Vector<double>>(c)))),
        {.backend = backend});
    for (const char* who : {"a", "b", "c"}) {
      const auto at = [&](const char* what) { return said.find(who + std::string(what)); };
      CHECK(at(" begin") < at(" write"));
      CHECK(at(" write") < said.find(" finish"));
      CHECK(at(" finish") < said.find(" commit"));
      CHECK(at(" commit") != std::string::npos);
    }
    CHECK(a->items.size() == 9);
    CHECK(c->items.size() == 3);
  }
}

TEST_CASE("write: sinks are committed in the order of the results, whichever was built first") {
  std::string said;
  const auto hook = [&](const char* who) {
    return [&said, who](const std::string& what, int) {
      if (what == "commit") said += who;
    };
  };
  const auto one = stream_in(some_rows());
  const auto other = produce(3, [](auto i) { return fill(i, 1.0); });
  const auto a = sink_for(one, hook("a")), b = sink_for(one, hook("b")), c = sink_for(other, hook("c"));
  const auto last = consume(write(other, Sink<Vector<double>>(c)));
  const auto second = consume(write(one, Sink<Vector<double>>(b)));
  const auto first = consume(write(one, Sink<Vector<double>>(a)));
  for (const Backend backend : {Backend::interpreter, Backend::cpu}) {
    said.clear();
    run(std::tuple(first, second, last), {.backend = backend});
    CHECK(said == "abc");
    said.clear();
    run(std::tuple(last, first, second), {.backend = backend});
    CHECK(said == "cab");
  }
}

TEST_CASE("sinks of one stream, of which one needs what another stream gives, or the same one") {
  const auto one = map_seq([](auto row) { return sum(row); }, stream_in(some_rows()));
  const auto all = consume(elements(one));
  for (const auto& total :
       {sum(consume(elements(produce(3, [](auto i) { return fill(i, 1.0); })))), sum(all)}) {
    const auto added = consume(fold_seq(
        [=](auto x, auto y) { return zip_with([=](auto p, auto q) { return p + q + the(total); }, x, y); },
        unit(Exp<double>(0)), one));
    const auto [sums, expected] = run(std::tuple(all, added), {.backend = Backend::interpreter});
    for (const RunOptions& options : configurations()) {
      const auto [values, found] = run(std::tuple(all, added), options);
      CHECK(same(values.erased(), sums.erased()));
      CHECK(same(found.erased(), expected.erased()));
    }
  }
}

class Full : public std::runtime_error {
 public:
  Full() : std::runtime_error("the disk is full") {}
};

TEST_CASE("write: what a sink throws reaches the caller, nothing appears, and the next run works") {
  const auto rows = map_seq(scale, stream_in(some_rows()));
  for (const char* when : {"begin", "write", "finish", "commit"}) {
    for (const int at : {0, 3, 8}) {
      if (at > 0 && when != std::string("write")) continue;
      bool fails = true;
      const auto sink = sink_for(rows, [&](const std::string& what, int before) {
        if (fails && what == when && before >= at && (what == "write" ? before == at : true)) throw Full();
      });
      const auto other = sink_for(rows);
      const auto program =
          compile(std::tuple(consume(write(rows, Sink<Vector<double>>(sink))), consume(elements(rows)),
                             consume(write(rows, Sink<Vector<double>>(other)))));
      std::vector<RunOptions> all = configurations();
      all.push_back({.backend = Backend::interpreter});
      for (const RunOptions& options : all) {
        const bool one_by_one = options.scheduler == "fixed:1" || options.backend == Backend::interpreter;
        if (at > 0 && !one_by_one) continue;  // there are not so many chunks
        INFO(when << " " << at << ", " << to_string(options));
        fails = true;
        sink->commits = other->commits = 0;
        const int begun = sink->begun, before = sink->destroyed;
        CHECK_THROWS_AS(program.run(options), Full);
        CHECK(sink->commits + other->commits == 0);
        fails = false;
        CHECK(std::get<0>(program.run(options))[0] == 9);
        CHECK((sink->commits == 1 && other->commits == 1));
        CHECK(sink->begun - begun == 2);
        CHECK(sink->destroyed - before == (when == std::string("begin") ? 1 : 2));
      }
    }
  }
}

TEST_CASE("write: of a run that fails at any item nothing appears") {
  for (const std::int64_t at : {0, 100, 199}) {
    const auto items = produce(200, [=](auto i) { return fill(i % 5 + 1, std::int64_t{7} / (i - at)); });
    const auto sink = sink_for(items);
    fails<RunError>(consume(write(items, Sink<Vector<std::int64_t>>(sink))), {"by zero"});
    CHECK(sink->commits == 0);
    CHECK(sink->begun == sink->destroyed);
  }
  // Of a later part of the program, too.
  const auto items = produce(20, [](auto i) { return fill(i % 5, 1.0); });
  const auto sink = sink_for(items);
  const auto count = consume(write(items, Sink<Vector<double>>(sink)));
  fails<RunError>(map([](auto n) { return std::int64_t{1} / (n - 20); }, count), {"by zero"});
  CHECK(sink->commits == 0);
}

TEST_CASE("write: a run that is stopped leaves nothing", "[once]") {
  const auto items = produce(100'000, [](auto i) { return fill(i % 5, 1.0); });
  const auto sink = sink_for(items);
  const auto program = compile(consume(write(items, Sink<Vector<double>>(sink))));
  for (const Backend backend : {Backend::interpreter, Backend::cpu}) {
    std::stop_source stop;
    RunOptions options{.backend = backend, .scheduler = "fixed:1", .stop = stop.get_token()};
    options.progress = [&](const Progress& progress) {
      if (progress.items == 50) stop.request_stop();
    };
    CHECK_THROWS_AS(program.run(options), Cancelled);
    CHECK(sink->commits == 0);
    CHECK(sink->begun == sink->destroyed);
  }
}

TEST_CASE("write: results far larger than the memory bound", "[once]") {
  class Counter final : public SinkBase {
   public:
    class Pass final : public SinkPass {
     public:
      explicit Pass(Counter& sink) : sink_(sink) { sink_.sum = 0; }
      void write(const SinkChunk& chunk) override {
        const auto* values = static_cast<const double*>(chunk.arrays[0].data[0].get());
        for (std::int64_t i = 0; i < chunk.items; ++i) sink_.sum += values[i * 2048];
      }
      void finish() override {}
      void commit() override {}

     private:
      Counter& sink_;
    };
    Counter() {
      info_.name = "counter";
      info_.arrays = {{{ScalarType::float64}, 1}};
    }
    const SinkInfo& info() const override { return info_; }
    std::unique_ptr<SinkPass> begin(const SinkStart&) override { return std::make_unique<Pass>(*this); }
    double sum = 0;

   private:
    SinkInfo info_;
  };
  const auto sink = std::make_shared<Counter>();
  // 16 KB each, 64 MB together.
  const auto items = produce(4000, [](auto i) { return fill(2048, cast<double>(i)); });
  const auto program = compile(consume(write(items, Sink<Vector<double>>(sink))));
  for (const char* scheduler : {"adaptive", "paper", "fixed:1", "fixed:50", "fixed:1000000"})
    for (const int threads : {1, 2}) {
      INFO(scheduler << ", " << threads);
      RunReport report;
      CHECK(program.run({.threads = threads, .memory = 2 << 20, .scheduler = scheduler}, &report)[0] == 4000);
      CHECK(report.peak_bytes <= 2 << 20);
      CHECK(sink->sum == 4000.0 * 3999 / 2);
    }
  CHECK_THROWS_AS(program.run({.memory = 12 << 10}), ResourceError);
}

TEST_CASE("write: items that are kept in memory, too, whatever memory there is", "[once]") {
  std::vector<Vector<double>> rows;
  for (std::int64_t n = 0; n < 300; ++n)
    rows.push_back(numbers<double>(n % 37, static_cast<std::uint64_t>(n)));
  const auto items = map_seq(scale, map_seq(scale, stream_in(rows)));
  const auto sink = sink_for(items);
  const auto program =
      compile(std::tuple(consume(write(items, Sink<Vector<double>>(sink))), consume(elements(items))));
  auto [count, expected] = program.run();
  const ReadItems written = sink->items;
  for (const char* scheduler : {"adaptive", "paper", "fixed:1", "fixed:7", "fixed:1000000"})
    for (const int threads : {1, 2, 4})
      for (std::int64_t memory = 128, runs = 0; runs < 3; memory *= 2) {
        INFO(scheduler << ", " << threads << " threads, " << memory << " bytes");
        sink->items.clear();
        const int commits = sink->commits;
        try {
          auto [again, all] = program.run({.threads = threads, .memory = memory, .scheduler = scheduler});
          CHECK(again[0] == count[0]);
          require_same(all, expected);
          CHECK(sink->items == written);
          ++runs;
        } catch (const ResourceError&) {
          CHECK(sink->commits == commits);
          REQUIRE(memory < 1 << 20);
        }
      }
}

TEST_CASE("write: a sink may keep chunks where it is told that it may", "[once]") {
  class Keeper final : public SinkBase {
   public:
    class Pass final : public SinkPass {
     public:
      explicit Pass(Keeper& sink) : sink_(sink) {}
      void write(const SinkChunk& chunk) override {
        CHECK(chunk.keeps);
        sink_.chunks.push_back(chunk);
      }
      void finish() override {}
      void commit() override {}

     private:
      Keeper& sink_;
    };
    Keeper() {
      info_.name = "keeper";
      info_.arrays = {{{ScalarType::int64}, 0}};
    }
    const SinkInfo& info() const override { return info_; }
    std::unique_ptr<SinkPass> begin(const SinkStart&) override { return std::make_unique<Pass>(*this); }
    std::vector<SinkChunk> chunks;

   private:
    SinkInfo info_;
  };
  const auto sink = std::make_shared<Keeper>();
  const auto items = produce(1000, [](auto i) { return unit(i * 3); });
  const auto program = compile(consume(write(items, Sink<Scalar<std::int64_t>>(sink))));
  program.run({.memory = 1 << 20, .scheduler = "fixed:64"});
  std::int64_t next = 0;
  for (const SinkChunk& chunk : sink->chunks)
    for (std::int64_t i = 0; i < chunk.items; ++i)
      REQUIRE(static_cast<const std::int64_t*>(chunk.arrays[0].data[0].get())[i] == 3 * next++);
  CHECK(next == 1000);
  // What is kept counts.
  sink->chunks.clear();
  CHECK_THROWS_AS(program.run({.memory = 4 << 10, .scheduler = "fixed:64"}), ResourceError);
}

TEST_CASE("write: where a program may not write", "[once]") {
  const auto items = produce(3, [](auto i) { return fill(i, 1.0); });
  const auto sink = sink_for(items);
  const Sink<Vector<double>> to(sink);
  const auto message = [](auto make) -> std::string {
    try {
      make();
    } catch (const ProgramError& e) {
      return e.what();
    }
    return "";
  };
  CHECK_THAT(message([&] {
               compile(consume(elements(map_seq(
                   [&](auto row) {
                     return consume(write(map_seq([](auto x) { return x; }, rows(row)),
                                          Sink<Scalar<double>>(sink_for(rows(row)))));
                   },
                   items))));
             }),
             Contains("write (write_test.cpp:") && Contains("inside of the function of a sequence") &&
                 Contains("sink"));
  CHECK_THAT(
      message([&] {
        compile(awhile(
            [](auto n) { return the(n) < 5; },
            [&](auto n) { return consume(write(produce(the(n), [](auto i) { return fill(i, 1.0); }), to)); },
            unit(std::int64_t{1})));
      }),
      Contains("inside of a loop or a branch"));
  CHECK_THAT(message([&] {
               const auto twice = produce(4, [](auto i) { return fill(i, 2.0); });
               run(std::tuple(consume(write(items, to)), consume(write(twice, to))));
             }),
             Contains("writes to the sink sink twice"));
  // What is written once, before a loop, is.
  const auto count = consume(write(items, to));
  CHECK(run(awhile([](auto n) { return the(n) < 10; }, [&](auto n) { return zip_with(plus, n, count); },
                   unit(std::int64_t{0})))[0] == 12);
  CHECK(sink->items.size() == 3);
  // The same twice is one.
  CHECK(std::get<1>(run(std::tuple(consume(write(items, to)), consume(write(items, to)))))[0] == 3);
  CHECK_THAT(message([&] { (void)Sink<Vector<float>>(sink); }),
             Contains("sink sink: takes Vector double, the program gives Vector float"));
  CHECK_THAT(message([&] { (void)Sink<std::tuple<Vector<double>, Vector<double>>>(sink); }),
             Contains("takes 1 arrays"));
}

TEST_CASE("write: what a streamed sequence captures is written before its first item", "[once]") {
  const auto items = produce(3, [](auto i) { return fill(i, 1.0); });
  for (const Backend backend : {Backend::interpreter, Backend::cpu}) {
    const auto sink = sink_for(items);
    const auto count = consume(write(items, Sink<Vector<double>>(sink)));
    std::int64_t sum = 0;
    for (const auto& item : stream_out(map_seq([&](auto i) { return zip_with(plus, i, count); },
                                               produce(4, [](auto i) { return unit(i); })),
                                       {.backend = backend})) {
      CHECK(sink->commits == 1);
      sum += item[0];
    }
    CHECK(sum == 6 + 4 * 3);
  }
}

}  // namespace
}  // namespace anabranch::testing
