#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>

#include "shapes.h"

// Where elements go: sorting, choosing, sending, repeating, segments. Each alone and inside of sequences in every form;
// the values by definitions of the host's own.
namespace anabranch::testing {
namespace {

template <class T>
std::vector<Vector<T>> some_rows() {
  std::vector<Vector<T>> rows;
  for (const std::int64_t n : {0, 1, 2, 7, 65, 300})
    rows.push_back(numbers<T>(n, static_cast<std::uint64_t>(n)));
  rows.push_back(vector_of(90, [](std::int64_t i) { return number<T>(static_cast<std::uint64_t>(i % 7)); }));
  return rows;
}
std::vector<Vector<std::int32_t>> small_numbers(std::int32_t below) {
  std::vector<Vector<std::int32_t>> rows;
  for (const std::int64_t n : {0, 1, 5, 40, 200})
    rows.push_back(vector_of(n, [=](std::int64_t i) {
      return static_cast<std::int32_t>(mixed(static_cast<std::uint64_t>(i + 31 * n)) %
                                       static_cast<std::uint64_t>(below));
    }));
  return rows;
}

template <class T>
void sorted_rows() {
  const auto rows = some_rows<T>();
  const auto sorted = everywhere([](auto row) { return sort(row); }, rows);
  const auto order = everywhere([](auto row) { return argsort(row); }, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::vector<std::int64_t> expected(static_cast<std::size_t>(rows[r].size()));
    std::iota(expected.begin(), expected.end(), std::int64_t{0});
    std::stable_sort(expected.begin(), expected.end(),
                     [&](std::int64_t a, std::int64_t b) { return rows[r][a] < rows[r][b]; });
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      REQUIRE(order[r][i] == expected[static_cast<std::size_t>(i)]);
      REQUIRE(sorted[r][i] == rows[r][order[r][i]]);
    }
  }
}
TEST_CASE("sorting bool") { sorted_rows<bool>(); }
TEST_CASE("sorting int8") { sorted_rows<std::int8_t>(); }
TEST_CASE("sorting uint16") { sorted_rows<std::uint16_t>(); }
TEST_CASE("sorting int32") { sorted_rows<std::int32_t>(); }
TEST_CASE("sorting uint64") { sorted_rows<std::uint64_t>(); }
TEST_CASE("sorting half") { sorted_rows<half>(); }
TEST_CASE("sorting float") { sorted_rows<float>(); }
TEST_CASE("sorting double") { sorted_rows<double>(); }

TEST_CASE("the order of zeros, infinities and NaNs") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Vector<double>> rows{{nan, 1.0, 0.0, -nan, -0.0, inf, -inf, -0.0, 0.0, nan, -1.0}};
  const auto order = everywhere([](auto row) { return argsort(row); }, rows);
  const std::vector<std::int64_t> expected{6, 10, 4, 7, 2, 8, 1, 5, 0, 3, 9};
  for (std::size_t i = 0; i < expected.size(); ++i)
    REQUIRE(order[0][static_cast<std::int64_t>(i)] == expected[i]);
  const auto sorted = everywhere([](auto row) { return sort(row); }, rows);
  REQUIRE(sorted[0][0] == -inf);
  REQUIRE(std::signbit(sorted[0][3]));
  REQUIRE(std::isnan(sorted[0][8]));
}

TEST_CASE("sorting along any dimension") {
  const auto items = arrays<3, std::int16_t>(3);
  for (int axis = 0; axis < 3; ++axis) {
    const auto sorted = everywhere([=](auto a) { return sort(a, axis); }, items);
    const auto by = everywhere(
        [=](auto a) { return sort_by([](auto x) { return -cast<std::int32_t>(x); }, a, axis); }, items);
    for (std::size_t i = 0; i < items.size(); ++i)
      each_position(items[i].shape(), [&](Index<3> ix) {
        if (++ix[axis] == items[i].shape()[axis]) return;
        Index<3> before = ix;
        --before[axis];
        REQUIRE(sorted[i][before] <= sorted[i][ix]);
        REQUIRE(by[i][before] >= by[i][ix]);
      });
  }
}

