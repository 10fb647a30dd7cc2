#include "shapes.h"

#include <chrono>
#include <stop_token>
#include <thread>

// Reductions along each dimension of arrays of rank 1 to 4, zero extents included.
namespace anabranch::testing {
namespace {

/// Folds dimension `axis` on the host, left to right.
template <int N, class T, class Op>
Array<N - 1, T> folded(const Array<N, T>& a, int axis, T seed, Op op) {
  Index<N - 1> shape;
  for (int d = 0; d < N - 1; ++d) shape[d] = a.extent(d < axis ? d : d + 1);
  Array<N - 1, T> out(shape);
  each_position(shape, [&](const Index<N - 1>& ix) {
    Index<N> from;
    for (int d = 0; d < N; ++d) from[d] = d == axis ? 0 : ix[d < axis ? d : d - 1];
    T total = seed;
    for (; from[axis] < a.extent(axis); ++from[axis]) total = op(total, a[from]);
    out.set(ix, total);
  });
  return out;
}

std::int32_t wrapping_sum(std::int32_t x, std::int32_t y) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(x) + static_cast<std::uint32_t>(y));
}

template <int N>
void along_each_axis() {
  const auto items = arrays<N, std::int32_t>(N);
  for (int axis = 0; axis < N; ++axis) {
    const auto values = everywhere([=](auto a) { return fold(plus, 5, a, axis); }, items);
    for (std::size_t i = 0; i < items.size(); ++i)
      require_same(values[i], folded(items[i], axis, 5, wrapping_sum));
  }
}

TEST_CASE("fold of vectors") { along_each_axis<1>(); }
TEST_CASE("fold of matrices along each axis") { along_each_axis<2>(); }
TEST_CASE("fold at rank 3 along each axis") { along_each_axis<3>(); }
TEST_CASE("fold at rank 4 along each axis") { along_each_axis<4>(); }

TEST_CASE("fold_all, and named folds along an axis") {
  const auto items = arrays<3, double>(11);
  const auto values = everywhere([](auto a) { return fold_all(plus, 0.5, a); }, items);
  for (std::size_t i = 0; i < items.size(); ++i)
    require_same(values[i], agree(fold(plus, 0.5, flatten(use(items[i])))));
  everywhere([](auto a) { return fold_all(maximum_of, -1e9, a); }, items);
  everywhere([](auto a) { return sum(a, 1); }, items);
  everywhere([](auto a) { return product(map([](auto x) { return x / 1000.0; }, a), 0); }, items);

  std::vector<Array<3, double>> whole;
  for (const auto& item : items)
    if (item.size() > 0) whole.push_back(item);
  everywhere([](auto a) { return minimum(a, 0); }, whole);
  everywhere([](auto a) { return maximum(a, 1); }, whole);
  everywhere([](auto a) { return fold1(plus, a, 2); }, whole);
}

TEST_CASE("fold_all of a scalar array") {
  require_same(agree(fold_all(plus, 1.5, use(Scalar<double>(2.0)))), Scalar<double>(3.5));
}

TEST_CASE("a fold of a fold") {
  const auto items = arrays<3, double>(5);
  everywhere([](auto a) { return maximum(fold(plus, 0.0, a), 1); },
             [&] {
               std::vector<Array<3, double>> some;
               for (const auto& item : items)
                 if (item.extent(1) > 0) some.push_back(item);
               return some;
             }());
  everywhere(
      [](auto a) { return fold(plus, 0.25, map([](auto x) { return x * 2.0; }, fold(plus, 0.0, a, 0))); },
      items);
}

template <class T>
std::vector<Matrix<T>> tall_and_wide() {
  std::vector<Matrix<T>> out;
  for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{{8193, 3},
                                                                                        {4097, 2},
                                                                                        {260, 65},
                                                                                        {17, 64},
                                                                                        {256, 17},
                                                                                        {255, 1},
                                                                                        {0, 5},
                                                                                        {5, 0},
                                                                                        {1, 200},
                                                                                        {20, 130}})
    out.push_back(array_of(Index{rows, columns},
                           [](std::int64_t i) { return number<T>(static_cast<std::uint64_t>(i)); }));
  return out;
}

TEST_CASE("columns reduced by an operator whose loop ends for what there is only") {
  const auto doubled_up = [](auto x, auto y) {
    return while_loop([](auto z) { return z < 1; }, [](auto z) { return z * 2; }, x * y);
  };
  const auto a = array_of(Index{300, 3}, [](std::int64_t i) { return 0.3 + static_cast<double>(i % 7) / 8; });
  everywhere([=](auto m) { return fold1(doubled_up, m, 0); }, std::vector{a, a});
}

