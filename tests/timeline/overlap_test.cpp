#include "timeline/overlap.h"

#include <algorithm>
#include <random>

#include "support/catch.h"

namespace anabranch::timeline {
namespace {

OverlapTimes times_of(const std::vector<Interval>& copies, const std::vector<Interval>& kernels) {
  Overlap overlap;
  for (const Interval& i : copies) overlap.add_copy(i);
  for (const Interval& i : kernels) overlap.add_kernel(i);
  return overlap.times();
}

void check(const OverlapTimes& t, std::int64_t copy, std::int64_t kernel, std::int64_t both, double share) {
  CHECK(t.copy_ns == copy);
  CHECK(t.kernel_ns == kernel);
  CHECK(t.both_ns == both);
  CHECK(t.share() == Approx(share));
}

}  // namespace

TEST_CASE("overlap: by hand") {
  check(times_of({}, {}), 0, 0, 0, 0);
  check(times_of({{0, 10}}, {}), 10, 0, 0, 0);
  check(times_of({}, {{0, 10}}), 0, 10, 0, 0);
  // One after the other, and meeting.
  check(times_of({{0, 10}}, {{10, 30}}), 10, 20, 0, 0);
  // One in the other, both ways.
  check(times_of({{0, 100}}, {{20, 30}, {50, 55}}), 100, 15, 15, 1);
  check(times_of({{20, 30}, {50, 55}}, {{0, 100}}), 15, 100, 15, 1);
  // In part.
  check(times_of({{0, 10}}, {{6, 14}}), 10, 8, 4, 0.5);
  // Several at once count once, in whatever order they come.
  check(times_of({{5, 20}, {0, 10}, {7, 8}}, {{15, 30}, {12, 18}}), 20, 18, 8, 8.0 / 18);
  // Meeting intervals are one.
  check(times_of({{10, 20}, {0, 10}}, {{5, 15}}), 20, 10, 10, 1);
  // Nothing takes no time.
  check(times_of({{3, 3}, {9, 4}}, {{0, 10}}), 0, 10, 0, 0);
  check(times_of({{-50, -10}}, {{-20, 10}}), 40, 30, 10, 1.0 / 3);
}

TEST_CASE("overlap: more than it keeps, somewhat out of order, beside a table of all moments") {
  std::mt19937 random(1);
  for (const int gap : {2, 12, 60}) {
    std::vector<std::pair<bool, Interval>> all;
    std::int64_t at = 0;
    for (int k = 0; k < 60'000; ++k) {
      at += static_cast<std::int64_t>(random() % static_cast<unsigned>(gap));
      all.push_back({random() % 2 == 0, {at, at + static_cast<std::int64_t>(random() % 20)}});
    }
    std::vector<int> moments(static_cast<std::size_t>(at) + 20);
    for (const auto& [copy, i] : all)
      for (std::int64_t t = i.begin; t < i.end; ++t) moments[static_cast<std::size_t>(t)] |= copy ? 1 : 2;
    for (std::size_t k = 0; k + 200 <= all.size(); k += 200)
      std::shuffle(all.begin() + static_cast<std::ptrdiff_t>(k),
                   all.begin() + static_cast<std::ptrdiff_t>(k + 200), random);
    Overlap overlap;
    for (const auto& [copy, i] : all)
      if (copy)
        overlap.add_copy(i);
      else
        overlap.add_kernel(i);
    const OverlapTimes t = overlap.times();
    CHECK(t.copy_ns == std::count_if(moments.begin(), moments.end(), [](int m) { return (m & 1) != 0; }));
    CHECK(t.kernel_ns == std::count_if(moments.begin(), moments.end(), [](int m) { return (m & 2) != 0; }));
    CHECK(t.both_ns == std::count(moments.begin(), moments.end(), 3));
  }
}

TEST_CASE("overlap: one long interval under many short ones") {
  Overlap overlap;
  overlap.add_copy({0, 1'000'000});
  for (std::int64_t k = 0; k < 50'000; ++k) overlap.add_kernel({k * 10, k * 10 + 3});
  check(overlap.times(), 1'000'000, 150'000, 150'000, 1);
}

}  // namespace anabranch::timeline
