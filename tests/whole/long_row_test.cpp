#include "support/catch.h"

#include <cstdint>

#include <anabranch/anabranch.h>

// Rows of any length, of elements that are stored nowhere.
namespace anabranch {
namespace {

TEST_CASE("partial results of long rows count, also where no element is stored") {
  // 2 GiB for 2^40 elements: refused before the first is computed.
  const auto endless = sum(generate(std::int64_t{1} << 40, [](auto i) { return i; }));
  REQUIRE_THROWS_AS(run(endless, {.memory = 64 << 20}), ResourceError);
  REQUIRE_THROWS_WITH(
      run(endless, {.memory = 64 << 20}),
      Catch::Contains("partial results of sum@long_row_test.cpp") && Catch::Contains("2.0 GiB"));
  // Of 64 items at once they take 64 KiB: the chunk is cut.
  constexpr std::int64_t length = std::int64_t{1} << 19;
  RunReport report;
  const auto items = produce(64, [=](auto k) { return sum(generate(length, [=](auto) { return k; })); });
  const auto sums_of_items =
      run(consume(elements(items)), {.memory = 40 << 10, .scheduler = "fixed:64"}, &report);
  REQUIRE(sums_of_items.size() == 64);
  REQUIRE(sums_of_items[63] == 63 * length);
  REQUIRE(report.peak_bytes <= 40 << 10);
  REQUIRE(report.peak_bytes >= 16 << 10);
}

}  // namespace
}  // namespace anabranch