TEST_CASE("columns that are reduced side by side", "[once]") {
  const auto numbers = tall_and_wide<double>();
  everywhere([](auto a) { return sum(a, 0); }, numbers);
  everywhere([](auto a) { return fold(minus, 1.0, map([](auto x) { return x * x; }, a), 0); }, numbers);
  everywhere([](auto a) { return fold([](auto x, auto y) { return x * 0.5F + y; }, 1.0F, a, 0); },
             tall_and_wide<float>());
  everywhere([](auto a) { return maximum(a, 0); },
             std::vector{numbers[0], numbers[1], numbers[2], numbers[8], numbers[9]});
  everywhere([](auto a) { return zip(count(a, 0), any(a, 0)); }, tall_and_wide<bool>());
  everywhere([](auto a) { return sum(a, 0); }, tall_and_wide<std::uint8_t>());
  // Seeds that differ, two reductions of the same columns, a stream of matrices of one shape.
  everywhere(
      [](auto a) {
        const auto sums = sum(a, 0), squares = sum(map([](auto x) { return x * x; }, a), 0);
        return zip(sums, squares);
      },
      std::vector{numbers[2], numbers[2], numbers[3]});
  fails<RunError>(minimum(use(numbers[6]), 0), {"minimum", "no elements"});
  const auto cube =
      array_of(Index{3, 70, 90}, [](std::int64_t i) { return static_cast<std::int32_t>(i * 31); });
  for (int axis = 0; axis < 3; ++axis)
    everywhere([=](auto a) { return sum(a, axis); }, std::vector{cube, cube});
}

/// Numbers that look random, from -8 to 8.
template <class T, int N>
Array<N, T> numbered(const Index<N>& shape, std::uint64_t seed) {
  return array_of(shape, [=](std::int64_t i) {
    const std::uint64_t mixed = (static_cast<std::uint64_t>(i) + 1000 * seed) * 0x9E3779B97F4A7C15;
    return static_cast<T>(static_cast<double>(mixed >> 40) / (1 << 20) - 8.0);
  });
}

TEST_CASE("a few long columns are parted along their length") {
  for (const std::int64_t columns : {1, 2, 3, 5, 33, 70})
    for (const std::int64_t rows : {8193, 3 * 4096 + 100, 5 * 4096 + 4000}) {
      INFO(rows << " x " << columns);
      const auto m = use(numbered<float>(Index{rows, columns}, 5));
      agree(sum(m, 0));
      agree(std::tuple(minimum(m, 0), maximum(m, 0)));
      // Much is computed.
      agree(fold(plus, 0.0f, map([](auto x) { return exp(sin(x) * 2.0f) + pow(abs(x), 1.7f); }, m), 0));
      if (columns > 5) continue;
      // From left to right; and by several operators together.
      agree(fold([](auto x, auto y) { return x * 0.5f + y; }, 1.0f, m, 0));
      const auto both = map([](auto x) { return pack(x, cast<std::int32_t>(x * 10.0f)); }, m);
      agree(fold([](auto x, auto y) { return pack(get<0>(x) + get<0>(y), max(get<1>(x), get<1>(y))); },
                 std::tuple(0.5f, 3), both, 0));
    }
  // Along the first and the middle dimension; in the items of a stream.
  const auto block = use(numbered<double>(Index{3, 9000, 4}, 6));
  agree(sum(block, 1));
  agree(sum(transpose(block, {1, 0, 2}), 0));
  std::vector<Matrix<double>> items;
  for (std::uint64_t i = 0; i < 5; ++i) items.push_back(numbered<double>(Index{8200, 6}, i));
  agree(consume(
      tabulate(map_seq([](auto m) { return sum(m, 0); }, stream_in(regular(Index{8200, 6}), items)))));
}

TEST_CASE("short rows without a seed, of one length and of several") {
  for (const std::int64_t columns : {1, 2, 3, 7, 8, 17, 64, 200}) {
    INFO(columns);
    const auto m = use(numbered<double>(Index{100, columns}, 8));
    agree(minimum(m, 1));
    agree(std::tuple(maximum(m, 1), sum(m, 1)));
    agree(fold1(plus, map([](auto x) { return x * 1.25; }, m), 1));
  }
  std::vector<Vector<float>> rows;
  for (std::uint64_t i = 0; i < 300; ++i)
    rows.push_back(
        numbered<float>(Index{static_cast<std::int64_t>(1 + i * i % 11 + (i % 90 == 89 ? 150 : 0))}, i));
  const auto least = [](auto row) { return minimum(row); };
  agree(consume(elements(map_seq(least, stream_in(rows)))));
  agree(consume(elements(
      map_seq([](auto row) { return unit(the(maximum(row)) * 100.0f + the(sum(row))); }, stream_in(rows)))));
  agree(consume(elements(map_seq([](auto row) { return fold1(plus, row); }, stream_in(rows)))));
  for (const std::size_t empty : {0, 3, 64, 131, 299}) {
    auto holed = rows;
    holed[empty] = Vector<float>(0);
    holed[299] = Vector<float>(0);
    fails<RunError>(consume(elements(map_seq(least, stream_in(holed)))),
                    {"minimum", "no elements", "item " + std::to_string(empty) + " "});
  }
}

TEST_CASE("a stop request ends products of rows that have no end in sight", "[once]") {
  const auto a = generate(index_of(128, 100), [](auto at) { return exp(cast<float>(at[0] - at[1])); });
  const auto b = generate(index_of(100, 128), [](auto at) { return exp(cast<float>(at[1] - at[0])); });
  const auto products = generate(index_of(128, 128, std::int64_t{1} << 40), [=](auto at) {
    const auto inner = min(at[2], 99);
    return a[index_of(at[0], inner)] * b[index_of(inner, at[1])];
  });
  const auto program = compile(fold(plus, 0.0f, products));
  for (const int threads : {1, 2}) {
    std::stop_source stop;
    std::jthread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      stop.request_stop();
    });
    REQUIRE_THROWS_AS(program.run({.threads = threads, .stop = stop.get_token()}), Cancelled);
  }
}

}  // namespace
}  // namespace anabranch::testing
