#include <anabranch/anabranch.h>

#include "support/catch.h"

// What a run tells of itself.
namespace anabranch {
namespace {

TEST_CASE("records of chunks are bounded, however many rounds of a loop have a stream") {
  constexpr std::int64_t rounds = 450, large = std::int64_t{1} << 40;
  const auto next = [=](auto s) {
    const auto zeros = produce(10, [=](auto i) { return unit((i + the(s)) / large); });
    return unit(the(s) + the(sum(consume(elements(zeros)))) + std::int64_t{1});
  };
  const auto program = compile(
      awhile([=](auto s) { return the(s) < rounds; }, next, use(Scalar<std::int64_t>(std::int64_t{0}))));
  RunReport report;
  REQUIRE(*program.run({.backend = Backend::cpu, .scheduler = "fixed:1"}, &report).data() == rounds);
  REQUIRE(report.chunks == 10 * rounds);
  REQUIRE(report.stages.size() == 1);
  REQUIRE(report.stages[0].runs == rounds);
  REQUIRE(report.stages[0].records.size() <= 4096);
  REQUIRE(report.stages[0].records.size() > 2000);
  REQUIRE(report.stages[0].records.back().number > 10 * rounds - 10);
  REQUIRE(report.utilisation > 0);
  REQUIRE(report.utilisation <= 1);
}

}  // namespace
}  // namespace anabranch
