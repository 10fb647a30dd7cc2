#include "shapes.h"

// backpermute, gather, transpose, reshape and flatten.
namespace anabranch::testing {
namespace {

TEST_CASE("backpermute") {
  const auto items = arrays<2, std::int32_t>(1);
  // Upside down; twice as wide; a diagonal, which is of another rank.
  const auto turned = everywhere(
      [](auto a) {
        return backpermute(shape(a), [=](auto ix) { return index_of(extent(a, 0) - 1 - ix[0], ix[1]); }, a);
      },
      items);
  for (std::size_t i = 0; i < items.size(); ++i)
    each_position(items[i].shape(), [&](const Index<2>& ix) {
      REQUIRE(turned[i][ix] == items[i][Index{items[i].extent(0) - 1 - ix[0], ix[1]}]);
    });
  everywhere(
      [](auto a) {
        return backpermute(
            index_of(extent(a, 0), 2 * extent(a, 1)), [](auto ix) { return index_of(ix[0], ix[1] / 2); }, a);
      },
      items);
  const auto diagonal = everywhere(
      [](auto a) {
        auto n = min(extent(a, 0), extent(a, 1));
        return backpermute(index_of(n), [](auto ix) { return index_of(ix[0], ix[0]); }, a);
      },
      items);
  REQUIRE(diagonal[0].size() == 3);
  for (std::int64_t k = 0; k < 3; ++k) REQUIRE(diagonal[0][k] == items[0][Index{k, k}]);
  // A vector read into rank 3.
  everywhere(
      [](auto row) {
        return backpermute(index_of(2, size(row), 2), [=](auto ix) { return index_of(ix[1]); }, row);
      },
      std::vector{numbers<double>(5), Vector<double>{}, numbers<double>(40, 1)});
}

template <class I>
void gathers() {
  const auto table = numbers<double>(100, 8);
  const auto place = [](std::int64_t i) { return static_cast<I>((i * 37) % 100); };
  const std::vector rows{vector_of(64, place), Vector<I>{}, vector_of(3, place), vector_of(129, place)};
  const auto values = everywhere([&](auto row) { return gather(row, use(table)); }, rows);
  for (std::int64_t i = 0; i < 129; ++i) REQUIRE(values[3][i] == table[(i * 37) % 100]);
}

TEST_CASE("gather by int32") { gathers<std::int32_t>(); }
TEST_CASE("gather by int64") { gathers<std::int64_t>(); }
TEST_CASE("gather by uint8") { gathers<std::uint8_t>(); }
TEST_CASE("gather by uint16") { gathers<std::uint16_t>(); }
TEST_CASE("gather by int8") { gathers<std::int8_t>(); }
TEST_CASE("gather by int16") { gathers<std::int16_t>(); }
TEST_CASE("gather by uint32") { gathers<std::uint32_t>(); }
TEST_CASE("gather by uint64") { gathers<std::uint64_t>(); }

TEST_CASE("gather of a matrix of indices, of tuples, from the item itself") {
  const Matrix<std::int32_t> ix(Index{2, 2}, {0, 2, 2, 1});
  const Vector<std::tuple<bool, float>> pairs{{true, 1.0F}, {false, 2.0F}, {true, 3.0F}};
  REQUIRE(agree(gather(use(ix), use(pairs)))[Index{1, 0}] == std::tuple(true, 3.0F));
  const auto rows = std::vector{vector_of(50, [](std::int64_t i) { return (i * 13) % 50; }),
                                Vector<std::int64_t>{}, Vector<std::int64_t>{0}};
  everywhere([](auto row) { return gather(row, row); }, rows);
  everywhere([](auto row) { return gather(gather(row, row), map([](auto x) { return x * x; }, row)); }, rows);
}

TEST_CASE("large arrays transposed, in tiles") {
  const auto numbered = [](auto shape) {
    return array_of(shape, [](std::int64_t i) { return static_cast<std::int32_t>(i * 7919); });
  };
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{200, 300}, {1, 3000}, {3000, 1}, {65, 129}, {64, 1024}}) {
    const auto a = numbered(Index{rows, columns});
    const auto turned = agree(transpose(map([](auto x) { return x + 1; }, use(a))));
    each_position(turned.shape(),
                  [&](const Index<2>& ix) { REQUIRE(turned[ix] == a[Index{ix[1], ix[0]}] + 1); });
  }
  std::vector<Array<3, std::int32_t>> cubes{numbered(Index{5, 70, 90}), numbered(Index{5, 70, 90}),
                                            numbered(Index{2, 3, 100})};
  for (const auto& order : {std::array{0, 2, 1}, std::array{2, 1, 0}, std::array{1, 2, 0}}) {
    const auto turned = everywhere([=](auto a) { return transpose(a, order); }, cubes);
    each_position(turned[0].shape(), [&](const Index<3>& ix) {
      Index<3> from;
      for (int d = 0; d < 3; ++d) from[order[static_cast<std::size_t>(d)]] = ix[d];
      REQUIRE(turned[0][ix] == cubes[0][from]);
    });
  }
  const auto pairs =
      array_of(Index{90, 70}, [](std::int64_t i) { return std::tuple(i % 3 == 0, static_cast<double>(i)); });
  REQUIRE(agree(transpose(use(pairs)))[Index{69, 89}] == pairs[Index{89, 69}]);
  // Beside what is read along, of a stream.
  everywhere(
      [](auto a) {
        return zip_with([](auto x, auto y) { return x - 2 * y; }, transpose(a),
                        tile(a, index_of(extent(a, 1), extent(a, 0))));
      },
      std::vector{numbered(Index{90, 70}), numbered(Index{90, 70}), numbered(Index{70, 90})});
}

