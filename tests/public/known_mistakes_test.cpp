#include "shapes.h"

// Mistakes that an earlier system of this kind made, one test case each; the expected values are plain loops. Those of
// streams: known_mistakes_streams_test.cpp; those at the borders of folds and scans: known_mistakes_boundaries_test.cpp.
// Every element of an irregular chunk searches its item: that shows inside only, in tests/cuda/items_test.cpp and
// tests/cpu/items_test.cpp. A lifted foreign call is no test yet: there are no foreign calls.
namespace anabranch::testing {
namespace {

using Ints = Vector<std::int64_t>;

/// Rows of these lengths, of small numbers of both signs.
std::vector<Ints> rows_of(std::initializer_list<std::int64_t> lengths) {
  std::vector<Ints> rows;
  for (const std::int64_t n : lengths)
    rows.push_back(vector_of(n, [=](std::int64_t i) {
      return number<std::int64_t>(static_cast<std::uint64_t>(100 * n + i)) % 50;
    }));
  return rows;
}
std::int64_t sum_of(const Ints& row) {
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < row.size(); ++i) total += row[i];
  return total;
}
/// Matrices of different shapes, some without elements.
std::vector<Matrix<std::int64_t>> matrices() {
  std::vector<Matrix<std::int64_t>> out;
  for (const Index<2>& shape :
       {Index{3, 4}, Index{0, 5}, Index{2, 67}, Index{5, 0}, Index{40, 1}, Index{1, 33}})
    out.push_back(array_of(shape, [&](std::int64_t i) { return i * i % 23 - 9 + shape[0]; }));
  return out;
}

TEST_CASE("a lifted awhile is no error") {
  // Each item has as many rounds as it needs, and its extents change from round to round.
  const auto items = rows_of({0, 1, 2, 7, 64, 65});
  const auto got = everywhere(
      [](auto row) {
        return awhile([](auto v) { return extent(v, 0) > 1; },
                      [](auto v) {
                        const auto n = extent(v, 0);
                        return generate((n + 1) / 2, [=](auto i) { return v[i] - 2 * v[n - 1 - i]; });
                      },
                      row);
      },
      items);
  for (std::size_t k = 0; k < items.size(); ++k) {
    Ints v = items[k];
    while (v.size() > 1)
      v = vector_of((v.size() + 1) / 2, [&](std::int64_t i) { return v[i] - 2 * v[v.size() - 1 - i]; });
    require_same(got[k], v);
  }
}

TEST_CASE("a lifted scanl_ is no error") {
  const auto items = rows_of({0, 1, 31, 32, 33, 200});
  const auto before = everywhere([](auto row) { return std::get<0>(scanl_(plus, 7, row)); }, items);
  const auto total = everywhere([](auto row) { return std::get<1>(scanl_(plus, 7, row)); }, items);
  for (std::size_t k = 0; k < items.size(); ++k) {
    std::int64_t so_far = 7;
    REQUIRE(before[k].size() == items[k].size());
    for (std::int64_t i = 0; i < items[k].size(); ++i) {
      REQUIRE(before[k][i] == so_far);
      so_far += items[k][i];
    }
    REQUIRE(total[k][Index{}] == so_far);
  }
}

TEST_CASE("a lifted stencil is no error") {
  const auto items = matrices();
  const auto cross = [](auto n) { return 3 * n(0, 0) + n(-1, 0) - n(1, 0) + 2 * n(0, -1) - n(0, 2); };
  const auto got = everywhere([=](auto a) { return stencil(cross, constant(100), a); }, items);
  for (std::size_t k = 0; k < items.size(); ++k)
    each_position(items[k].shape(), [&](const Index<2>& ix) {
      const auto n = [&](std::int64_t dy, std::int64_t dx) {
        const Index<2> at{ix[0] + dy, ix[1] + dx};
        const bool inside =
            at[0] >= 0 && at[0] < items[k].extent(0) && at[1] >= 0 && at[1] < items[k].extent(1);
        return inside ? items[k][at] : 100;
      };
      REQUIRE(got[k][ix] == 3 * n(0, 0) + n(-1, 0) - n(1, 0) + 2 * n(0, -1) - n(0, 2));
    });
}

/// What `explain` says of the arrays of the first stream, without those of sequences inside of it.
template <class F>
std::string forms(F f) {
  const std::vector<Ints> items(3, Ints{4, 0, 2, 7, 1, 1, 3, 5});
  const std::string text =
      compile(consume(elements(map_seq(f, stream_in(regular(Index{8}), items))))).explain();
  const std::size_t begin = text.find("stream 0");
  REQUIRE(begin != std::string::npos);
  return text.substr(begin, text.find("\n\n", begin) - begin);
}
template <class F>
void stays_regular(const char* operation, F f) {
  const std::string text = forms(f);
  INFO(text);
  CHECK_THAT(text, Catch::Matches("[^]*" + std::string(operation) + " +[A-Z][a-z]+ \\w+ +regular [^]*"));
  CHECK_THAT(text, !Catch::Contains("segmented"));
}

TEST_CASE("scans, permute and segmented folds of regular items are regular") {
  stays_regular("scanl1", [](auto row) { return scanl1(plus, row); });
  stays_regular("scanl", [](auto row) { return scanl(plus, 0, row); });
  stays_regular("scanr1", [](auto row) { return scanr1(plus, row); });
  stays_regular("scanl_", [](auto row) { return std::get<0>(scanl_(plus, 0, row)); });
  const auto place = [](auto row) { return [=](auto ix) { return index_of(row[ix] % 3); }; };
  stays_regular("permute",
                [=](auto row) { return permute(plus, fill(3, std::int64_t{0}), place(row), row); });
  const Vector<std::int32_t> lengths{3, 0, 5};
  stays_regular("fold_seg", [=](auto row) { return fold_seg(plus, 0, row, use(lengths)); });
  // And what does depend on the item is found by the same means.
  CHECK_THAT(forms([](auto row) { return scanl1(plus, take(row[0], row)); }), Catch::Contains("segmented"));
}

TEST_CASE("a side of a lifted conditional runs only for the items that take it") {
  const std::vector<Ints> items{{0, 0}, {1, 2, 3}, {}, {5}, {-3, 1}, {2, 2, 2, 2}};
  const auto check = [&](auto f, auto expected) {
    const auto got = everywhere(f, items);
    for (std::size_t k = 0; k < items.size(); ++k) require_same(got[k], expected(items[k]));
  };
  const auto each = [](const Ints& row, auto f) {
    return vector_of(row.size(), [&](std::int64_t i) { return f(row[i]); });
  };
  // Out of range for short items,
  const auto third = [](auto row) { return map([=](auto x) { return x + row[2]; }, row); };
  check([=](auto row) { return acond(extent(row, 0) > 2, [=] { return third(row); }, row); },
        [&](const Ints& row) {
          return row.size() > 2 ? each(row, [&](std::int64_t x) { return x + row[2]; }) : row;
        });
  // a division by zero,
  check(
      [](auto row) {
        const auto total = the(sum(row));
        return acond(total == 0, row, [=] { return map([=](auto x) { return 60 * x / total; }, row); });
      },
      [&](const Ints& row) {
        return each(row, [&](std::int64_t x) { return sum_of(row) == 0 ? x : 60 * x / sum_of(row); });
      });
  // and a loop without end for what does not grow. If its side runs for one of these, so does this test, for ever.
  check(
      [](auto row) {
        const auto grow = [=] {
          return awhile([](auto v) { return the(sum(v)) < 100; },
                        [](auto v) { return map([](auto x) { return x * 2; }, v); }, row);
        };
        return acond(the(sum(row)) > 0, grow, row);
      },
      [&](const Ints& row) {
        std::int64_t factor = 1;
        while (sum_of(row) > 0 && factor * sum_of(row) < 100) factor *= 2;
        return each(row, [&](std::int64_t x) { return factor * x; });
      });
  // The same inside the code of elements, where neighbours take different sides.
  check(
      [](auto row) {
        const auto doubled = [](auto x) {
          return while_loop([](auto y) { return y < 100; }, [](auto y) { return y * 2; }, x);
        };
        const Exp<std::int64_t> last = extent(row, 0) - 1;
        return map([=](auto x) { return cond(x > 0, doubled(x), cond(x == 0, x, row[last + x * 0] / x)); },
                   row);
      },
      [&](const Ints& row) {
        return each(row, [&](std::int64_t x) {
          while (x > 0 && x < 100) x *= 2;
          return x < 0 ? row[row.size() - 1] / x : x;
        });
      });
  // What they would have done: the side runs for an item that it fails for.
  const auto wrong = [=](auto row) { return acond(extent(row, 0) > 1, [=] { return third(row); }, row); };
  fails<RunError>(consume(elements(map_seq(wrong, stream_in(items)))), {"index 2 out of range"});
}

TEST_CASE("scans of irregular rank 2 are right") {
  const auto items = matrices();
  for (const int axis : {0, 1}) {
    const auto before = everywhere([=](auto a) { return scanl(plus, 5, a, axis); }, items);
    const auto after = everywhere([=](auto a) { return scanr1(plus, a, axis); }, items);
    for (std::size_t k = 0; k < items.size(); ++k) {
      Index<2> longer = items[k].shape();
      ++longer[axis];
      REQUIRE(before[k].shape() == longer);
      each_position(longer, [&](const Index<2>& ix) {
        std::int64_t expected = 5;
        for (Index<2> at =
                 [&] {
                   Index<2> from = ix;
                   from[axis] = 0;
                   return from;
                 }();
             at[axis] < ix[axis]; ++at[axis])
          expected += items[k][at];
        REQUIRE(before[k][ix] == expected);
      });
      REQUIRE(after[k].shape() == items[k].shape());
      each_position(items[k].shape(), [&](const Index<2>& ix) {
        std::int64_t expected = 0;
        for (Index<2> at = ix; at[axis] < items[k].extent(axis); ++at[axis]) expected += items[k][at];
        REQUIRE(after[k][ix] == expected);
      });
    }
  }
}

TEST_CASE("permute to rank 2 is right") {
  // From vectors, to as many rows as the item tells, where several meet; and from matrices, some dropped.
  const auto rows = rows_of({0, 1, 5, 64, 130});
  const auto spread = everywhere(
      [](auto row) {
        const auto to = [=](auto ix) { return index_of(ix[0] / 3, (row[ix] % 4 + 4) % 4); };
        return permute(plus, fill(index_of(extent(row, 0) / 3 + 1, 4), std::int64_t{1000}), to, row);
      },
      rows);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    auto expected =
        array_of(Index{rows[k].size() / 3 + 1, 4}, [](std::int64_t) { return std::int64_t{1000}; });
    for (std::int64_t i = 0; i < rows[k].size(); ++i) {
      const Index<2> to{i / 3, (rows[k][i] % 4 + 4) % 4};
      expected.set(to, expected[to] + rows[k][i]);
    }
    require_same(spread[k], expected);
  }
  const auto items = matrices();
  const auto turned = everywhere(
      [](auto a) {
        const auto to = [=](auto ix) { return optional_if(a[ix] % 3 != 0, index_of(ix[1], ix[0] / 2)); };
        return permute(plus, fill(index_of(extent(a, 1), extent(a, 0)), std::int64_t{-1}), to, a);
      },
      items);
  for (std::size_t k = 0; k < items.size(); ++k) {
    auto expected = array_of(Index{items[k].extent(1), items[k].extent(0)},
                             [](std::int64_t) { return std::int64_t{-1}; });
    each_position(items[k].shape(), [&](const Index<2>& ix) {
      const Index<2> to{ix[1], ix[0] / 2};
      if (items[k][ix] % 3 != 0) expected.set(to, expected[to] + items[k][ix]);
    });
    require_same(turned[k], expected);
  }
}

