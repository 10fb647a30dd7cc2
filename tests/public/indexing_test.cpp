#include "shapes.h"

// Reading arrays inside scalar code: at a position, at a row-major
// position, the only element; own items and captured arrays.
namespace anabranch::testing {
namespace {

template <int N>
void reads() {
  const auto items = arrays<N, std::int32_t>(3);
  // Backwards through row-major positions, and through positions.
  const auto linear = everywhere(
      [](auto a) { return generate(size(a), [=](auto i) { return a.linear(size(a) - 1 - i); }); }, items);
  const auto position = everywhere(
      [](auto a) {
        return generate(shape(a), [=](auto ix) {
          auto from = [&]<int... D>(std::integer_sequence<int, D...>) {
            return index_of((extent(a, D) - 1 - ix[D])...);
          }(std::make_integer_sequence<int, N>{});
          return a[from];
        });
      },
      items);
  for (std::size_t i = 0; i < items.size(); ++i)
    for (std::int64_t k = 0; k < items[i].size(); ++k) {
      REQUIRE(linear[i][k] == items[i][items[i].size() - 1 - k]);
      REQUIRE(position[i][k] == items[i][items[i].size() - 1 - k]);
    }
}

TEST_CASE("reading vectors") { reads<1>(); }
TEST_CASE("reading matrices") { reads<2>(); }
TEST_CASE("reading at rank 3") { reads<3>(); }
TEST_CASE("reading at rank 4") { reads<4>(); }

TEST_CASE("a captured array is read by every item") {
  const auto table = numbers<double>(50, 2);
  const Matrix<std::int64_t> grid(Index{2, 3}, {1, 2, 3, 4, 5, 6});
  const auto rows =
      std::vector{vector_of(45, [](std::int64_t i) { return static_cast<std::int32_t>((i * 7) % 50); }),
                  Vector<std::int32_t>{}, Vector<std::int32_t>{49}};
  const auto values = everywhere(
      [&](auto row) {
        auto t = use(table);
        auto g = use(grid);
        return map(
            [=](auto i) {
              auto k = cast<std::int64_t>(i);
              return pack(t[k], g[index_of(k % 2, k % 3)], g.linear(k % 6));
            },
            row);
      },
      rows);
  REQUIRE(values[2][0] == std::tuple(table[49], std::int64_t{5}, std::int64_t{2}));
}

TEST_CASE("an item reads itself at computed places, through a map and through a fold") {
  const std::vector rows{numbers<double>(35, 1), numbers<double>(1, 2), Vector<double>{},
                         numbers<double>(130, 3)};
  everywhere(
      [](auto row) {
        auto squares = map([](auto x) { return x * x; }, row);
        return generate(size(row), [=](auto i) { return squares[(i * 3) % size(row)] - row[i]; });
      },
      rows);
  everywhere(
      [](auto row) {
        auto total = sum(row);
        return map([=](auto x) { return x / the(total) + the(total); }, row);
      },
      rows);
}

}  // namespace
}  // namespace anabranch::testing
