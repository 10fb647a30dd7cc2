// Numbers of items of pieces that are counted in any order.

#include "support/catch.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "run/sources/piece_numbers.h"

using namespace anabranch;

TEST_CASE("a piece has its number as soon as those before it have been counted") {
  runtime::PieceNumbers numbers;
  CHECK(numbers.add(5) == 0);
  CHECK(numbers.add(-1) == 1);
  CHECK(numbers.add(3) == 2);
  CHECK(numbers.add(-1) == 3);
  CHECK(numbers.add(-1) == 4);
  CHECK(numbers.first_item(0) == 0);
  CHECK(numbers.first_item(1) == 5);
  CHECK_FALSE(numbers.first_item(2));
  numbers.count(3, 10);
  CHECK_FALSE(numbers.first_item(2));
  CHECK_FALSE(numbers.first_item(4));
  numbers.count(1, 2);
  CHECK(numbers.first_item(2) == 7);
  CHECK(numbers.first_item(3) == 10);
  CHECK(numbers.first_item(4) == 20);
  numbers.forget(2);
  CHECK(numbers.first_item(3) == 10);
  numbers.forget(100);  // not that which is still to be counted
  CHECK(numbers.first_item(4) == 20);
  CHECK(numbers.add(1) == 5);
  CHECK_FALSE(numbers.first_item(5));
  numbers.count(4, 1);
  CHECK(numbers.first_item(5) == 21);
  numbers.forget(5);
  CHECK(numbers.add(-1) == 6);
  CHECK(numbers.first_item(6) == 22);
}

TEST_CASE("numbers of pieces that are counted in random order") {
  std::mt19937_64 random(3);
  for (int trial = 0; trial < 100; ++trial) {
    runtime::PieceNumbers numbers;
    std::vector<std::int64_t> items(20), open;
    for (auto& n : items) n = static_cast<std::int64_t>(random() % 9) + 1;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const bool counted = random() % 2 == 0;
      const std::int64_t piece = numbers.add(counted ? items[i] : -1);
      REQUIRE(piece == static_cast<std::int64_t>(i));
      if (!counted) open.push_back(piece);
      if (open.empty() || random() % 2 == 0) continue;
      std::swap(open[random() % open.size()], open.back());
      numbers.count(open.back(), items[static_cast<std::size_t>(open.back())]);
      open.pop_back();
      const std::int64_t known = open.empty() ? piece : *std::min_element(open.begin(), open.end());
      for (std::int64_t p = 0; p <= piece; ++p) {
        const auto first = std::accumulate(items.begin(), items.begin() + p, std::int64_t{0});
        REQUIRE(numbers.first_item(p) == (p <= known ? std::optional(first) : std::nullopt));
      }
    }
  }
}
