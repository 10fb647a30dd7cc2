#include "agree.h"

// Tuples as elements: built, taken apart, nested, wide; arrays of them zipped and unzipped.
namespace anabranch::testing {
namespace {

using Flat = std::tuple<std::int32_t, double>;
using Nested = std::tuple<Flat, bool, std::pair<std::uint8_t, float>>;
using Six = std::tuple<bool, std::uint8_t, std::int32_t, std::int64_t, float, double>;

Six six(std::int64_t i) {
  const auto at = static_cast<std::uint64_t>(i);
  return {number<bool>(at),         number<std::uint8_t>(at), number<std::int32_t>(at),
          number<std::int64_t>(at), number<float>(at),        number<double>(at)};
}

TEST_CASE("pack, get and structured bindings") {
  const auto values = everywhere(
      [](auto row) {
        return map(
            [](auto e) {
              auto [i, x] = e;
              return pack(x, i + get<0>(e), get<1>(e) * 2.0);
            },
            row);
      },
      std::vector{Vector<Flat>{{1, 0.5}, {2, 1.5}}, Vector<Flat>{}, Vector<Flat>{{7, -1.0}},
                  vector_of(66, [](std::int64_t i) { return Flat(static_cast<std::int32_t>(i), 0.5); })});
  require_same(values[0], Vector<std::tuple<double, std::int32_t, double>>{{0.5, 2, 1.0}, {1.5, 4, 3.0}});
}

TEST_CASE("nested tuples and pairs are flat inside") {
  const auto item = [](std::int64_t i) {
    const auto at = static_cast<std::uint64_t>(i);
    return Nested{{number<std::int32_t>(at), number<double>(at)},
                  number<bool>(at),
                  {number<std::uint8_t>(at), number<float>(at)}};
  };
  const std::vector rows{vector_of(35, item), Vector<Nested>{}, vector_of(1, item), vector_of(35, item)};
  const auto values = everywhere(
      [](auto row) {
        return map(
            [](auto e) {
              auto [flat, flag, last] = e;
              auto [byte, single] = last;
              return pack(pack(get<1>(flat), flag), pack(single, byte), get<0>(flat), pack(e, flat));
            },
            row);
      },
      rows);
  for (std::int64_t i = 0; i < 35; ++i) {
    const auto [flat, flag, last] = item(i);
    REQUIRE(values[0][i] == std::tuple(std::tuple(std::get<1>(flat), flag),
                                       std::tuple(last.second, last.first), std::get<0>(flat),
                                       std::tuple(item(i), flat)));
  }
}

TEST_CASE("plain values and std::tuples of Exps as results of functions") {
  const Vector<std::int32_t> v{4, 5};
  require_same(agree(map([](auto) { return 2.5; }, use(v))), Vector<double>{2.5, 2.5});
  require_same(agree(map([](auto x) { return std::tuple(x, x * x); }, use(v))),
               Vector<std::tuple<std::int32_t, std::int32_t>>{{4, 16}, {5, 25}});
  require_same(
      agree(map([](auto x) { return std::tuple(x, std::tuple(true, x)); }, use(v))),
      Vector<std::tuple<std::int32_t, std::tuple<bool, std::int32_t>>>{{4, {true, 4}}, {5, {true, 5}}});
}

TEST_CASE("zip and unzip of every scalar type") {
  const auto values = everywhere(
      [](auto row) {
        auto [b, u, s, l, f, d] = unzip(row);
        auto three = zip(d, s, b);
        auto two = zip(f, zip(l, u));
        return zip(three, two);
      },
      std::vector{vector_of(65, six), Vector<Six>{}, vector_of(2, six)});
  for (std::int64_t i = 0; i < 65; ++i) {
    const auto [b, u, s, l, f, d] = six(i);
    REQUIRE(values[0][i] == std::tuple(std::tuple(d, s, b), std::tuple(f, std::tuple(l, u))));
  }
}

TEST_CASE("one part of an unzipped array is used") {
  const std::vector rows{vector_of(65, six), Vector<Six>{}, vector_of(2, six)};
  everywhere([](auto row) { return std::get<1>(unzip(row)); }, rows);
  everywhere([](auto row) { return std::get<5>(unzip(row)); }, rows);
  everywhere([](auto row) { return sum(std::get<3>(unzip(row))); }, rows);
}

TEST_CASE("indices are elements") {
  const auto at = agree(generate(Index{2, 3}, [](auto ix) { return ix; }));
  REQUIRE(at[Index{1, 2}] == Index{1, 2});
  const Vector<Index<2>> places{Index{3, 4}, Index{-1, 0}};
  require_same(agree(map(
                   [](auto ix) {
                     auto [i, j] = ix;
                     return index_of(j, i + ix[1]);
                   },
                   use(places))),
               Vector<Index<2>>{Index{4, 7}, Index{0, -1}});
}

}  // namespace
}  // namespace anabranch::testing
