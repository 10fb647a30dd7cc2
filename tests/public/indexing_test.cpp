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

TEST_CASE("an integer of any type is a position") {
  const auto table = use(Vector<double>{0.5, 1.5, 2.5});
  const auto matrix = use(Matrix<double>(Index{2, 3}, {1, 2, 3, 4, 5, 6}));
  const auto narrow = use(Vector<std::int32_t>{2, 0, 1});
  const auto bytes = use(Vector<std::uint8_t>{2, 0, 1});
  const Vector<double> expected{2.5, 0.5, 1.5};
  require_same(agree(map([=](auto i) { return table[i]; }, narrow)), expected);
  require_same(agree(map([=](auto i) { return table[i]; }, bytes)), expected);
  require_same(agree(map([=](auto i) { return table.linear(i); }, narrow)), expected);
  require_same(agree(zip_with([=](auto i, auto j) { return matrix[index_of(cast<std::int64_t>(i) / 2, j)]; },
                              narrow, bytes)),
               Vector<double>{6, 1, 2});
  require_same(agree(slice(matrix, the(slice(narrow, 2)), all)), Vector<double>{4, 5, 6});
  require_same(agree(generate(the(slice(bytes, 0)), [](auto i) { return i; })), Vector<std::int64_t>{0, 1});
  require_same(agree(replicate(table, the(slice(narrow, 2)), all)),
               Matrix<double>(Index{1, 3}, {0.5, 1.5, 2.5}));
  require_same(agree(consume(elements(produce(the(slice(narrow, 0)), [](auto i) { return unit(i); })))),
               Vector<std::int64_t>{0, 1});
  // Numbers known only when the program is built.
  for (std::size_t k = 0; k < 3; ++k) REQUIRE(agree(unit(table[k]))[0] == 0.5 + static_cast<double>(k));
  REQUIRE(agree(unit(matrix[index_of(1U, std::size_t{2})]))[0] == 6);
  // Out of range is out of range, negative too.
  fails<RunError>(map([=](auto i) { return table[i - 1]; }, narrow), {"index", "-1", "indexing_test.cpp"});
  fails<RunError>(map([=](auto i) { return table[i + 1]; }, bytes), {"index", "3", "indexing_test.cpp"});
}

TEST_CASE("short rows of different lengths, each element read with a check at its own position") {
  std::vector<Vector<double>> rows;
  for (std::int64_t n = 0; n < 40; ++n)
    rows.push_back(vector_of((n * 7) % 20, [&](std::int64_t i) {
      return number<double>(static_cast<std::uint64_t>(100 * n + i));
    }));
  const auto copied = [](auto row) { return generate(size(row), [=](auto i) { return row[i]; }); };
  everywhere([=](auto row) { return sum(copied(row)); }, rows);
  everywhere([=](auto row) { return scanl1(plus, copied(row)); }, rows);
  everywhere([=](auto row) { return sum(zip_with(times, copied(row), row)); }, rows);
}

TEST_CASE("reads that are known to be in range, of what is computed where it is read") {
  std::vector<Vector<double>> rows;
  for (const std::int64_t n : {0, 1, 2, 3, 7, 40})
    rows.push_back(
        vector_of(n, [&](std::int64_t i) { return number<double>(static_cast<std::uint64_t>(10 * n + i)); }));
  using I = Exp<std::int64_t>;
  const auto dear = [](auto x) { return exp(sin(x)); };
  const auto both = [&](auto read) {
    everywhere([=](auto row) { return read(map([](auto x) { return x + 1.0; }, row)); }, rows);
    everywhere([=](auto row) { return read(map(dear, row)); }, rows);
    everywhere([=](auto row) { return sum(read(map(dear, row))); }, rows);
  };
  both([](auto p) { return generate(size(p), [=](I i) { return p[size(p) - 1 - i]; }); });
  both([](auto p) { return generate(max(size(p) - 2, 0), [=](I i) { return p[i + 2] - p[i]; }); });
  both([](auto p) { return generate(size(p) * 2, [=](I i) { return p[i / 2]; }); });
  both([](auto p) { return generate(size(p) / 2, [=](I i) { return p[2 * i + 1]; }); });
  both([](auto p) {
    return generate(size(p), [=](I i) { return p[max(min(i + 3, size(p) - 1), 0)] * p[max(i - 3, 0)]; });
  });
  both([](auto p) { return backpermute(size(p), [=](I i) { return index_of(size(p) - 1 - i); }, p); });
  // The last element, which is there where a position is.
  both([](auto p) { return generate(size(p), [=](I i) { return p[size(p) - 1 + i - i] + p[i]; }); });
  // Behind a condition, and at a position that another read gives.
  both([](auto p) {
    const auto order = argsort(p);
    return generate(size(p), [=](I i) { return cond(i > 0, p[order[max(i - 1, 0)]], p[i]); });
  });
  fails<RunError>(generate(I(3), [p = use(rows[2])](I i) { return p[i]; }), {"index", "2 out of range 0..1"});
  const auto huge = use(Scalar<std::int64_t>((std::int64_t{1} << 59) + 1));
  REQUIRE_THROWS_AS(run(generate(the(huge), [](I i) { return i; })), RunError);
}

TEST_CASE("an index whose ends are in range, but which wraps around between them, is out of range") {
  using I = Exp<std::int64_t>;
  const auto a = use(numbers<double>(10, 1));
  // Times the last lane of eight and of four they are 5 and 2; and likewise backwards.
  for (const std::int64_t s :
       {std::int64_t{2'635'249'153'387'078'803}, std::int64_t{6'148'914'691'236'517'206},
        -std::int64_t{2'635'249'153'387'078'803}}) {
    INFO(s);
    const auto times_s = [s](const I& i) {
      const std::uint64_t bits = s < 0 ? -static_cast<std::uint64_t>(s) : static_cast<std::uint64_t>(s);
      I x = 0;
      for (int bit = 62; bit >= 0; --bit) {
        x = x + x;
        if (bits >> bit & 1) x = x + i;
      }
      return s < 0 ? 0 - x : x;
    };
    fails<RunError>(generate(std::int64_t{8}, [&](const I& i) { return a[times_s(i) + (s < 0 ? 7 : 0)]; }),
                    {"out of range 0..9"});
  }
}

TEST_CASE("an unsigned index of 32 bits, below 2^31 and above") {
  using U = Exp<std::uint32_t>;
  const auto a = use(numbers<double>(100, 1));
  const auto given =
      vector_of(200, [](std::int64_t i) { return static_cast<std::uint32_t>(i * 0x9E3779B9); });
  const auto v = use(given);
  agree(
      map([=](const U& x) { return a[cast<std::int64_t>((x >> 26) & 63u)] + a[cast<std::int64_t>(x >> 27)]; },
          v));
  fails<RunError>(map([=](const U& x) { return a[cast<std::int64_t>(x >> 1)]; }, v), {"out of range 0..99"});
  // A loop's state that begins with 0 and is 2^32 - 1 in the second round of some lanes.
  const auto second_round = [=](const U& x) {
    const auto read = [=](const auto& state) {
      auto [at, rounds] = state;
      return pack(cond(a[cast<std::int64_t>(at)] > -1e300, cond(x % 7u == 3u, 0xffffffffu, 1u), 0u),
                  rounds + 1);
    };
    return get<0>(
        while_loop([](const auto& state) { return get<1>(state) < 2; }, read, pack(U(0u), Exp<int>(0))));
  };
  fails<RunError>(map(second_round, v), {"index 4294967295 out of range 0..99"});
}

}  // namespace
}  // namespace anabranch::testing
