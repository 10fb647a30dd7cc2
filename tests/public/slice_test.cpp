#include "shapes.h"

// replicate and slice, alone and together, with positions from outside and from the item.
namespace anabranch::testing {
namespace {

TEST_CASE("replicate") {
  const Vector<std::int32_t> v{1, 2, 3};
  require_same(agree(replicate(use(v), 2, all)), Matrix<std::int32_t>(Index{2, 3}, {1, 2, 3, 1, 2, 3}));
  require_same(agree(replicate(use(v), all, 2)), Matrix<std::int32_t>(Index{3, 2}, {1, 1, 2, 2, 3, 3}));
  require_same(agree(replicate(use(v), 0, all)), Matrix<std::int32_t>(Index{0, 3}, {}));
  require_same(agree(replicate(use(Scalar<double>(1.5)), 3)), Vector<double>{1.5, 1.5, 1.5});
  const auto rows = std::vector{numbers<double>(5, 1), Vector<double>{}, numbers<double>(70, 2)};
  const auto values = everywhere([](auto row) { return replicate(row, size(row), all, 2); }, rows);
  each_position(values[0].shape(), [&](const Index<3>& ix) { REQUIRE(values[0][ix] == rows[0][ix[1]]); });
  everywhere([](auto row) { return sum(replicate(row, 3, all), 0); }, rows);
  everywhere([](auto a) { return replicate(a, all, 2, all, 3); }, arrays<2, std::uint8_t>());
}

TEST_CASE("slice") {
  const Matrix<std::int32_t> m(Index{2, 3}, {1, 2, 3, 4, 5, 6});
  require_same(agree(slice(use(m), 1, all)), Vector<std::int32_t>{4, 5, 6});
  require_same(agree(slice(use(m), all, 2)), Vector<std::int32_t>{3, 6});
  require_same(agree(slice(use(m), all, all)), m);
  require_same(agree(slice(use(m), 0, 1)), Scalar<std::int32_t>(2));
  std::vector<Array<3, double>> cubes;
  for (const auto& cube : arrays<3, double>(7))
    if (cube.extent(1) > 0) cubes.push_back(cube);
  const auto values = everywhere([](auto a) { return slice(a, all, extent(a, 1) - 1, all); }, cubes);
  for (std::size_t i = 0; i < cubes.size(); ++i)
    each_position(values[i].shape(), [&](const Index<2>& ix) {
      REQUIRE(values[i][ix] == cubes[i][Index{ix[0], cubes[i].extent(1) - 1, ix[1]}]);
    });
  everywhere([](auto a) { return sum(slice(a, all, 0, all)); }, cubes);
}

TEST_CASE("each item takes its own slice of a captured matrix") {
  const auto matrix =
      array_of(Index{7, 40}, [](std::int64_t i) { return number<double>(static_cast<std::uint64_t>(i)); });
  const std::vector items{Scalar<std::int32_t>(3), Scalar<std::int32_t>(0), Scalar<std::int32_t>(6)};
  const auto values = everywhere(
      [&](auto at) {
        auto m = use(matrix);
        return zip_with(minus, slice(m, cast<std::int64_t>(the(at)), all), slice(m, 0, all));
      },
      items);
  for (std::int64_t k = 0; k < 40; ++k) REQUIRE(values[0][k] == matrix[Index{3, k}] - matrix[Index{0, k}]);
  everywhere(
      [&](auto at) {
        return product(slice(replicate(use(matrix), 2, all, all), 1, cast<std::int64_t>(the(at)), all));
      },
      items);
}

TEST_CASE("matrix product from replicate, zip_with and fold") {
  const auto a = array_of(Index{5, 4}, [](std::int64_t i) { return static_cast<std::int32_t>(i % 7); });
  std::vector<Matrix<std::int32_t>> items;
  for (std::int64_t n : {3, 1, 0, 33})
    items.push_back(array_of(Index{4, n}, [](std::int64_t i) { return static_cast<std::int32_t>(i % 5); }));
  const auto values = everywhere(
      [&](auto b) {
        auto left = replicate(use(a), all, extent(b, 1), all);
        auto right = replicate(transpose(b), 5, all, all);
        return sum(zip_with(times, left, right));
      },
      items);
  for (std::size_t i = 0; i < items.size(); ++i)
    each_position(values[i].shape(), [&](const Index<2>& ix) {
      std::int32_t dot = 0;
      for (std::int64_t k = 0; k < 4; ++k) dot += a[Index{ix[0], k}] * items[i][Index{k, ix[1]}];
      REQUIRE(values[i][ix] == dot);
    });
}

}  // namespace
}  // namespace anabranch::testing
