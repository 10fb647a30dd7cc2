#include "scheduler/gather.h"

#include "support/catch.h"

// When pushed items are worth a chunk, on made-up time.
namespace anabranch::scheduler::test {
namespace {

constexpr int64_t us = 1000, ms = 1000 * us;

/// A caller who pushes an item each `gap_ns` of its own time, into a stream whose chunks take 10 us + 100 ns an item.
struct Caller {
  explicit Caller(int64_t longest_ns = ms, int64_t chunk = 0) : gather(longest_ns, chunk) {}

  /// How many items were computed at a time.
  std::vector<int64_t> push(int items, int64_t gap_ns) {
    std::vector<int64_t> chunks;
    for (int i = 0; i < items; ++i) {
      now += gap_ns;
      gather.comes(now);
      waits = gather.items() == 1 ? 0 : waits + gap_ns;
      longest = std::max(longest, waits);
      if (gather.is_due(now)) {
        chunks.push_back(gather.items());
        now += 10 * us + 100 * gather.items();
        gather.was_computed(chunks.back(), 10 * us + 100 * chunks.back());
      }
      gather.returns(now);
    }
    return chunks;
  }

  Gather gather;
  int64_t now = 1, waits = 0, longest = 0;
};

TEST_CASE("gather: who pushes rarely gets each result at once") {
  for (const int64_t gap : {100 * ms, ms, 100 * us, 81 * us}) {
    Caller caller;
    CHECK(caller.push(50, gap) == std::vector<int64_t>(50, 1));
  }
}

TEST_CASE("gather: who pushes often pays an eighth for chunks") {
  Caller caller;
  caller.push(100, 10 * us);
  const auto chunks = caller.push(1000, 10 * us);
  CHECK(chunks.size() <= 200);
  CHECK(chunks.size() >= 80);
  CHECK(caller.longest <= 90 * us);
  // Ten times as often: ten times as many.
  caller.push(1000, us);
  const auto large = caller.push(10'000, us);
  CHECK(large.size() <= 200);
  CHECK(caller.longest <= 90 * us);
}

TEST_CASE("gather: never longer than the caller says") {
  Caller caller(30 * us);
  caller.push(100, 10 * us);
  CHECK(caller.longest <= 30 * us);
  Caller none(0);
  CHECK(none.push(100, us) == std::vector<int64_t>(100, 1));
}

TEST_CASE("gather: a pause is noticed, and forgotten") {
  Caller caller;
  caller.push(1000, us);
  const auto after = caller.push(1, 500 * ms);
  REQUIRE(after.size() == 1);
  CHECK(caller.push(10, us).size() == 10);  // as far as is known, the next ones take long, too
  caller.push(200, us);
  CHECK(caller.push(1000, us).size() <= 50);
}

TEST_CASE("gather: N items, however long it takes") {
  Caller caller(0, 4);
  CHECK(caller.push(10, 100 * ms) == std::vector<int64_t>{4, 4});
  CHECK(caller.gather.items() == 2);
}

}  // namespace
}  // namespace anabranch::scheduler::test