TEST_CASE("tuples are sorted by their components, stably") {
  using Entry = std::tuple<std::int32_t, float, bool>;
  std::vector<Vector<Entry>> rows;
  for (const std::int64_t n : {0, 3, 50, 400})
    rows.push_back(vector_of(n, [](std::int64_t i) {
      const auto bits = static_cast<std::uint64_t>(i);
      return Entry{static_cast<std::int32_t>(mixed(bits) % 5) - 2, static_cast<float>(mixed(bits + 7) % 3),
                   number<bool>(bits)};
    }));
  const auto sorted = everywhere([](auto row) { return sort(row); }, rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 1; i < rows[r].size(); ++i) REQUIRE(sorted[r][i - 1] <= sorted[r][i]);
  const auto by_first =
      everywhere([](auto row) { return sort_by([](auto e) { return get<0>(e); }, row); }, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::vector<Entry> expected;
    for (std::int64_t i = 0; i < rows[r].size(); ++i) expected.push_back(rows[r][i]);
    std::stable_sort(expected.begin(), expected.end(),
                     [](const Entry& a, const Entry& b) { return std::get<0>(a) < std::get<0>(b); });
    for (std::int64_t i = 0; i < rows[r].size(); ++i)
      REQUIRE(by_first[r][i] == expected[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("sorting by a comparison") {
  const auto rows = small_numbers(50);
  const auto got = everywhere(
      [](auto row) { return sort_with([](auto x, auto y) { return x % 10 > y % 10; }, row); }, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::vector<std::int32_t> expected;
    for (std::int64_t i = 0; i < rows[r].size(); ++i) expected.push_back(rows[r][i]);
    std::stable_sort(expected.begin(), expected.end(),
                     [](std::int32_t x, std::int32_t y) { return x % 10 > y % 10; });
    for (std::int64_t i = 0; i < rows[r].size(); ++i)
      REQUIRE(got[r][i] == expected[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("rows of matrices are sorted by a comparison, along each axis") {
  std::vector<Matrix<std::int32_t>> matrices;
  for (const auto& [height, width] : {std::pair{3, 5}, {0, 4}, {4, 0}, {1, 1}, {7, 2}, {2, 9}}) {
    const std::int64_t size = std::int64_t{height} * width;
    std::vector<std::int32_t> elements;
    for (std::int64_t i = 0; i < size; ++i) elements.push_back(static_cast<std::int32_t>(i * 37 % 23));
    matrices.emplace_back(Index{height, width}, elements);
  }
  const auto last_digit = [](auto x, auto y) { return x % 10 > y % 10; };
  const auto by_row = everywhere([&](auto m) { return sort_with(last_digit, m); }, matrices);
  const auto by_column = everywhere([&](auto m) { return sort_with(last_digit, m, 0); }, matrices);
  const auto sorted = [&](std::vector<std::int32_t> row) {
    std::ranges::stable_sort(row, last_digit);
    return row;
  };
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    const Matrix<std::int32_t>& m = matrices[k];
    for (std::int64_t r = 0; r < m.extent(0); ++r) {
      std::vector<std::int32_t> row, got;
      for (std::int64_t c = 0; c < m.extent(1); ++c)
        row.push_back(m[{r, c}]), got.push_back(by_row[k][{r, c}]);
      REQUIRE(got == sorted(row));
    }
    for (std::int64_t c = 0; c < m.extent(1); ++c) {
      std::vector<std::int32_t> column, got;
      for (std::int64_t r = 0; r < m.extent(0); ++r)
        column.push_back(m[{r, c}]), got.push_back(by_column[k][{r, c}]);
      REQUIRE(got == sorted(column));
    }
  }
}

TEST_CASE("long vectors are sorted by all threads") {
  const auto keys = numbers<std::int32_t>(300000, 5);
  const auto sorted = agree(sort(use(keys)));
  const auto order = agree(argsort(use(keys)));
  for (std::int64_t i = 1; i < keys.size(); ++i) REQUIRE(sorted[i - 1] <= sorted[i]);
  for (std::int64_t i = 0; i < keys.size(); ++i) REQUIRE(sorted[i] == keys[order[i]]);
}

TEST_CASE("runs of equal elements") {
  const auto rows = small_numbers(3);
  const auto distinct = everywhere([](auto row) { return unique(row); }, rows);
  const auto lengths = everywhere([](auto row) { return std::get<1>(run_length_encode(row)); }, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::int64_t at = 0;
    REQUIRE(distinct[r].size() == lengths[r].size());
    for (std::int64_t run = 0; run < distinct[r].size(); ++run) {
      REQUIRE((run == 0 || distinct[r][run] != distinct[r][run - 1]));
      for (std::int64_t i = 0; i < lengths[r][run]; ++i) REQUIRE(rows[r][at++] == distinct[r][run]);
    }
    REQUIRE(at == rows[r].size());
  }
}

TEST_CASE("folding by key") {
  const auto rows = small_numbers(11);
  const auto totals = everywhere(
      [](auto row) { return std::get<1>(fold_by_key(plus, std::int64_t{100}, row, iota(size(row)))); }, rows);
  const auto keys = everywhere(
      [](auto row) { return std::get<0>(fold_by_key(plus, std::int64_t{100}, row, iota(size(row)))); }, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::map<std::int32_t, std::int64_t> expected;
    for (std::int64_t i = 0; i < rows[r].size(); ++i)
      expected.try_emplace(rows[r][i], 100).first->second += i;
    REQUIRE(keys[r].size() == std::ssize(expected));
    std::int64_t k = 0;
    for (const auto& [key, total] : expected) {
      REQUIRE(keys[r][k] == key);
      REQUIRE(totals[r][k++] == total);
    }
  }
}

TEST_CASE("kept elements and how many") {
  const auto rows = some_rows<double>();
  const auto kept =
      everywhere([](auto row) { return std::get<0>(filter([](auto x) { return x > 0; }, row)); }, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::int64_t k = 0;
    for (std::int64_t i = 0; i < rows[r].size(); ++i)
      if (rows[r][i] > 0) REQUIRE(kept[r][k++] == rows[r][i]);
    REQUIRE(k == kept[r].size());
  }
  const auto items = arrays<3, std::int32_t>(9);
  const auto counts =
      everywhere([](auto a) { return std::get<1>(filter([](auto x) { return x % 3 == 0; }, a)); }, items);
  const auto flat =
      everywhere([](auto a) { return std::get<0>(filter([](auto x) { return x % 3 == 0; }, a)); }, items);
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::int64_t k = 0, in_rows = 0;
    each_position(items[i].shape(), [&](const Index<3>& ix) {
      if (items[i][ix] % 3 == 0) REQUIRE(flat[i][k++] == items[i][ix]);
    });
    for (std::int64_t row = 0; row < counts[i].size(); ++row) in_rows += counts[i].data()[row];
    REQUIRE(in_rows == k);
  }
  fails<RunError>(std::get<0>(compact(use(Vector<bool>{true, false}), use(Vector<float>{1, 2, 3}))),
                  {"compact", "fewer"});
}

TEST_CASE("elements that become several") {
  const auto rows = small_numbers(4);
  const auto got = everywhere(
      [](auto row) {
        return expand([](auto x) { return cast<std::int64_t>(x); },
                      [](auto x, auto i) { return cast<std::int64_t>(x) * 10 + i; }, row);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::int64_t k = 0;
    for (std::int64_t i = 0; i < rows[r].size(); ++i)
      for (std::int64_t j = 0; j < rows[r][i]; ++j) REQUIRE(got[r][k++] == rows[r][i] * 10 + j);
    REQUIRE(k == got[r].size());
  }
  fails<RunError>(
      expand([](auto x) { return x; }, [](auto x, auto) { return x; }, use(Vector<std::int64_t>{1, -2})),
      {"expand", "negative count -2"});
  const std::int64_t large = std::int64_t{1} << 62;
  fails<RunError>(expand([](auto x) { return x; }, [](auto x, auto) { return x; },
                         use(Vector<std::int64_t>{large, large, large, large, 3})),
                  {"expand", "too many elements"});
}

TEST_CASE("histograms") {
  const auto rows = small_numbers(13);
  const auto counts = everywhere([](auto row) { return histogram(13, row); }, rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int32_t b = 0; b < 13; ++b) {
      std::int64_t expected = 0;
      for (std::int64_t i = 0; i < rows[r].size(); ++i) expected += rows[r][i] == b;
      REQUIRE(counts[r][b] == expected);
    }
  fails<RunError>(scatter(use(Vector<int>{0, 2, 0, 1}), use(Vector<int>{1, 2, 3}), use(Vector<int>{1, 2, 3})),
                  {"scatter: index 3 out of range 0..2 (rearrange_test.cpp"});
  fails<RunError>(histogram(3, use(Vector<std::uint8_t>{0, 2, 3})),
                  {"histogram", "index 3 out of range 0..2"});
  fails<RunError>(histogram(3, use(Vector<std::int8_t>{0, -1})), {"histogram", "index -1"});
  const auto many = vector_of(200000, [](std::int64_t i) {
    return static_cast<std::int32_t>(mixed(static_cast<std::uint64_t>(i)) % 1000);
  });
  agree(histogram(1000, use(many)));
  agree(histogram(300000, use(many)));
}

TEST_CASE("scattered elements: the last one stays") {
  const auto rows = small_numbers(20);
  const auto got =
      everywhere([](auto row) { return scatter(row, fill(20, std::int64_t{-5}), iota(size(row))); }, rows);
  const auto some = everywhere(
      [](auto row) {
        return scatter_if(map([](auto x) { return x - 10; }, row), map([](auto x) { return x >= 10; }, row),
                          fill(10, std::int64_t{-5}), iota(size(row)));
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::vector<std::int64_t> expected(20, -5);
    for (std::int64_t i = 0; i < rows[r].size(); ++i) expected[static_cast<std::size_t>(rows[r][i])] = i;
    for (std::int64_t b = 0; b < 20; ++b) REQUIRE(got[r][b] == expected[static_cast<std::size_t>(b)]);
    for (std::int64_t b = 0; b < 10; ++b) REQUIRE(some[r][b] == expected[static_cast<std::size_t>(b + 10)]);
  }
  fails<RunError>(
      scatter(use(Vector<std::int32_t>{0, 9}), use(Vector<float>{1, 2}), use(Vector<float>{3, 4})),
      {"scatter", "index 9"});
}

TEST_CASE("permute joins in the order of the source, the default last") {
  const auto rows = small_numbers(12);
  const auto got = everywhere(
      [](auto row) {
        return permute([](auto x, auto y) { return x + y; }, fill(10, 0.1),
                       [&](auto ix) {
                         const auto place = cast<std::int64_t>(row[ix]);
                         return optional_if(place < 10, index_of(place));
                       },
                       map([](auto x) { return 1.0 / (3.0 + cast<double>(x)); }, row));
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t b = 0; b < 10; ++b) {
      std::vector<double> meet;
      for (std::int64_t i = 0; i < rows[r].size(); ++i)
        if (rows[r][i] == b) meet.push_back(1.0 / (3.0 + rows[r][i]));
      const double joined = meet.empty() ? 0.1 : agree(fold1(plus, use(meet)))[Index{}] + 0.1;
      REQUIRE(got[r][b] == joined);
    }
}

/// What a program without arguments gives, by any number of threads.
template <class P, class T>
void check_by_threads(const P& program, const std::vector<T>& expected) {
  const std::int64_t n = std::ssize(expected);
  for (const int threads : {1, 2, 3, 9}) {
    INFO(threads);
    const auto result = program.run({.threads = threads});
    REQUIRE(result.size() == n);
    std::int64_t right = 0;
    while (right < n && result[right] == expected[static_cast<std::size_t>(right)]) ++right;
    REQUIRE(right == n);
  }
}

/// permute by `f` of numbers that values and positions tell, some of which go nowhere, and what a loop by `join` makes of
/// each row. It is one pass.
template <class T, class F, class Join>
void check_permute(const std::vector<Vector<std::int32_t>>& rows, F f, T old, Join join) {
  const auto number = [](auto x, auto i) {
    if constexpr (std::same_as<T, bool>)
      return (x + i) % 3 == 0;
    else
      return x * 37 + i * 5 - 90;
  };
  const auto program = [&](auto row) {
    return permute(
        f, fill(7, old),
        [&](auto ix) {
          const auto place = cast<std::int64_t>(row[ix]);
          return optional_if(place < 7, index_of(place));
        },
        imap([&](auto ix, auto x) { return cast<T>(number(x, cast<std::int32_t>(ix[0]))); }, row));
  };
  CHECK_THAT(compile(program(use(rows.back()))).explain(), Catch::Contains("accumulate"));
  const auto got = everywhere(program, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::array<T, 7> expected;
    expected.fill(old);
    for (std::int64_t i = 0; i < rows[r].size(); ++i)
      if (const std::int32_t x = rows[r][i]; x < 7) {
        T& at = expected[static_cast<std::size_t>(x)];
        at = static_cast<T>(join(at, static_cast<T>(number(x, static_cast<std::int32_t>(i)))));
      }
    for (std::int64_t b = 0; b < 7; ++b) REQUIRE(got[r][b] == expected[static_cast<std::size_t>(b)]);
  }
}

TEST_CASE("permute joins integers and truth values by any operator that commutes, of any width") {
  const auto rows = small_numbers(12);
  const auto both = [](auto a, auto b) { return a & b; };
  const auto either = [](auto a, auto b) { return a | b; };
  const auto one = [](auto a, auto b) { return a ^ b; };
  const auto least = [](auto a, auto b) { return std::min(a, b); };
  const auto largest = [](auto a, auto b) { return std::max(a, b); };
  check_permute<std::int64_t>(rows, plus, 100, std::plus<>{});
  check_permute<std::int8_t>(rows, plus, 100, std::plus<>{});
  check_permute<std::uint16_t>(rows, times, 3, std::multiplies<std::uint32_t>{});
  check_permute<std::int64_t>(rows, times, 3, std::multiplies<std::uint64_t>{});
  check_permute<std::int16_t>(rows, minimum_of, 2, least);
  check_permute<std::uint64_t>(rows, minimum_of, 70, least);
  check_permute<std::uint8_t>(rows, maximum_of, 5, largest);
  check_permute<std::int32_t>(rows, maximum_of, -5, largest);
  check_permute<std::int32_t>(rows, both, 0x7ff2, both);
  check_permute<std::uint64_t>(rows, either, 8, either);
  check_permute<std::uint8_t>(rows, one, 8, one);
  check_permute<std::int64_t>(rows, [](auto a, auto b) { return b + a; }, -1, std::plus<>{});
  check_permute<bool>(rows, [](auto a, auto b) { return a || b; }, false, std::logical_or<>{});
  check_permute<bool>(rows, [](auto a, auto b) { return b && a; }, true, std::logical_and<>{});
}

TEST_CASE("what meets at a place is accumulated where the order makes no difference, else sorted") {
  const auto plan_of = [](auto zero) {
    const auto to = [](auto ix) { return index_of(ix[0] % 3); };
    return compile(permute(plus, fill(3, zero), to, use(Vector<decltype(zero)>{1, 2, 3, 4}))).explain();
  };
  CHECK_THAT(plan_of(0), Catch::Contains("accumulate by add"));
  CHECK_THAT(plan_of(0.0), !Catch::Contains("accumulate"));
}

TEST_CASE("of many elements each place has what goes there, by any number of threads") {
  constexpr std::int64_t n = 300'000;
  // Each thread for itself, all in one place, and more places than elements.
  const std::int64_t places = GENERATE(1'000, 200'000, 700'000);
  // One in a hundred goes nowhere.
  const auto to = vector_of(
      n, [=](std::int64_t i) { return i % 100 == 7 ? std::int64_t{-1} : (i * 7919 + i * i % 31) % places; });
  const auto check = [&](auto f, auto join, auto old) {
    using T = decltype(old);
    const auto values = vector_of(n, [](std::int64_t i) { return static_cast<T>(i * 2 + 1); });
    std::vector<T> expected(static_cast<std::size_t>(places), old);
    for (std::int64_t i = 0; i < n; ++i) {
      if (to[i] < 0) continue;
      T& at = expected[static_cast<std::size_t>(to[i])];
      at = static_cast<T>(join(at, values[i]));
    }
    const auto numbers = use(to);
    const auto program = compile(permute(
        f, fill(places, old), [=](auto ix) { return optional_if(numbers[ix] >= 0, index_of(numbers[ix])); },
        use(values)));
    check_by_threads(program, expected);
  };
  check(plus, std::plus<>{}, std::int64_t{5});
  check(plus, std::plus<>{}, std::uint8_t{5});
  check(times, std::multiplies<>{}, std::uint32_t{3});
  check(maximum_of, [](auto a, auto b) { return std::max(a, b); }, std::int16_t{-300});
  check([](auto a, auto b) { return a ^ b; }, std::bit_xor<>{}, std::uint16_t{1});
}

TEST_CASE("of many places that are out of range the first element's is named, by any number of threads") {
  constexpr std::int64_t n = 300'000;
  const std::int64_t places = GENERATE(1'000, 200'000);
  auto to = vector_of(n, [=](std::int64_t i) { return i % places; });
  for (std::int64_t i = 77'777; i < n; i += 1'111) to.set(i, places + i);
  const auto numbers = use(to);
  const auto program =
      compile(permute(plus, fill(places, 0), [=](auto ix) { return index_of(numbers[ix]); }, fill(n, 1)));
  for (const int threads : {1, 2, 9}) {
    std::string message;
    try {
      program.run({.threads = threads});
    } catch (const RunError& e) {
      message = e.what();
    }
    CHECK_THAT(message, Catch::Contains("permute") && Catch::Contains(std::to_string(places + 77'777)));
  }
}

TEST_CASE("sort_with says that what it is given orders nothing") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  fails<RunError>(sort_with([](auto x, auto y) { return x < y; },
                            use(Vector<double>{3, nan, 1, nan, 2, 0, nan, -1, 5, 4})),
                  {"sort_with by what is no strict weak order"});
}

TEST_CASE("of many elements the last one to each place stays, by any number of threads") {
  constexpr std::int64_t n = 300'000;
  const std::int64_t places = GENERATE(1'000, 200'000);
  const auto to = vector_of(n, [=](std::int64_t i) { return (i * 7919 + i * i % 31) % places; });
  std::vector<std::int64_t> expected(static_cast<std::size_t>(places), -5);
  for (std::int64_t i = 0; i < n; ++i) expected[static_cast<std::size_t>(to[i])] = i;
  const auto program = compile(scatter(use(to), fill(places, std::int64_t{-5}), iota(n)));
  check_by_threads(program, expected);
}

TEST_CASE("permute between ranks") {
  const auto items = arrays<2, std::int32_t>(4);
  const auto turned = everywhere(
      [](auto a) {
        return permute(
            plus, fill(index_of(extent(a, 1), extent(a, 0), 1), 7),
            [](auto ix) { return index_of(ix[1], ix[0], 0); }, a);
      },
      items);
  for (std::size_t i = 0; i < items.size(); ++i)
    each_position(items[i].shape(), [&](const Index<2>& ix) {
      REQUIRE(turned[i][Index{ix[1], ix[0], std::int64_t{0}}] ==
              static_cast<std::int32_t>(static_cast<std::uint32_t>(items[i][ix]) + 7U));
    });
  fails<RunError>(permute(
                      plus, fill(Index{2, 2}, 0), [](auto ix) { return index_of(ix[0], ix[0]); },
                      use(Vector<std::int32_t>{1, 2, 3})),
                  {"permute", "out of range"});
  fails<RunError>(permute(
                      plus, fill(Index{4}, 0), [](auto ix) { return index_of(ix[0] - 1); },
                      use(Vector<std::int32_t>{1, 2, 3})),
                  {"permute: index -1 out of range 0..3"});
}

TEST_CASE("segments are rows of their own") {
  // Lengths are the elements; values follow from how many there are.
  const auto rows = small_numbers(6);
  const auto values = [](auto lengths) {
    return map([](auto i) { return 1.0f / (1.0f + cast<float>(i)); }, iota(the(sum(lengths))));
  };
  const auto sums = everywhere([&](auto n) { return fold_seg(plus, 0.5f, values(n), Segments(n)); }, rows);
  const auto scans = everywhere([&](auto n) { return scanl1_seg(plus, values(n), Segments(n)); }, rows);
  const auto longer =
      everywhere([&](auto n) { return scanl_seg(plus, 0.25f, values(n), Segments(n)); }, rows);
  const auto sorted = everywhere([&](auto n) { return sort_seg(values(n), Segments(n)); }, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::int64_t begin = 0;
    for (std::int64_t s = 0; s < rows[r].size(); ++s) {
      std::vector<float> row;
      for (std::int64_t i = 0; i < rows[r][s]; ++i)
        row.push_back(1.0f / (1.0f + static_cast<float>(begin + i)));
      REQUIRE(sums[r][s] == agree(fold(plus, 0.5f, use(row)))[Index{}]);
      const auto scan = agree(scanl1(plus, use(row)));
      for (std::int64_t i = 0; i < rows[r][s]; ++i) {
        REQUIRE(scans[r][begin + i] == scan[i]);
        REQUIRE(sorted[r][begin + i] == row[static_cast<std::size_t>(rows[r][s] - 1 - i)]);
      }
      REQUIRE(longer[r][begin + s] == 0.25f);
      begin += rows[r][s];
    }
  }
  const auto by_offsets = agree(fold_seg(plus, 0, use(Vector<std::int32_t>{1, 2, 3}),
                                         segments_of_offsets(use(Vector<std::int32_t>{0, 2, 2, 3}))));
  REQUIRE(by_offsets[0] == 3);
  REQUIRE(by_offsets[1] == 0);
  fails<RunError>(
      fold_seg(plus, 0, use(Vector<std::int32_t>{1, 2, 3}), Segments(use(Vector<std::int32_t>{2, 2}))),
      {"fold_seg", "1 more element"});
}

}  // namespace
}  // namespace anabranch::testing
