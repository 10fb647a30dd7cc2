#include <algorithm>

#include "agree.h"

// Products as values: made of parts, compared; indices and shapes as elements.
namespace anabranch::testing {
namespace {

using Entry = std::tuple<std::int32_t, double>;
using Nested = std::pair<Entry, std::tuple<bool, std::uint8_t>>;

template <class T, class Item>
void comparisons(Item item) {
  std::vector<std::tuple<T, T>> pairs;
  for (std::int64_t i = 0; i < 6; ++i)
    for (std::int64_t j = 0; j < 6; ++j) pairs.emplace_back(item(i), item(j));
  const Vector<std::tuple<T, T>> all(pairs);
  const std::vector rows{all, Vector<std::tuple<T, T>>{}, Vector<std::tuple<T, T>>{all[1]}};
  const auto values = everywhere(
      [](auto row) {
        return map(
            [](auto e) {
              auto [x, y] = e;
              return pack(x == y, x != y, x<y, x <= y, x> y, x >= y);
            },
            row);
      },
      rows);
  for (std::int64_t i = 0; i < all.size(); ++i) {
    const auto& [x, y] = pairs[static_cast<std::size_t>(i)];
    REQUIRE(values[0][i] == std::tuple(x == y, x != y, x<y, x <= y, x> y, x >= y));
  }
}

TEST_CASE("tuples compare as std::tuple does") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Entry entries[] = {{1, 0.5}, {1, 0.25}, {0, 7.0}, {-3, nan}, {1, -0.0}, {1, 0.0}};
  comparisons<Entry>([&](std::int64_t i) { return entries[i]; });
}

TEST_CASE("nested pairs compare as std::pair does", "[once]") {
  comparisons<Nested>([](std::int64_t i) {
    return Nested{{static_cast<std::int32_t>(i / 4), 0.5}, {i % 4 > 1, static_cast<std::uint8_t>(i % 2)}};
  });
}

TEST_CASE("products are compared with plain values") {
  const Vector<Entry> v{{1, 0.5}, {2, 0.25}};
  require_same(agree(map([](auto e) { return pack(e == Entry(1, 0.5), e < Entry(2, 0.125)); }, use(v))),
               Vector<std::tuple<bool, bool>>{{true, true}, {false, false}});
}

TEST_CASE("make gives products of every kind") {
  const Vector<Entry> v{{1, 0.5}, {2, 0.25}};
  const auto made = agree(map(
      [](auto e) {
        auto [i, x] = e;
        return make<Nested>(make<Entry>(i + 1, 2), pack(x > 0.3, cast<std::uint8_t>(i)));
      },
      use(v)));
  REQUIRE(made[0] == Nested{{2, 2.0}, {true, 1}});
  REQUIRE(made[1] == Nested{{3, 2.0}, {false, 2}});
  require_same(agree(map([](auto e) { return make<Index<2>>(cast<std::int64_t>(get<0>(e)), 5); }, use(v))),
               Vector<Index<2>>{Index{1, 5}, Index{2, 5}});
}

TEST_CASE("a minimum by key is a fold over pairs") {
  const auto rows = std::vector{numbers<double>(5000), numbers<double>(3, 7), numbers<double>(1, 2)};
  const auto values = everywhere(
      [](auto row) {
        auto positions = generate(size(row), [](auto i) { return i; });
        return fold1([](auto a, auto b) { return cond(a < b, a, b); }, zip(row, positions));
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto least = std::min_element(rows[r].begin(), rows[r].end());
    REQUIRE(values[r][0] == std::tuple(*least, least - rows[r].begin()));
  }
}

TEST_CASE("indices compare in row-major order") {
  const Vector<Index<2>> places{Index{1, 2}, Index{1, 3}, Index{0, 9}, Index{1, 2}};
  const auto rank_among = [&](auto before) {
    return agree(map(
        [=](auto ix) { return pack(before(ix, Index{1, 2}), before(Index{1, 2}, ix), ix == Index{1, 2}); },
        use(places)));
  };
  using Three = std::tuple<bool, bool, bool>;
  require_same(
      rank_among([](auto x, auto y) { return x < y; }),
      Vector<Three>{{false, false, true}, {false, true, false}, {true, false, false}, {false, false, true}});
  require_same(
      rank_among([](auto x, auto y) { return x >= y; }),
      Vector<Three>{{true, true, true}, {true, false, false}, {false, true, false}, {true, true, true}});
}

TEST_CASE("shapes are elements, and sort and reduce as such") {
  const std::vector items{Matrix<float>(Index{2, 3}), Matrix<float>(Index{2, 1}), Matrix<float>(Index{0, 5})};
  const auto shapes = map_seq([](auto m) { return unit(shape(m)); }, stream_in(items));
  const Acc<Vector<Index<2>>> all = consume(elements(shapes));
  require_same(agree(all), Vector<Index<2>>{Index{2, 3}, Index{2, 1}, Index{0, 5}});
  const auto least = fold([](auto a, auto b) { return cond(a <= b, a, b); }, Index{9, 9}, all);
  REQUIRE(agree(least)[0] == Index{0, 5});
  require_same(agree(map([](auto ix) { return ix == Index{2, 1}; }, all)), Vector<bool>{false, true, false});
}

}  // namespace
}  // namespace anabranch::testing
