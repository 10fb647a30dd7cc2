#include <cmath>

#include "agree.h"
#include "support/memory_source.h"

// Six functions of an item that a lifting has to get right, each in all forms.
namespace anabranch::testing {
namespace {

std::vector<Vector<double>> ragged_rows() {
  std::vector<Vector<double>> rows;
  for (std::int64_t n : {5, 0, 64, 1, 0, 129, 5000, 33})
    rows.push_back(numbers<double>(n, static_cast<std::uint64_t>(n) + 1));
  return rows;
}

TEST_CASE("a row divided by its own sum") {
  const auto rows = ragged_rows();
  const auto values = everywhere(
      [](auto row) {
        auto total = sum(row);
        return map([=](auto x) { return x / the(total); }, row);
      },
      rows);
  double sum = 0;
  for (std::int64_t i = 0; i < values[2].size(); ++i) sum += values[2][i];
  REQUIRE(std::abs(sum - 1) < 1e-9);
}

TEST_CASE("a captured array, mapped once, gathered by each row") {
  const auto x = vector_of(200, [](std::int64_t i) { return static_cast<double>(i) / 50.0; });
  std::vector<Vector<std::int32_t>> rows;
  for (std::int64_t n : {5, 0, 64, 1, 129})
    rows.push_back(
        vector_of(n, [&](std::int64_t i) { return static_cast<std::int32_t>((i * 31 + n) % 200); }));
  auto exponentials = map([](auto e) { return exp(e); }, use(x));
  const auto values = everywhere([&](auto row) { return gather(row, exponentials); }, rows);
  for (std::int64_t i = 0; i < 64; ++i) {
    const double truth = std::exp(x[rows[2][i]]);
    REQUIRE(std::abs(values[2][i] - truth) <= 1e-15 * 4 * truth);
  }
  everywhere([&](auto row) { return sum(gather(row, exponentials)); }, rows);
}

TEST_CASE("produce of slices whose position and length come from the item") {
  const auto a = numbers<double>(3000, 4);
  std::vector<std::int64_t> position, length;
  for (std::int64_t i = 0; i < 41; ++i) {
    position.push_back((i * 53) % 900);
    length.push_back(i == 20 ? 2000 : (i * 7) % 70);
  }
  const Vector<std::int64_t> positions(position), lengths(length);
  std::vector<Vector<double>> expected;
  for (std::size_t i = 0; i < position.size(); ++i)
    expected.push_back(vector_of(length[i], [&](std::int64_t k) { return a[position[i] + k]; }));
  const auto piece = [&](auto i) {
    auto source = use(a);
    auto begin = use(positions)[i];
    return generate(use(lengths)[i], [=](auto k) { return source[begin + k]; });
  };
  check_items(produce(41, piece), expected);
  // The same over a stream of numbers, and reduced.
  const auto sums =
      agree(consume(elements(map_seq([](auto row) { return fold(plus, 1.0, row); }, produce(41, piece)))));
  for (std::size_t i = 0; i < expected.size(); ++i)
    require_same(agree(fold(plus, 1.0, use(expected[i]))),
                 Scalar<double>(sums[static_cast<std::int64_t>(i)]));
}

TEST_CASE("an irregular stream of matrices with a uniform inner extent, folded on each axis") {
  for (std::int64_t width : {1, 3, 16, 40, 0}) {
    std::vector<Matrix<double>> matrices;
    std::vector<Item> items;
    for (std::int64_t n : {3, 0, 70, 1, 20}) {
      matrices.push_back(array_of(Index{n, width}, [&](std::int64_t i) {
        return number<double>(static_cast<std::uint64_t>(i + 31 * n));
      }));
      items.push_back({matrices.back().erased()});
    }
    const auto stream = [&] {
      return stream_in(Source<Matrix<double>>(std::make_shared<MemorySource>(
          "matrices", std::vector{array_info({ScalarType::float64}, {std::nullopt, width}, 0)}, items)));
    };
    for (int axis : {0, 1}) {
      const auto body = [=](auto m) { return fold(plus, 0.5, map([](auto x) { return x * 3.0; }, m), axis); };
      std::vector<Vector<double>> expected;
      for (const auto& m : matrices) expected.push_back(agree(body(use(m))));
      check_items(map_seq(body, stream()), expected);
      check_items(map_seq(body, stream_in(matrices)), expected);
    }
    // Both, one after the other, and the whole.
    std::vector<Vector<double>> centred;
    const auto body = [](auto m) {
      auto means = sum(m, 0);
      return sum(zip_with(minus, m, replicate(means, extent(m, 0), all)));
    };
    for (const auto& m : matrices) centred.push_back(agree(body(use(m))));
    check_items(map_seq(body, stream()), centred);
  }
}

TEST_CASE("a tuple of avoided, regular and segmented results") {
  const auto rows = ragged_rows();
  const auto captured = numbers<double>(6, 77);
  const auto body = [&](auto row) {
    auto avoided = map([](auto x) { return x * x; }, use(captured));
    auto fixed = generate(3, [=](auto i) { return cast<double>(i) * the(fold(plus, 0.0, row)); });
    auto segmented = map([=](auto x) { return x + avoided[1]; }, row);
    return std::tuple(avoided, fixed, segmented);
  };
  std::vector<Vector<double>> a, f, s;
  for (const auto& row : rows) {
    const auto [x, y, z] = agree(body(use(row)));
    a.push_back(x);
    f.push_back(y);
    s.push_back(z);
  }
  auto [avoided, fixed, segmented] = unzip_seq(map_seq(body, stream_in(rows)));
  check_items(avoided, a);
  check_items(fixed, f);
  check_items(segmented, s);
  const auto [x, y, z] =
      agree(std::tuple(consume(tabulate(avoided)), consume(tabulate(fixed)), consume(elements(segmented))));
  REQUIRE(x.shape() == Index{8, 6});
  REQUIRE(y.shape() == Index{8, 3});
  // And zipped together: the intersection of all three.
  std::vector<Vector<double>> together;
  const auto zipped = [&](auto row) {
    auto [p, q, r] = body(row);
    return zip_with([](auto u, auto v, auto w) { return u * v - w; }, p, q, r);
  };
  for (const auto& row : rows) together.push_back(agree(zipped(use(row))));
  check_items(map_seq(zipped, stream_in(rows)), together);
}

TEST_CASE("a function that ignores its item") {
  const auto rows = ragged_rows();
  const auto captured = numbers<double>(50, 3);
  const auto total = agree(sum(use(captured)));
  check_items(map_seq([&](auto) { return sum(use(captured)); }, stream_in(rows)), {8, total});
  check_items(map_seq([&](auto) { return use(captured); }, stream_in(rows)), {8, captured});
  check_items(map_seq([](auto) { return unit(Exp(3)); }, stream_in(rows)), {8, Scalar<std::int32_t>(3)});
  check_items(map_seq([&](auto) { return use(captured); }, stream_in(std::vector<Vector<double>>())), {});
}

}  // namespace
}  // namespace anabranch::testing
