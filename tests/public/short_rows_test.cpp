#include "shapes.h"

// Rows of one length, and of lengths that differ, around what fills vectors and groups of them.
namespace anabranch::testing {
namespace {

template <class T>
Matrix<T> matrix(std::int64_t rows, std::int64_t columns) {
  const auto all = numbers<T>(rows * columns, static_cast<std::uint64_t>(rows + 7 * columns));
  return Matrix<T>::view(Index{rows, columns}, all.data()).copy();
}
template <class T>
std::vector<Matrix<T>> matrices() {
  std::vector<Matrix<T>> out;
  for (const std::int64_t columns : {1, 2, 3, 4, 15, 16, 17, 27, 32, 33, 64, 100, 255, 256, 300})
    for (const std::int64_t rows : {1, 15, 16, 17, 40}) out.push_back(matrix<T>(rows, columns));
  out.push_back(matrix<T>(0, 5));
  out.push_back(matrix<T>(20, 0));
  return out;
}

TEST_CASE("sums of rows of one length") {
  const auto items = matrices<std::int32_t>();
  const auto got = everywhere([](auto a) { return sum(a); }, items);
  for (std::size_t i = 0; i < items.size(); ++i)
    for (std::int64_t row = 0; row < items[i].extent(0); ++row) {
      std::int64_t expected = 0;
      for (std::int64_t k = 0; k < items[i].extent(1); ++k) expected += items[i][Index{row, k}];
      REQUIRE(got[i][row] == expected);
    }
}

TEST_CASE("rows of one length, of all sizes of elements and several components", "[once]") {
  everywhere([](auto a) { return sum(map([](auto x) { return x * 0.5F; }, a)); }, matrices<float>());
  everywhere([](auto a) { return sum(a); }, matrices<double>());
  everywhere([](auto a) { return maximum(a); },
             std::vector{matrix<std::uint8_t>(40, 33), matrix<std::uint8_t>(17, 2)});
  everywhere(
      [](auto a) {
        const auto add = [](auto x, auto y) {
          return pack(get<0>(x) + get<0>(y), max(get<1>(x), get<1>(y)));
        };
        return fold(add, pack(Exp<double>(0.0), Exp<double>(-1.0)),
                    map([](auto x) { return pack(x, x * x); }, a));
      },
      matrices<double>());
}

TEST_CASE("rows of one length in a stream, with what all rows share") {
  std::vector<Vector<float>> rows;
  for (std::uint64_t i = 0; i < 70; ++i) rows.push_back(numbers<float>(27, i));
  const auto factor = use(Vector<float>{1.5F});
  everywhere([=](auto row) { return fold(plus, factor[0], map([=](auto x) { return x * factor[0]; }, row)); },
             rows);
}

TEST_CASE("rows whose lengths differ, in groups") {
  std::vector<Vector<float>> rows;
  for (std::int64_t i = 0; i < 300; ++i)
    rows.push_back(numbers<float>(i * i % 61, static_cast<std::uint64_t>(i)));
  rows.push_back(numbers<float>(1000, 3));
  for (std::int64_t i = 0; i < 40; ++i) rows.push_back(numbers<float>(i % 9, static_cast<std::uint64_t>(i)));
  everywhere([](auto row) { return sum(row); }, rows);
  everywhere([](auto row) { return minimum(map([](auto x) { return x * x; }, zip_with(plus, row, row))); },
             std::vector(rows.begin() + 1, rows.begin() + 60));
}

}  // namespace
}  // namespace anabranch::testing