TEST_CASE("transpose") {
  const auto matrices = arrays<2, double>(2);
  const auto turned = everywhere([](auto a) { return transpose(a); }, matrices);
  for (std::size_t i = 0; i < matrices.size(); ++i)
    each_position(matrices[i].shape(),
                  [&](const Index<2>& ix) { REQUIRE(turned[i][Index{ix[1], ix[0]}] == matrices[i][ix]); });
  const auto cubes = arrays<3, std::uint8_t>(3);
  const auto cycled = everywhere([](auto a) { return transpose(a, {1, 2, 0}); }, cubes);
  for (std::size_t i = 0; i < cubes.size(); ++i)
    each_position(cubes[i].shape(), [&](const Index<3>& ix) {
      REQUIRE(cycled[i][Index{ix[1], ix[2], ix[0]}] == cubes[i][ix]);
    });
  everywhere([](auto a) { return transpose(a, {3, 1, 0, 2}); }, arrays<4, std::int32_t>(4));
  everywhere([](auto a) { return zip_with(plus, transpose(transpose(a)), a); }, matrices);
  everywhere([](auto a) { return sum(transpose(a)); }, matrices);
  REQUIRE_THROWS_AS(transpose(use(cubes[0]), {0, 0, 1}), ProgramError);
}

TEST_CASE("reshape and flatten") {
  const auto cubes = arrays<3, std::int32_t>(6);
  const auto flat = everywhere([](auto a) { return flatten(a); }, cubes);
  for (std::size_t i = 0; i < cubes.size(); ++i) {
    REQUIRE(flat[i].size() == cubes[i].size());
    for (std::int64_t k = 0; k < cubes[i].size(); ++k) REQUIRE(flat[i][k] == cubes[i][k]);
  }
  everywhere([](auto a) { return reshape(index_of(extent(a, 2), extent(a, 0) * extent(a, 1)), a); }, cubes);
  everywhere([](auto a) { return flatten(map([](auto x) { return x - 1; }, transpose(a))); }, cubes);
  everywhere([](auto row) { return reshape(Exp(Index{4, 3, 2}), row); },
             std::vector{numbers<double>(24, 1), numbers<double>(24, 2)});
  everywhere([](auto row) { return sum(reshape(index_of(3, size(row) / 3), row)); },
             std::vector{numbers<double>(24, 1), numbers<double>(3, 2), Vector<double>{}});
  require_same(agree(reshape(Index{}, use(Vector<double>{3.5}))), Scalar<double>(3.5));
  require_same(agree(reshape(Index{1, 1}, use(Scalar<double>(3.5)))), Matrix<double>(Index{1, 1}, {3.5}));
  require_same(agree(flatten(use(Scalar<double>(3.5)))), Vector<double>{3.5});
}

}  // namespace
}  // namespace anabranch::testing
