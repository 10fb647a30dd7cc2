#include "scheduler/trace.h"

#include <vector>

#include "support/catch.h"

using namespace anabranch::scheduler;

namespace {
ChunkTimes record_of(int64_t items) {
  return {.size = {items, 2 * items, 8 * items},
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
  const Summary summary = trace.summary();
  REQUIRE(summary.chunks == 3);
  REQUIRE(summary.total == ChunkSize{15, 30, 120});
  REQUIRE(summary.min_items == 1);
  REQUIRE(summary.median_items == 5);
  REQUIRE(summary.max_items == 9);
  REQUIRE(summary.max_chunk_bytes == 72);
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
  const Summary summary = trace.summary();
  REQUIRE(summary.chunks == chunks);
  REQUIRE(summary.median_items == Approx(chunks / 2).epsilon(0.01));
  REQUIRE(summary.max_items == chunks);
}