TEST_CASE("a tile that does not divide the array is right") {
  const auto items = matrices();
  const auto got = everywhere(
      [](auto a) {
        return tile(a, index_of(cond(size(a) > 0, extent(a, 0) * 2 + 1, 0), extent(a, 1) + extent(a, 1) / 2));
      },
      items);
  // Every third column, as many as there are.
  const auto cut = everywhere(
      [](auto a) {
        return section(a, Index{0, 0}, Index{1, 3}, index_of(extent(a, 0), (extent(a, 1) + 2) / 3));
      },
      items);
  for (std::size_t k = 0; k < items.size(); ++k) {
    const std::int64_t m = items[k].extent(0), n = items[k].extent(1);
    REQUIRE(got[k].shape() == Index{m * n > 0 ? 2 * m + 1 : 0, n + n / 2});
    each_position(got[k].shape(),
                  [&](const Index<2>& ix) { REQUIRE(got[k][ix] == items[k][Index{ix[0] % m, ix[1] % n}]); });
    REQUIRE(cut[k].shape() == Index{m, (n + 2) / 3});
    each_position(cut[k].shape(),
                  [&](const Index<2>& ix) { REQUIRE(cut[k][ix] == items[k][Index{ix[0], 3 * ix[1]}]); });
  }
  fails<RunError>(section(use(Ints{1, 2, 3, 4}), 0, 3, 3), {"section", "out of range"});
}

}  // namespace
}  // namespace anabranch::testing
