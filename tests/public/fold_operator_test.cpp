#include <limits>

#include "agree.h"

// Operators that do not commute, on tuples: the order of the elements is kept in every split.
namespace anabranch::testing {
namespace {

using Affine = std::tuple<std::int32_t, std::int32_t>;  // x -> a x + b
using Square = std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t>;
using Text = std::tuple<std::int64_t, std::int64_t>;  // a hash, and the base to the power of the length

const auto compose = [](auto f, auto g) {
  auto [a, b] = f;
  auto [c, d] = g;
  return pack(a * c, c * b + d);
};
const auto matrix_product = [](auto x, auto y) {
  auto [a, b, c, d] = x;
  auto [e, f, g, h] = y;
  return pack(a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h);
};
const auto concatenate = [](auto x, auto y) {
  auto [hash, power] = x;
  auto [next, step] = y;
  return pack(hash * step + next, power * step);
};

template <class T, class Item, class Op, class Host>
void order_is_kept(Item item, Op op, T seed, Host host) {
  std::vector<Vector<T>> rows;
  std::uint64_t begin = 0;
  for (std::int64_t n : border_lengths) {
    rows.push_back(vector_of(n, [&](std::int64_t i) { return item(begin + static_cast<std::uint64_t>(i)); }));
    begin += 10007;
  }
  rows.push_back(vector_of(20000, [&](std::int64_t i) { return item(static_cast<std::uint64_t>(i)); }));
  const auto body = [&](auto row) { return fold(op, seed, row); };
  const auto streamed = agree(consume(elements(map_seq(body, stream_in(rows)))));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    T expected = seed;
    for (std::int64_t i = 0; i < rows[r].size(); ++i) expected = host(expected, rows[r][i]);
    if (streamed[static_cast<std::int64_t>(r)] != expected) FAIL("row of " << rows[r].size() << " elements");
  }
  // Outside, and in the regular form, for some lengths.
  for (std::size_t r : {0U, 1U, 6U, 11U, 16U, 20U, 21U}) {
    require_same(agree(body(use(rows[r]))), Scalar<T>(streamed[static_cast<std::int64_t>(r)]));
    const auto same_shape = std::vector{rows[r], rows[r], rows[r]};
    const auto regular_ones =
        agree(consume(elements(map_seq(body, stream_in(regular(rows[r].shape()), same_shape)))));
    for (std::int64_t k = 0; k < 3; ++k) REQUIRE(regular_ones[k] == streamed[static_cast<std::int64_t>(r)]);
  }
}

TEST_CASE("affine functions") {
  order_is_kept<Affine>(
      [](std::uint64_t i) { return Affine(number<std::int32_t>(i) | 1, number<std::int32_t>(i + 1)); },
      compose, Affine(3, 17),
      [](Affine f, Affine g) {
        const auto [a, b] = f;
        const auto [c, d] = g;
        const auto u = [](std::int32_t v) { return static_cast<std::uint32_t>(v); };
        return Affine(static_cast<std::int32_t>(u(a) * u(c)), static_cast<std::int32_t>(u(c) * u(b) + u(d)));
      });
}

TEST_CASE("2x2 matrices") {
  order_is_kept<Square>(
      [](std::uint64_t i) {
        return Square(number<std::int32_t>(4 * i), number<std::int32_t>(4 * i + 1) % 3, 1,
                      number<std::int32_t>(i) % 7);
      },
      matrix_product, Square(2, 1, -1, 3),
      [](Square x, Square y) {
        const auto [a, b, c, d] = x;
        const auto [e, f, g, h] = y;
        const auto m = [](std::int32_t p, std::int32_t q, std::int32_t r, std::int32_t s) {
          return static_cast<std::int32_t>(static_cast<std::uint32_t>(p) * static_cast<std::uint32_t>(q) +
                                           static_cast<std::uint32_t>(r) * static_cast<std::uint32_t>(s));
        };
        return Square(m(a, e, b, g), m(a, f, b, h), m(c, e, d, g), m(c, f, d, h));
      });
}

TEST_CASE("hashes of concatenated texts") {
  order_is_kept<Text>([](std::uint64_t i) { return Text(static_cast<std::int64_t>(mixed(i) % 251), 257); },
                      concatenate, Text(99, 257),
                      [](Text x, Text y) {
                        const auto wrap = [](std::uint64_t v) { return static_cast<std::int64_t>(v); };
                        const auto [hash, power] = x;
                        const auto [next, step] = y;
                        const auto s = static_cast<std::uint64_t>(step);
                        return Text(
                            wrap(static_cast<std::uint64_t>(hash) * s + static_cast<std::uint64_t>(next)),
                            wrap(static_cast<std::uint64_t>(power) * s));
                      });
}

TEST_CASE("logic") {
  std::vector<Vector<bool>> rows;
  for (std::int64_t n : border_lengths) {
    rows.push_back(numbers<bool>(n, static_cast<std::uint64_t>(n)));
    rows.push_back(vector_of(n, [](std::int64_t) { return true; }));
    rows.push_back(vector_of(n, [=](std::int64_t i) { return i == n - 1; }));
  }
  const auto values = agree(consume(elements(map_seq(
      [](auto row) {
        return unit(pack(the(fold([](auto a, auto b) { return a && b; }, true, row)),
                         the(fold([](auto a, auto b) { return a || b; }, false, row)),
                         the(fold([](auto a, auto b) { return a != b; }, false, row))));
      },
      stream_in(rows)))));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    bool every = true, some = false, odd = false;
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      every = every && rows[r][i];
      some = some || rows[r][i];
      odd = odd != rows[r][i];
    }
    REQUIRE(values[static_cast<std::int64_t>(r)] == std::tuple(every, some, odd));
  }
}

