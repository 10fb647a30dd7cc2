#include "pairs.h"

// Comparisons of every scalar type and the logic on their results.
namespace anabranch::testing {
namespace {

template <class T>
void comparisons() {
  const auto rows = rows_of_pairs<T>([](T, T) { return true; });
  const auto values = everywhere(
      [](auto row) {
        return map(
            [](auto pair) {
              auto [x, y] = pair;
              return pack(x == y, x != y, x<y, x <= y, x> y, x >= y);
            },
            row);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const auto [x, y] = rows[r][i];
      if (values[r][i] != std::tuple(x == y, x != y, x<y, x <= y, x> y, x >= y))
        FAIL("of " << +x << " and " << +y);
    }
  SUCCEED();
}

TEST_CASE("comparisons of int32") { comparisons<std::int32_t>(); }
TEST_CASE("comparisons of int64") { comparisons<std::int64_t>(); }
TEST_CASE("comparisons of uint8") { comparisons<std::uint8_t>(); }
TEST_CASE("comparisons of uint16") { comparisons<std::uint16_t>(); }
TEST_CASE("comparisons of int8") { comparisons<std::int8_t>(); }
TEST_CASE("comparisons of int16") { comparisons<std::int16_t>(); }
TEST_CASE("comparisons of uint32") { comparisons<std::uint32_t>(); }
TEST_CASE("comparisons of uint64") { comparisons<std::uint64_t>(); }
TEST_CASE("comparisons of half") { comparisons<half>(); }
TEST_CASE("comparisons of float") { comparisons<float>(); }
TEST_CASE("comparisons of double") { comparisons<double>(); }

TEST_CASE("comparisons and logic of bool") {
  using Pair = std::tuple<bool, bool>;
  const Vector<Pair> all{{false, false}, {false, true}, {true, false}, {true, true}};
  const auto long_row =
      vector_of(130, [](std::int64_t i) { return Pair(number<bool>(i), number<bool>(i + 999)); });
  const std::vector<Vector<Pair>> rows{all, long_row, Vector<Pair>{}};
  const auto values = everywhere(
      [](auto row) {
        return map(
            [](auto pair) {
              auto [x, y] = pair;
              return pack(x == y, x != y, x < y, x <= y, x && y, x || y, !x);
            },
            row);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const auto [x, y] = rows[r][i];
      REQUIRE(values[r][i] == std::tuple(x == y, x != y, x < y, x <= y, x && y, x || y, !x));
    }
}

}  // namespace
}  // namespace anabranch::testing
