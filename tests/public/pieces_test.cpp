#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "agree.h"
#include "io/matrix_files.h"
#include "support/memory_source.h"
#include "support/trace_file.h"

// Runs whose sources are read in pieces (SourceBase::split): several threads read and compute a piece each, and nobody
// sees that.
namespace anabranch::testing {
namespace {

using Rows = std::vector<std::vector<double>>;

/// Vectors of 0 to 40 elements, some of them empty.
Rows rows_of(int count) {
  Rows rows;
  for (int i = 0; i < count; ++i) {
    const auto n = static_cast<std::int64_t>(mixed(static_cast<std::uint64_t>(i)) % 41);
    auto& row = rows.emplace_back();
    for (std::int64_t k = 0; k < (i % 7 == 3 ? 0 : n); ++k)
      row.push_back(number<double>(static_cast<std::uint64_t>(1000 * i + k)));
  }
  return rows;
}

std::shared_ptr<MemorySource> in_pieces(const Rows& rows) {
  auto source = ragged<double>("pieces", rows);
  source->read_in_pieces();
  return source;
}
Seq<Vector<double>> stream(const std::shared_ptr<MemorySource>& source) {
  return stream_in(Source<Vector<double>>(source));
}

const auto total = [](Acc<Vector<double>> row) { return sum(row); };
const auto doubled = [](Acc<Vector<double>> row) { return map([](auto v) { return v * 2.0; }, row); };
/// Reads what a kernel before it has written.
const auto sorted = [](Acc<Vector<double>> row) { return sort(row); };

template <class R>
R run_with(const Program<Acc<R>>& program, int threads, const std::string& scheduler = "fixed:3") {
  return program.run({.threads = threads, .scheduler = scheduler});
}

TEST_CASE("results of pieces: of known places, held, and both in one pass") {
  for (const int items : {0, 1, 2, 100, 1000}) {
    const auto source = in_pieces(rows_of(items));
    agree(consume(elements(map_seq(total, stream(source)))));
    agree(consume(elements(map_seq(doubled, stream(source)))));
    agree(consume(tabulate(map_seq(sorted, stream(source)))));
    const auto rows = stream(source);
    agree(
        std::tuple(consume(elements(map_seq(doubled, rows))), consume(elements(map_seq(total, rows))),
                   consume(tabulate(map_seq([](auto row) { return fill(Index{3}, the(sum(row))); }, rows)))));
  }
}

TEST_CASE("pieces of regular items") {
  std::vector<Item> items;
  for (int i = 0; i < 200; ++i) items.push_back({numbers<double>(6, static_cast<std::uint64_t>(i)).erased()});
  const auto source = std::make_shared<MemorySource>(
      "regular", std::vector{array_info({ScalarType::float64}, {6}, -1)}, items);
  source->read_in_pieces();
  const auto s = stream(source);
  agree(std::tuple(consume(tabulate(map_seq(doubled, s))), consume(elements(map_seq(total, s)))));
}

TEST_CASE("pieces are read in step with others that end elsewhere, and with what lies in memory") {
  const auto both = [](Acc<Vector<double>> a, Acc<Vector<double>> b) {
    return unit(the(sum(a)) + the(sum(b)) * 3.0);
  };
  const auto plus_number = [](Acc<Vector<double>> a, Acc<Scalar<std::int64_t>> i) {
    return map([=](auto v) { return v + cast<double>(the(i)); }, a);
  };
  for (const int second : {0, 70, 300}) {
    // Their items differ in size, so a limit of work or bytes ends their pieces in different places.
    Rows longer = rows_of(second);
    for (auto& row : longer) row.resize(row.size() * 3, 1.5);
    const auto a = in_pieces(rows_of(200)), b = in_pieces(longer);
    agree(consume(elements(zip_with_seq(both, stream(a), stream(b)))));
    const auto in_memory = ragged<double>("memory", longer);
    agree(consume(elements(zip_with_seq(both, stream(a), stream(in_memory)))));
    agree(consume(elements(zip_with_seq(both, stream(in_memory), stream(a)))));
    agree(consume(
        elements(zip_with_seq(plus_number, stream(a), produce(second, [](auto i) { return unit(i); })))));
    agree(consume(elements(map_seq(total, take_seq(std::int64_t{second}, stream(a))))));
  }
}

TEST_CASE("pieces of several sources that all end elsewhere") {
  const auto of_all = [](const auto&... arrays) {
    Exp<double> value = 0.0;
    ((value = value * 3.0 + the(sum(arrays))), ...);
    return unit(value);
  };
  for (const int shortest : {0, 60, 150}) {
    std::vector<std::shared_ptr<MemorySource>> sources;
    for (const int factor : {1, 4, 2, 3, 5}) {
      Rows rows = rows_of(factor == 2 ? shortest : 150 + 10 * factor);
      for (auto& row : rows) row.resize(row.size() * static_cast<std::size_t>(factor), 1.5);
      sources.push_back(in_pieces(rows));
    }
    const auto in_memory = ragged<double>("memory", rows_of(200));
    agree(consume(elements(zip_with_seq(of_all, stream(sources[0]), stream(sources[1]), stream(sources[2]),
                                        stream(in_memory), stream(sources[3]), stream(sources[4])))));
  }
}

TEST_CASE("sequences inside of the items of pieces") {
  const auto inner = [](Acc<Vector<double>> row) {
    return consume(
        elements(map_seq([](Acc<Scalar<double>> v) { return unit(the(v) * 2.0); }, rows(sort(row)))));
  };
  agree(consume(elements(map_seq(inner, stream(in_pieces(rows_of(120)))))));
}

/// Elements are divided by the number of elements: fails for an empty row.
const auto part_of_size = [](Acc<Vector<double>> row) { return unit(std::int64_t{1000} / size(row)); };

TEST_CASE("the lowest item that fails is named, whichever piece fails first") {
  Rows rows = rows_of(0);
  for (int i = 0; i < 100; ++i) rows.push_back({1.0, 2.0});
  for (const std::size_t bad : {0U, 57U, 99U}) {
    Rows with = rows;
    with[bad].clear();
    if (bad == 57) with[90].clear();
    fails<RunError>(consume(elements(map_seq(part_of_size, stream(in_pieces(with))))),
                    {"item " + std::to_string(bad), "division"});
  }
}

/// While the second of pieces of three items is being read, one that is not counted before, those behind it are read.
class SecondIsLast {
 public:
  void read(std::int64_t first) {
    std::unique_lock lock(mutex_);
    latest_ = std::max(latest_, first);
    changed_.notify_all();
    if (first != 3) return;
    if (!changed_.wait_for(lock, std::chrono::seconds(10), [this] { return latest_ >= until; })) alone = true;
    lock.unlock();
    std::this_thread::sleep_for(after);
  }
  std::int64_t until = 6;
  std::chrono::milliseconds after{0};
  bool alone = false;  ///< nobody has read them

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t latest_ = 0;
};

TEST_CASE("pieces are computed although it is not known which items they have") {
  Rows rows = rows_of(60);
  const auto source = in_pieces(rows);
  const auto s = stream(source);
  const auto program = compile(
      std::tuple(consume(elements(map_seq(doubled, s))), consume(elements(map_seq(total, s))),
                 consume(tabulate(map_seq([](auto row) { return fill(Index{3}, the(sum(row))); }, s)))));
  const auto expected = program.run({.backend = Backend::interpreter});
  SecondIsLast last;
  last.until = 9;  // so who reads that has computed the one before
  source->on_read = [&](std::int64_t first, std::int64_t) { last.read(first); };
  CHECK(program.run({.threads = 2, .scheduler = "fixed:3"}) == expected);
  CHECK_FALSE(last.alone);
}

TEST_CASE("a piece that fails before it is known which items it has names its item all the same") {
  for (const std::size_t bad : {6U, 7U, 8U}) {
    Rows rows(60, {1.0, 2.0});
    rows[bad].clear();
    const auto source = in_pieces(rows);
    const auto program = compile(consume(elements(map_seq(part_of_size, stream(source)))));
    for (const std::int64_t until : {6, 0}) {
      SecondIsLast last;
      last.until = until;
      last.after = std::chrono::milliseconds(until == 6 ? 30 : 0);  // in which it fails
      source->on_read = [&](std::int64_t first, std::int64_t) { last.read(first); };
      try {
        program.run({.threads = 2, .scheduler = "fixed:3"});
        FAIL("no exception");
      } catch (const RunError& e) {
        CHECK(e.item() == static_cast<std::int64_t>(bad));
      }
      CHECK_FALSE(last.alone);
    }
  }
}

struct Unreadable {
  std::int64_t first;
};

TEST_CASE("an exception while a piece is read reaches the caller with its type; the next run works") {
  for (const std::int64_t bad : {0, 50, 99}) {
    const auto source = in_pieces(Rows(100, {1.0, 2.0}));
    const auto program = compile(consume(elements(map_seq(total, stream(source)))));
    std::atomic<bool> broken = true;
    source->on_read = [&](std::int64_t first, std::int64_t items) {
      if (broken && first <= bad && bad < first + items) throw Unreadable{bad};
    };
    for (const int threads : {1, 2, 4})
      for (const char* scheduler : {"fixed:1", "fixed:7", "adaptive"}) {
        broken = true;
        try {
          run_with<Vector<double>>(program, threads, scheduler);
          FAIL("no exception");
        } catch (const Unreadable& e) {
          CHECK(e.first == bad);
        }
        broken = false;
        CHECK(run_with<Vector<double>>(program, threads, scheduler).size() == 100);
      }
  }
}

TEST_CASE("what is found when a piece is complete comes in the order of the stream, and ends the run") {
  const auto source = in_pieces(Rows(100, {1.0, 2.0}));
  std::int64_t completed = 0;
  source->on_complete = [&](std::int64_t first, std::int64_t items) {
    REQUIRE(first == completed);
    completed += items;
    if (completed == 100) throw DataError("pieces: the checksum is another one");
  };
  const auto program = compile(consume(elements(map_seq(total, stream(source)))));
  for (const int threads : {1, 2, 4}) {
    completed = 0;
    CHECK_THROWS_AS(run_with<Vector<double>>(program, threads), DataError);
    CHECK(completed == 100);
  }
}

TEST_CASE("pieces are read by several threads at once") {
  // Reading ends only when two pieces are being read.
  const auto source = in_pieces(Rows(64, {1.0, 2.0}));
  std::mutex mutex;
  std::condition_variable changed;
  int reading = 0, most = 0;
  source->on_read = [&](std::int64_t, std::int64_t) {
    std::unique_lock lock(mutex);
    most = std::max(most, ++reading);
    changed.notify_all();
    changed.wait_for(lock, std::chrono::seconds(10), [&] { return most >= 2; });
    --reading;
  };
  const auto program = compile(consume(elements(map_seq(total, stream(source)))));
  run_with<Vector<double>>(program, 2);
  CHECK(most >= 2);
}

TEST_CASE("progress of pieces comes in order, one at a time") {
  const auto source = in_pieces(rows_of(300));
  const auto program = compile(consume(elements(map_seq(doubled, stream(source)))));
  for (const int threads : {1, 2, 4}) {
    RunReport report;
    std::int64_t items = 0, chunks = 0;
    RunOptions options{.threads = threads, .scheduler = "fixed:7"};
    options.progress = [&](const Progress& now) {
      CHECK(now.items > items);
      CHECK(now.chunks == ++chunks);
      CHECK(now.total_items == 300);
      items = now.items;
    };
    program.run(options, &report);
    CHECK(items == 300);
    CHECK(report.items == 300);
    CHECK(report.chunks == (300 + 6) / 7);
    CHECK(report.utilisation > 0);
  }
}

TEST_CASE("a stop request ends a run in pieces") {
  const auto source = in_pieces(Rows(5000, {1.0, 2.0}));
  const auto program = compile(consume(elements(map_seq(total, stream(source)))));
  for (const int threads : {1, 2, 4})
    for (const std::int64_t at : {0, 7, 300}) {
      std::stop_source stop;
      RunOptions options{.threads = threads, .scheduler = "fixed:5", .stop = stop.get_token()};
      if (at == 0) stop.request_stop();
      options.progress = [&](const Progress& now) {
        if (now.chunks == at) stop.request_stop();
      };
      CHECK_THROWS_AS(program.run(options), Cancelled);
      CHECK(run_with<Vector<double>>(program, threads).size() == 5000);
    }
}

TEST_CASE("traces of pieces are printed in the order of the stream") {
  const auto source = in_pieces(rows_of(60));
  const auto program = compile(
      consume(elements(map_seq([](Acc<Vector<double>> row) { return trace("row", row); }, stream(source)))));
  std::vector<std::string> lines;
  RunOptions options{.threads = 4, .scheduler = "fixed:2"};
  options.print = [&](std::string_view line) { lines.emplace_back(line); };
  program.run(options);
  REQUIRE(lines.size() == 60);
  for (std::size_t i = 0; i < lines.size(); ++i)
    CHECK_THAT(lines[i], Catch::StartsWith("row, item " + std::to_string(i) + " "));
}

TEST_CASE("what functions join is computed in pieces, unless they print") {
  const auto totals = map_seq(total, stream(in_pieces(rows_of(5000))));
  const auto runs_in_pieces = [&](auto join) {
    const auto sum_of_all = consume(fold_seq(join, unit(0.0), totals));
    agree(sum_of_all);
    RunReport report;
    run(sum_of_all, {.threads = 2, .scheduler = "fixed:7", .print = [](std::string_view) {}}, &report);
    return report.stages.at(0).in_pieces;
  };
  CHECK(runs_in_pieces([](auto x, auto y) { return unit(the(x) + the(y)); }));
  CHECK_FALSE(runs_in_pieces([](auto x, auto y) { return trace("", unit(the(x) + the(y))); }));
}

TEST_CASE("a timeline of pieces: each in the row of its slot, with its kernels") {
  const io_test::TemporaryDirectory dir;
  const auto source = in_pieces(rows_of(300));
  const auto program = compile(consume(elements(map_seq(doubled, stream(source)))));
  for (const int threads : {1, 4}) {
    RunReport report;
    program.run({.threads = threads, .scheduler = "fixed:7", .trace = dir / "t.json"}, &report);
    const TraceFile file(dir / "t.json");
    std::map<std::string, int> drawn;
    for (const auto& [row, spans] : file.rows) {
      if (!row.starts_with("pieces, slot")) continue;
      std::string phase;
      for (const TraceSpan& span : spans) {
        const std::string what = span.name.substr(0, span.name.find(' '));
        if (what == "read" || what == "compute" || what == "commit") {
          CHECK(phase == (what == "read" ? "" : what == "compute" ? "read" : "compute"));
          phase = what == "commit" ? "" : what;
          ++drawn[span.name];
        } else {
          CHECK(phase == "compute");
          ++drawn["kernel"];
        }
      }
    }
    CHECK(drawn["kernel"] == report.chunks);
    CHECK(static_cast<std::int64_t>(drawn.size()) == 3 * report.chunks + 1);
    CHECK(file.row("kernels").empty());
    CHECK(file.counters.at("items of a chunk").size() == static_cast<std::size_t>(report.chunks));
  }
}

template <class R>
bool runs_in_pieces(const Program<R>& program) {
  const io_test::TemporaryDirectory dir;
  program.run({.backend = Backend::cpu, .threads = 2, .trace = dir / "t.json"});
  const TraceFile file(dir / "t.json");
  return std::ranges::any_of(file.rows,
                             [](const auto& row) { return row.first.starts_with("pieces, slot"); });
}

TEST_CASE("items in memory are computed in pieces where kernels read what others have written") {
  const auto made = produce(Exp<std::int64_t>(500), [](auto i) {
    return generate(i % 40, [=](auto k) { return cast<double>(i * k % 17); });
  });
  const auto rows_of_table =
      rows(generate(make<Index<2>>(300, 20), [](auto at) { return cast<double>(at[0] * 7 % 20 - at[1]); }));
  const auto range = [](Acc<Vector<double>> row) {
    const auto in_order = sort(row);
    return unit(cond(size(row) > 0, in_order[max(size(row) - 1, 0)] - in_order[0], 0.0));
  };
  const auto of_made = consume(elements(map_seq(range, made)));
  const auto of_table = consume(elements(map_seq(range, rows_of_table)));
  agree(std::tuple(of_made, of_table));
  CHECK(runs_in_pieces(compile(of_made)));
  CHECK(runs_in_pieces(compile(of_table)));
  // The longer rows of the two say how many are a piece.
  const auto long_rows =
      rows(generate(make<Index<2>>(250, 300), [](auto at) { return cast<double>(at[1] - at[0]); }));
  const auto least = [](Acc<Vector<double>> x, Acc<Vector<double>> y) {
    return unit(sort(x)[0] + sort(y)[7]);
  };
  const auto of_both = consume(elements(zip_with_seq(least, rows_of_table, long_rows)));
  agree(of_both);
  CHECK(runs_in_pieces(compile(of_both)));
  // One kernel, or results that are appended.
  CHECK_FALSE(runs_in_pieces(compile(consume(elements(map_seq(total, rows_of_table))))));
  CHECK_FALSE(runs_in_pieces(compile(consume(elements(map_seq(sorted, made))))));
}

TEST_CASE("the lowest item in memory that fails is named, whichever thread met it") {
  const auto numbers = rows(generate(make<Index<2>>(200, 4), [](auto at) { return at[0] + at[1]; }));
  const auto pick = [](Acc<Vector<std::int64_t>> row) {
    return unit(sort(row)[cond(row[0] > 150, row[0], 0)]);
  };
  fails<RunError>(consume(elements(map_seq(pick, numbers))), {"item 151"});
}

TEST_CASE("results that wait for their turn keep to the memory bound") {
  // Each item gives 64 KiB; a bound that holds all of them, and a few pieces.
  Rows rows(60, {1.0, 2.0});
  const auto source = in_pieces(rows);
  const auto many = [](Acc<Vector<double>> row) {
    return map([=](auto i) { return cast<double>(i) * row[0]; }, iota(size(row) + std::int64_t{8190}));
  };
  const auto program = compile(consume(elements(map_seq(many, stream(source)))));
  const auto expected = program.run({.backend = Backend::interpreter});
  const std::int64_t result = 60 * 8192 * 8;
  for (const int threads : {1, 2, 4})
    for (const char* scheduler : {"fixed:1", "fixed:20", "adaptive"})
      for (const std::int64_t beyond : {256 << 10, 1 << 20, 4 << 20}) {
        INFO(threads << " threads, " << scheduler << ", " << beyond << " bytes more than the result");
        RunReport report;
        const auto got =
            program.run({.threads = threads, .memory = result + beyond, .scheduler = scheduler}, &report);
        require_same(got, expected);
        CHECK(report.peak_bytes <= result + beyond);
      }
  CHECK_THROWS_AS(program.run({.threads = 2, .memory = result / 2}), ResourceError);
}

TEST_CASE("runs in pieces on many threads of the host at once") {
  std::vector<std::jthread> users;
  std::atomic<int> right = 0;
  const Rows rows = rows_of(400);
  const auto expected = run(consume(elements(map_seq(doubled, stream(in_pieces(rows))))));
  for (int user = 0; user < 6; ++user)
    users.emplace_back([&] {
      const auto program = compile(consume(elements(map_seq(doubled, stream(in_pieces(rows))))));
      for (int round = 0; round < 3; ++round)
        right += same(run_with<Vector<double>>(program, 1 + round, "fixed:9").erased(), expected.erased());
    });
  users.clear();
  CHECK(right == 18);
}

}  // namespace
}  // namespace anabranch::testing
