#include "scheduler/trace.h"

#include <vector>

#include "support/catch.h"

using namespace anabranch::scheduler;

namespace {
ChunkTimes record_of(int64_t items) {
  return {.in_flight = static_cast<int>(items % 3) + 1,
          .size = {items, 2 * items, 8 * items},
          .decision = {.reason = Reason::fixed_cost},
          .read = {.begin_ns = 0, .end_ns = 10, .thread = 1},
          .compute = {.begin_ns = 10, .end_ns = 40},
          .write = {.begin_ns = 40, .end_ns = 45},
          .wait_ns = 3,
          .utilisation = 0.5};
}
}  // namespace

TEST_CASE("the summary adds up") {
  Trace trace;
  trace.begin(1000, 2);
  for (const int64_t items : {5, 1, 9}) trace.add(record_of(items));
  trace.add_halving();
  trace.end(1100, 150);
  const Summary& summary = trace.summary();
  REQUIRE(summary.chunks == 3);
  REQUIRE(summary.total == ChunkSize{15, 30, 120});
  REQUIRE(summary.least == ChunkSize{1, 2, 8});
  REQUIRE(trace.median() == ChunkSize{5, 10, 40});
  REQUIRE(summary.most == ChunkSize{9, 18, 72});
  REQUIRE(summary.mean_in_flight == Approx(2));
  REQUIRE(summary.most_in_flight == 3);
  REQUIRE(summary.by_reason[static_cast<std::size_t>(Reason::fixed_cost)] == 3);
  REQUIRE(summary.wall_ns == 100);
  REQUIRE(summary.utilisation == Approx(0.75));
  REQUIRE(summary.phase_ns.read == 30);
  REQUIRE(summary.phase_ns.wait == 9);
  REQUIRE(summary.phase_ns.compute == 90);
  REQUIRE(summary.phase_ns.write == 15);
  REQUIRE(summary.halvings == 1);
  REQUIRE(summary.items_per_second() == Approx(15e7));
  REQUIRE(summary.bytes_per_second() == Approx(120e7));
}

TEST_CASE("a second run goes on") {
  Trace trace;
  for (const int64_t begin : {1000, 5000}) {
    trace.begin(begin, 2);
    for (const int64_t items : {5, 1}) trace.add(record_of(items));
    trace.end(begin + 100, begin == 1000 ? 200 : 100);
  }
  REQUIRE(trace.summary().chunks == 4);
  REQUIRE(trace.summary().total.items == 12);
  REQUIRE(trace.summary().wall_ns == 200);
  REQUIRE(trace.summary().utilisation == Approx(0.75));
  for (std::size_t i = 0; i < 4; ++i) REQUIRE(trace.records()[i].chunk == static_cast<int64_t>(i));
  REQUIRE(trace.records()[2].so_far == ChunkSize{11, 22, 88});
}

TEST_CASE("memory is measured at the end of each chunk, before anyone is told") {
  Trace trace;
  trace.begin(0, 1);
  trace.measure_memory([](int64_t now_ns) { return MemoryUse{.held = 2 * now_ns, .resident = 7}; });
  int64_t told = 0;
  trace.on_chunk([&](const ChunkTimes& record) { told += record.memory.held; });
  trace.add(record_of(3));
  REQUIRE(told == 90);
  REQUIRE(trace.records()[0].memory.held == 90);
  REQUIRE(trace.records()[0].memory.resident == 7);
  REQUIRE(trace.summary().most_memory.held == 90);
}

TEST_CASE("an empty run has an empty summary") {
  Trace trace;
  trace.begin(0, 4);
  trace.end(0, 0);
  REQUIRE(trace.summary().chunks == 0);
  REQUIRE(trace.summary().items_per_second() == 0);
}

TEST_CASE("records stay bounded, cover the stream and keep its beginning") {
  Trace trace(1000);
  trace.begin(0, 1);
  constexpr int64_t chunks = 100'000;
  int64_t called = 0;
  trace.on_chunk([&](const ChunkTimes&) { ++called; });
  for (int64_t i = 0; i < chunks; ++i) trace.add(record_of(i + 1));
  REQUIRE(called == chunks);
  const auto& records = trace.records();
  REQUIRE(records.size() <= 1000);
  REQUIRE(records.size() >= 400);
  for (std::size_t i = 0; i < 256; ++i) REQUIRE(records[i].chunk == static_cast<int64_t>(i));
  for (std::size_t i = 257; i + 1 < records.size(); ++i) {
    REQUIRE(records[i + 1].chunk - records[i].chunk == records[258].chunk - records[257].chunk);
  }
  REQUIRE(records.back().chunk > chunks * 95 / 100);
  REQUIRE(trace.summary().chunks == chunks);
  REQUIRE(trace.median().items == Approx(chunks / 2).epsilon(0.01));
  REQUIRE(trace.summary().most.items == chunks);
  REQUIRE(trace.records().back().so_far.items > chunks * (chunks / 100 * 90) / 2);
}