TEST_CASE("several reductions as one on tuples, and the place of the largest") {
  using Summary = std::tuple<std::int32_t, std::int32_t, std::int32_t>;
  const auto summary = [](auto row) {
    return fold(
        [](auto a, auto b) {
          auto [sum, low, high] = a;
          auto [s, l, h] = b;
          return pack(sum + s, min(low, l), max(high, h));
        },
        Summary(0, 1000, -1000), map([](auto x) { return pack(x, x, x); }, row));
  };
  const auto place_of_largest = [](auto row) {
    auto placed = generate(size(row), [=](auto i) { return pack(row[i], i); });
    return fold([](auto a, auto b) { return cond(get<0>(b) > get<0>(a), b, a); },
                std::tuple(std::numeric_limits<std::int32_t>::min(), std::int64_t{-1}), placed);
  };
  std::vector<Vector<std::int32_t>> rows;
  for (std::int64_t n : {0, 1, 16, 17, 64, 257, 5000})
    rows.push_back(
        vector_of(n, [=](std::int64_t i) { return static_cast<std::int32_t>((i * 7919 + n) % 997); }));
  const auto summaries = everywhere(summary, rows);
  const auto places = everywhere(place_of_largest, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    Summary expected(0, 1000, -1000);
    std::tuple<std::int32_t, std::int64_t> best(std::numeric_limits<std::int32_t>::min(), -1);
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const std::int32_t x = rows[r][i];
      auto& [sum, low, high] = expected;
      sum += x;
      low = std::min(low, x);
      high = std::max(high, x);
      if (x > std::get<0>(best)) best = {x, i};
    }
    REQUIRE(summaries[r][0] == expected);
    REQUIRE(places[r][0] == best);
  }
}

TEST_CASE("first and last") {
  const std::vector rows{numbers<double>(300, 1), numbers<double>(1, 2), numbers<double>(17, 3),
                         numbers<double>(5000, 4)};
  const auto values = everywhere(
      [](auto row) {
        return unit(pack(the(fold1([](auto a, auto) { return a; }, row)),
                         the(fold1([](auto, auto b) { return b; }, row))));
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    REQUIRE(values[r][0] == std::tuple(rows[r][0], rows[r][rows[r].size() - 1]));
}

}  // namespace
}  // namespace anabranch::testing
