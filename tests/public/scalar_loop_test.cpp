#include "agree.h"
#include "shapes.h"

// Loops in scalar code: a number of rounds, and along a row of an array; and positions as numbers.
namespace anabranch::testing {
namespace {

TEST_CASE("a function is applied a number of times, another for each element") {
  const std::vector<Vector<std::int32_t>> rows{{0, 1, 5, -3, 12}, {}, {2}, numbers<std::int32_t>(40, 1)};
  const auto values = everywhere(
      [](auto row) {
        return map(
            [](auto x) {
              const auto n = x & 15;
              auto doubled = iterate(n, [](auto y) { return y * 2; }, x);
              auto swapped = iterate(
                  n,
                  [](auto s) {
                    auto [a, b] = s;
                    return pack(b, a + b);
                  },
                  pack(Exp(std::int64_t{0}), Exp(std::int64_t{1})));
              return pack(
                  doubled, get<0>(swapped),
                  iterate(-n, [](auto y) { return y / 0; }, x), iterate(3, [&](auto y) { return y + n; }, 1));
            },
            row);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const std::int32_t x = rows[r][i], n = x & 15;
      std::int64_t a = 0, b = 1;
      for (int k = 0; k < n; ++k) a = std::exchange(b, a + b);
      const auto doubled = static_cast<std::int32_t>(static_cast<std::uint32_t>(x) << n);
      REQUIRE(values[r][i] == std::tuple(doubled, a, x, 1 + 3 * n));
    }
}

TEST_CASE("rows are folded from left to right inside scalar code") {
  const auto table =
      array_of(Index{3, 4, 5}, [](std::int64_t i) { return number<float>(static_cast<std::uint64_t>(i)); });
  const std::vector<Vector<std::int64_t>> rows{
      {0, 11, 5, 7}, {}, {3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0}};
  const auto values = everywhere(
      [&](auto row) {
        auto a = use(table);
        return map(
            [=](auto i) {
              const auto ix = index_of(i / 4, i % 4);
              const auto horner = [](auto s, auto x) { return s * 3.0 - cast<double>(x); };
              return pack(sfoldl(horner, 1.0, ix, a), sfoldl(minimum_of, Exp(100.0F), ix, a));
            },
            row);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      double horner = 1;
      float least = 100;
      for (std::int64_t k = 0; k < 5; ++k) {
        const float x = table[rows[r][i] * 5 + k];
        horner = horner * 3.0 - static_cast<double>(x);
        least = std::min(least, x);
      }
      REQUIRE(values[r][i] == std::tuple(horner, least));
    }
}

TEST_CASE("the row of an item is folded where the items differ in length") {
  const std::vector<Vector<std::int32_t>> rows{{3, 1, 4}, {}, {1}, numbers<std::int32_t>(33, 9)};
  const auto values = everywhere(
      [](auto row) { return map([=](auto x) { return sfoldl(plus, x, Index{}, row); }, row); }, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::uint32_t sum = 0;
    for (std::int64_t i = 0; i < rows[r].size(); ++i) sum += static_cast<std::uint32_t>(rows[r][i]);
    for (std::int64_t i = 0; i < rows[r].size(); ++i)
      REQUIRE(values[r][i] == static_cast<std::int32_t>(sum + static_cast<std::uint32_t>(rows[r][i])));
  }
}

/// Rounds of Collatz's problem, and what becomes of counters that count along: rounds of 1000 at most.
template <class T>
auto counted_rounds(const Exp<T>& start) {
  const auto goes_on = [](auto state) {
    auto [n, rounds, a, b, odd] = state;
    return n > 1 && rounds < 1000;
  };
  const auto step = [](auto state) {
    auto [n, rounds, a, b, odd] = state;
    const auto is_odd = (n & 1) == 1;
    // `a` and `b` depend on each other and the counter, `odd` on the number.
    return pack(cond(is_odd, 3 * n + 1, n >> 1), rounds + 1, b, a + rounds, odd + cond(is_odd, 1, 0));
  };
  return while_loop(
      goes_on, step,
      pack(start, Exp<std::int32_t>(0), Exp<std::int32_t>(1), Exp<std::int32_t>(2), Exp<std::int32_t>(0)));
}

TEST_CASE("counters of lanes that end after different numbers of rounds") {
  std::vector<Vector<std::int32_t>> rows;
  for (const std::int64_t n : {0, 1, 3, 16, 63, 64, 65, 200})
    rows.push_back(
        Vector<std::int32_t>::view(
            Index{n},
            vector_of(n, [](std::int64_t i) { return static_cast<std::int32_t>(i * i % 97 + 1); }).data())
            .copy());
  const auto got =
      everywhere([](auto row) { return map([](auto x) { return counted_rounds(x); }, row); }, rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].extent(0); ++i) {
      std::int32_t n = rows[r][i], rounds = 0, a = 1, b = 2, odd = 0;
      while (n > 1 && rounds < 1000) {
        const bool is_odd = n % 2 == 1;
        n = is_odd ? 3 * n + 1 : n / 2;
        a = std::exchange(b, a + rounds);
        ++rounds;
        odd += is_odd ? 1 : 0;
      }
      REQUIRE(got[r][i] == std::tuple(n, rounds, a, b, odd));
    }
}

TEST_CASE("loops whose end the counter decides, alone and within another loop") {
  const std::vector<Vector<double>> rows{numbers<double>(5, 1), numbers<double>(130, 2), {}};
  // Only some of the results are read; the sum of a state that runs on in lanes that have ended is not.
  everywhere(
      [](auto row) {
        return map(
            [](auto x) {
              const auto below = [](auto limit) { return [=](auto state) { return get<1>(state) < limit; }; };
              const auto grow = [=](auto state) { return pack(get<0>(state) * 0.5 + x, get<1>(state) + 1); };
              const auto inner = while_loop(below(3), grow, pack(x, Exp<std::int64_t>(0)));
              const auto outer =
                  while_loop([](auto state) { return abs(get<0>(state)) < 4.0 && get<1>(state) < 9; },
                             [=](auto state) {
                               const auto of_round =
                                   while_loop(below(get<1>(state)), grow, pack(x, Exp<std::int64_t>(0)));
                               return pack(get<0>(state) + get<0>(of_round) + 0.25, get<1>(state) + 2);
                             },
                             pack(x, Exp<std::int64_t>(0)));
              return pack(get<0>(inner), get<0>(outer), get<1>(outer));
            },
            row);
      },
      rows);
  everywhere(
      [](auto row) {
        return map(
            [](auto x) {
              return get<1>(while_loop([](auto s) { return get<0>(s) < 2.0 || get<1>(s) < 2; },
                                       [](auto s) { return pack(get<0>(s) + 0.75, get<1>(s) + 1); },
                                       pack(x, Exp<std::int32_t>(0))));
            },
            row);
      },
      rows);
}

TEST_CASE("an index out of range is an error once an element is read, with the user's line") {
  const Matrix<double> table(Index{2, 3});
  fails<RunError>(generate(3, [&](auto i) { return sfoldl(plus, 0.0, index_of(i), use(table)); }),
                  {"index 2 out of range 0..1", "scalar_loop_test.cpp"});
  const auto empty = agree(
      generate(3, [&](auto i) { return sfoldl(plus, 7.0, index_of(i), use(Matrix<double>(Index{2, 0}))); }));
  require_same(empty, Vector<double>{7, 7, 7});
}

// On a GPU the reads of several elements are under way together: the place of the first is known before the second is read,
// and nobody needs the loop afterwards.
TEST_CASE("a component of a loop is the place of a read only, beside a gather") {
  const auto table =
      array_of(Index{64}, [](std::int64_t i) { return number<double>(static_cast<std::uint64_t>(i)); });
  const std::vector<Vector<std::int64_t>> rows{
      numbers<std::int64_t>(300, 0), {}, {3}, numbers<std::int64_t>(40, 1)};
  const auto sums = everywhere(
      [&](auto row) {
        auto a = use(table);
        return sum(generate(size(row), [=](auto i) {
          const auto place = iterate(
              i & 3,
              [](auto s) {
                auto [p, q] = s;
                return pack(q & 63, p + q);
              },
              pack(i & 63, i + 1));
          return a[get<0>(place)] * a[row[i] & 63];
        }));
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    double expected = 0, size = 0;
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      std::int64_t p = i & 63, q = i + 1;
      for (std::int64_t k = 0; k < (i & 3); ++k) p = std::exchange(q, p + q) & 63;
      size += std::abs(table[p] * table[rows[r][i] & 63]);
      expected += table[p] * table[rows[r][i] & 63];
    }
    CHECK(std::abs(static_cast<double>(sums[r]) - expected) <= 1e-12 * size);
  }
}

TEST_CASE("rows of arrays of every rank are folded") {
  const auto number = [](std::int64_t i) { return static_cast<double>(i * 7 % 11); };
  const Matrix<double> matrix = Matrix<double>::view(Index{3, 4}, vector_of(12, number).data()).copy();
  const auto four = Array<4, double>::view(Index{2, 3, 2, 2}, vector_of(24, number).data()).copy();
  const auto both = agree(generate(3, [&](auto i) {
    return pack(sfoldl(minus, 1.0, index_of(i), use(matrix)),
                sfoldl(minus, 1.0, index_of(1, i, 0), use(four)));
  }));
  for (std::int64_t i = 0; i < 3; ++i) {
    double of_matrix = 1, of_four = 1;
    for (std::int64_t k = 0; k < 4; ++k) of_matrix -= number(4 * i + k);
    for (std::int64_t k = 0; k < 2; ++k) of_four -= number(12 + 4 * i + k);
    REQUIRE(both[i] == std::tuple(of_matrix, of_four));
  }
}

TEST_CASE("positions as numbers and back") {
  const auto cube = use(Array<3, float>(Index{2, 3, 4}));
  const auto got = agree(generate(24, [=](auto i) {
    const auto ix = from_linear(shape(cube), i);
    return pack(ix, to_linear(shape(cube), ix), to_linear(Index{5, 5, 5}, ix));
  }));
  for (std::int64_t i = 0; i < 24; ++i) {
    const std::int64_t x = i / 12, y = i / 4 % 3, z = i % 4;
    REQUIRE(got[i] == std::tuple(Index{x, y, z}, i, 25 * x + 5 * y + z));
  }
  const auto outside = agree(generate(2, [](auto i) {
    const auto before = from_linear(Index{2, 3}, -1 - i), after = from_linear(Index{2, 3}, 6 + i);
    return pack(before, after, to_linear(Index<0>{}, from_linear(Index<0>{}, i)));
  }));
  CHECK(outside[1] == std::tuple(Index<2>{{-1, 1}}, Index<2>{{2, 1}}, std::int64_t{0}));
  const auto common = agree(unit(intersect(shape(cube), Index{5, 2, 4})));
  CHECK(common[0] == Index<3>{{2, 2, 4}});
  fails<RunError>(generate(1, [](auto i) { return get<1>(from_linear(Index{2, 0}, i)); }),
                  {"division", "scalar_loop_test.cpp"});
}

}  // namespace
}  // namespace anabranch::testing
