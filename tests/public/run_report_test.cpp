#include <cstdlib>
#include <ranges>
#include <set>

#include <nlohmann/json.hpp>

#include "agree.h"

// What RunReport says of streams: that its numbers are right and agree with each other, however a run ends.
namespace anabranch::testing {
namespace {

const auto sums = [](auto row) { return sum(row); };

/// Items of 0 to 16 elements, made when they are read; number `bad` cannot be made.
auto made_items(int count, int bad = -1) {
  return std::views::iota(0, count) | std::views::transform([=](int i) {
           if (i == bad) throw std::domain_error("item \"12\" is not to be had");
           return numbers<double>(i % 17, static_cast<std::uint64_t>(i));
         });
}

void check_spread(const Spread& spread, const std::vector<ChunkRecord>& records,
                  std::int64_t ChunkRecord::* number) {
  std::vector<std::int64_t> all;
  for (const ChunkRecord& r : records) all.push_back(r.*number);
  std::sort(all.begin(), all.end());
  CHECK(spread.least == all.front());
  CHECK(spread.median == all[all.size() / 2]);
  CHECK(spread.most == all.back());
}

/// Of a stage all of whose chunks are recorded.
void check_stage(const StageReport& s, double run_seconds) {
  REQUIRE(s.records.size() == static_cast<std::size_t>(s.chunks));
  check_spread(s.chunk_items, s.records, &ChunkRecord::items);
  check_spread(s.chunk_work, s.records, &ChunkRecord::work);
  check_spread(s.chunk_bytes, s.records, &ChunkRecord::bytes);
  std::int64_t items = 0, work = 0, bytes = 0, peak = 0;
  double read = 0, wait = 0, compute = 0, write = 0, before = 0;
  int most = 0;
  for (const ChunkRecord& r : s.records) {
    CHECK(r.number == &r - s.records.data());
    items += r.items, work += r.work, bytes += r.bytes;
    CHECK(r.items_so_far == items);
    CHECK(r.work_so_far == work);
    CHECK(r.bytes_so_far == bytes);
    CHECK(r.begin >= 0);
    CHECK(r.end >= r.begin);
    CHECK(r.end >= before);
    CHECK(r.end <= run_seconds);
    before = r.end;
    read += r.read_seconds, wait += r.wait_seconds, compute += r.compute_seconds, write += r.write_seconds;
    CHECK(r.utilisation >= 0);
    CHECK(r.utilisation <= 1);
    CHECK(r.in_flight >= 1);
    CHECK(r.in_flight <= s.ring);
    most = std::max(most, r.in_flight);
    peak = std::max(peak, r.memory_bytes);
    CHECK(r.resident_bytes > 1'000'000);
    const ChunkDecision& decision = s.decisions.at(static_cast<std::size_t>(r.decision));
    CHECK(decision.first <= r.number);
    CHECK(r.number <= decision.last);
    CHECK(decision.reason == r.reason);
    // A source may give fewer, and an item that is larger than all limits alone.
    if (r.items > 1) CHECK(r.items <= decision.items.value_or(INT64_MAX));
  }
  CHECK(s.items == items);
  CHECK(s.work == work);
  CHECK(s.bytes == bytes);
  CHECK(s.most_in_flight == most);
  CHECK(s.peak_bytes == peak);
  CHECK(s.read_seconds == Approx(read));
  CHECK(s.wait_seconds == Approx(wait));
  CHECK(s.compute_seconds == Approx(compute));
  CHECK(s.write_seconds == Approx(write));
  CHECK(s.seconds <= run_seconds);
  std::int64_t explained = 0;
  for (const StageReport::Reason& r : s.reasons) {
    CHECK(!r.meaning.empty());
    explained += r.chunks;
  }
  CHECK(explained == s.chunks);
  for (const ChunkDecision& d : s.decisions) {
    CHECK(d.text.find(d.reason) != std::string::npos);
    CHECK(d.ring >= 1);
  }
}

/// What the JSON says is what the report says.
void check_json(const RunReport& report) {
  const auto json = nlohmann::json::parse(to_json(report, true));
  CHECK(json["items"] == report.items);
  CHECK(json["cancelled"] == report.cancelled);
  CHECK(json["error"].is_null() == report.error.empty());
  CHECK(json["seconds"]["total"] == report.seconds);
  REQUIRE(json["stages"].size() == report.stages.size());
  for (std::size_t s = 0; s < report.stages.size(); ++s) {
    const StageReport& stage = report.stages[s];
    const auto& told = json["stages"][s];
    CHECK(told["name"] == stage.name);
    CHECK(told["chunks"] == stage.chunks);
    CHECK(told["chunk_items"]["median"] == stage.chunk_items.median);
    CHECK(told["decisions"].size() == stage.decisions.size());
    CHECK(told["total_items"].is_null() == !stage.total_items);
    std::set<std::size_t> lengths;
    for (const auto& [name, column] : told["records"].items()) lengths.insert(column.size());
    CHECK(lengths == std::set<std::size_t>{stage.records.size()});
    for (std::size_t r = 0; r < stage.records.size(); ++r) {
      CHECK(told["records"]["work"][r] == stage.records[r].work);
      CHECK(told["records"]["compute_seconds"][r].get<double>() == Approx(stage.records[r].compute_seconds));
    }
  }
  const auto without_records = nlohmann::json::parse(to_json(report));
  REQUIRE(without_records.contains("stages"));
  for (const auto& stage : without_records["stages"]) CHECK(!stage.contains("records"));
}

}  // namespace

TEST_CASE("run report: the numbers of a stream add up, for every policy and number of threads") {
  const auto program = compile(consume(elements(map_seq(sums, stream_in(made_items(1000))))));
  for (const int threads : {1, 2, 4})
    for (const char* scheduler : {"fixed:7", "adaptive", "paper"}) {
      INFO(scheduler << ", " << threads << " threads");
      RunReport report;
      program.run({.threads = threads, .memory = 8 << 20, .scheduler = scheduler}, &report);
      REQUIRE(report.stages.size() == 1);
      const StageReport& stage = report.stages[0];
      CHECK(stage.name == "stream_in");
      CHECK(stage.place.starts_with("run_report_test.cpp:"));
      CHECK(stage.source == "range");
      CHECK(stage.scheduler == scheduler);
      CHECK(stage.runs == 1);
      CHECK(stage.items == 1000);
      CHECK(stage.total_items == 1000);
      CHECK(!stage.total_work);  // of this range nobody knows
      check_stage(stage, report.seconds);
      CHECK(report.items == stage.items);
      CHECK(report.chunks == stage.chunks);
      CHECK(report.work == stage.work);
      CHECK(report.utilisation == Approx(stage.utilisation));
      CHECK(report.memory_bound == 8 << 20);
      CHECK(report.peak_bytes >= stage.peak_bytes);
      CHECK(report.peak_resident_bytes > 1'000'000);
      CHECK(report.error.empty());
      CHECK(!report.cancelled);
      check_json(report);
    }
}

TEST_CASE("run report: fixed chunks have one reason, and the last one is what is left") {
  RunReport report;
  const Array<2, double> table(Index{100, 5});
  compile(consume(elements(map_seq(sums, rows(use(table)))))).run({.scheduler = "fixed:30"}, &report);
  const StageReport& stage = report.stages.at(0);
  CHECK(stage.chunk_items.least == 10);
  CHECK(stage.chunk_items.median == 30);
  CHECK(stage.chunk_items.most == 30);
  CHECK(stage.total_items == 100);
  CHECK(stage.total_work == 500);
  REQUIRE(stage.decisions.size() == 1);
  CHECK(stage.decisions[0].last == 3);
  CHECK(stage.decisions[0].items == 30);
  CHECK(!stage.decisions[0].work);
  CHECK(stage.decisions[0].reason == "fixed");
  CHECK(to_text(report).find("10 to 30 items (median 30)") != std::string::npos);
  CHECK(to_text(report).find("4 chunks: fixed") != std::string::npos);
}

TEST_CASE("run report: several streams, and those in the rounds of a loop") {
  auto s = stream_in(made_items(100));
  const auto total = sum(consume(elements(map_seq(sums, s))));
  RunReport report;
  run(consume(elements(
          map_seq([=](auto row) { return map([=](auto e) { return e + the(total); }, sum(row)); }, s))),
      {.scheduler = "fixed:10"}, &report);
  REQUIRE(report.stages.size() == 2);
  for (const StageReport& stage : report.stages) check_stage(stage, report.seconds);
  CHECK(report.items == 200);
  CHECK(report.stages[0].records.back().end <= report.stages[1].records.front().end);

  const auto rounds = [](auto state) {
    return consume(elements(map_seq([](auto row) { return map([](auto e) { return e + 1.0; }, sum(row)); },
                                    rows(reshape(Index{50, 1}, state)))));
  };
  const auto goes_on = [](auto state) { return maximum(state)[Index{}] < 4.5; };
  const Vector<double> zeros(Index{50});
  run(awhile(goes_on, rounds, use(zeros)), {.scheduler = "fixed:20"}, &report);
  REQUIRE(report.stages.size() == 1);
  const StageReport& stage = report.stages[0];
  CHECK(stage.name == "rows");
  CHECK(stage.runs == 5);
  CHECK(stage.chunks == 15);
  CHECK(stage.items == 250);
  CHECK(stage.total_items == 50);
  check_stage(stage, report.seconds);
  check_json(report);
  CHECK(to_text(report).find("5 rounds") != std::string::npos);
}

TEST_CASE("run report: of a long stream a bounded number of chunks, the totals are exact", "[once]") {
  RunReport report;
  compile(consume(elements(produce(20'000, [](auto i) { return unit(i); }))))
      .run({.threads = 2, .scheduler = "fixed:1"}, &report);
  const StageReport& stage = report.stages.at(0);
  CHECK(stage.chunks == 20'000);
  CHECK(stage.items == 20'000);
  CHECK(stage.records.size() <= 4096);
  CHECK(stage.records.size() > 2048);
  for (std::int64_t r = 0; r < 256; ++r) CHECK(stage.records[static_cast<std::size_t>(r)].number == r);
  CHECK(stage.records.back().number > 19'900);
  CHECK(stage.records.back().items_so_far == stage.records.back().number + 1);
  CHECK(stage.reasons.at(0).chunks == 20'000);
}

TEST_CASE("run report: a run that fails says what it had done, and why it ended") {
  for (const int threads : {1, 2})
    for (const int bad : {0, 500, 999}) {
      INFO(threads << " threads, item " << bad);
      const auto program = compile(consume(elements(map_seq(sums, stream_in(made_items(1000, bad))))));
      RunReport report;
      CHECK_THROWS_AS(program.run({.threads = threads, .scheduler = "fixed:10"}, &report), std::domain_error);
      CHECK(report.error == "item \"12\" is not to be had");
      CHECK(!report.cancelled);
      CHECK(report.backend == "cpu");
      CHECK(report.threads == threads);
      CHECK(report.items == bad);
      CHECK(report.seconds > 0);
      REQUIRE(report.stages.size() == 1);
      if (bad > 0) check_stage(report.stages[0], report.seconds);
      check_json(report);
      CHECK(to_text(report).starts_with("Failed    item \"12\""));
    }
  RunReport report;
  CHECK_THROWS_AS(compile(sum(use(numbers<double>(5000)))).run({.memory = 1}, &report), ResourceError);
  CHECK(report.error.find("inputs held whole") != std::string::npos);
  CHECK(report.stages.empty());
}

TEST_CASE("run report: a cancelled run is no failure") {
  const auto program = compile(consume(elements(map_seq(sums, stream_in(made_items(1000))))));
  std::stop_source stop;
  RunReport report;
  const RunOptions options{
      .threads = 2, .scheduler = "fixed:10", .stop = stop.get_token(), .progress = [&](const Progress& p) {
        if (p.chunks == 20) stop.request_stop();
      }};
  CHECK_THROWS_AS(program.run(options, &report), Cancelled);
  CHECK(report.cancelled);
  CHECK(report.error == "the run was cancelled");
  CHECK(report.chunks >= 20);
  CHECK(report.chunks < 100);
  check_stage(report.stages.at(0), report.seconds);
  CHECK(to_text(report).starts_with("Cancelled "));
  // The next run begins anew.
  program.run({}, &report);
  CHECK(report.error.empty());
  CHECK(report.items == 1000);
}

TEST_CASE("run report: a callback that throws, and what is no exception of the standard library") {
  const auto program = compile(consume(elements(map_seq(sums, stream_in(made_items(100))))));
  RunReport report;
  const RunOptions options{.scheduler = "fixed:10", .progress = [](const Progress& p) {
                             if (p.chunks == 3) throw 17;
                           }};
  CHECK_THROWS_AS(program.run(options, &report), int);
  CHECK(report.error == "an exception that is no std::exception");
  CHECK(report.chunks == 3);
}

TEST_CASE("run report: without a stream, and on the interpreter, there are no stages") {
  RunReport report;
  run(sum(use(numbers<double>(1000))), {}, &report);
  CHECK(report.stages.empty());
  CHECK(report.backend == "cpu");
  check_json(report);
  run(consume(elements(map_seq(sums, stream_in(made_items(20))))), {.backend = Backend::interpreter},
      &report);
  CHECK(report.stages.empty());
  CHECK(report.backend == "interpreter");
  CHECK(report.threads == 1);
  check_json(report);
  CHECK(to_text(report).find("interpreter, 1 thread:") != std::string::npos);
}

}  // namespace anabranch::testing
