#include "shapes.h"

// Folds of rows that are read shifted, inside of their borders and beyond: one traversal serves several shifts.
namespace anabranch::testing {
namespace {

using Number = Exp<std::int64_t>;

/// Rows around the lengths at which the order of reduction changes.
template <class T>
std::vector<Vector<T>> rows_of_many_lengths(std::int64_t longest = 300) {
  std::vector<Vector<T>> rows;
  for (const std::int64_t n : {0, 1, 2, 16, 17, 64, 255, 257, 300, 4097})
    if (n <= longest) rows.push_back(numbers<T>(n, static_cast<std::uint64_t>(n)));
  return rows;
}

/// Element `lag` is the sum of f(x[i], x[i + lag]) over the i of which both are there, from `first` on.
template <class F>
auto of_lags(int count, std::int64_t first, F f) {
  return [=](auto x) {
    const Number n = size(x);
    return sum(generate(make<Index<2>>(Number(count), n), [=](auto at) {
      const Number i = at[1], j = i + at[0] + first;
      using T = typename decltype(x[i])::value_type;
      return cond(j >= 0 && j < n, f(x[i], x[max(min(j, n - 1), Number(0))]), Exp<T>(T(0)));
    }));
  };
}
constexpr auto product_of = [](auto a, auto b) { return a * b; };

TEST_CASE("autocorrelation is that of the host") {
  const auto rows = rows_of_many_lengths<std::int64_t>(5000);
  const auto got = everywhere(of_lags(17, 0, product_of), rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t lag = 0; lag < 17; ++lag) {
      std::uint64_t expected = 0;
      for (std::int64_t i = 0; i + lag < rows[r].extent(0); ++i)
        expected += static_cast<std::uint64_t>(rows[r][i]) * static_cast<std::uint64_t>(rows[r][i + lag]);
      INFO("row " << r << ", lag " << lag);
      REQUIRE(got[r][lag] == static_cast<std::int64_t>(expected));
    }
}

TEST_CASE("shifts to both sides, of elements of all sizes", "[once]") {
  everywhere(of_lags(17, 0, product_of), rows_of_many_lengths<float>());
  everywhere(of_lags(5, -2, product_of), rows_of_many_lengths<double>());
  everywhere(of_lags(9, -4, [](auto a, auto b) { return a + b; }), rows_of_many_lengths<std::int16_t>());
  everywhere(of_lags(12, -14, [](auto a, auto b) { return max(a, b); }),
             rows_of_many_lengths<std::uint8_t>());
}

TEST_CASE("several components, an operator that keeps the order, rows of matrices") {
  auto rows = rows_of_many_lengths<float>();
  rows.erase(rows.begin());  // no row is empty
  everywhere(
      [](auto x) {
        return argmax(generate(make<Index<2>>(Number(6), size(x)),
                               [=](auto at) { return x[max(at[1] - at[0], Number(0))] * x[at[1]]; }));
      },
      rows);
  everywhere(
      [](auto x) {
        const auto last = [](auto, auto b) { return b; };
        return fold(last, -1.0F, generate(make<Index<2>>(Number(3), size(x)), [=](auto at) {
                      return x[at[1]] - x[max(at[1] - at[0], Number(0))];
                    }));
      },
      rows);
  everywhere(
      [](auto a) {
        return sum(generate(make<Index<3>>(extent(a, 0), Number(4), extent(a, 1)), [=](auto at) {
          return a[make<Index<2>>(at[0], at[2])] *
                 a[make<Index<2>>(at[0], min(at[2] + at[1], extent(a, 1) - 1))];
        }));
      },
      arrays<2, double>(7));
}

TEST_CASE("a shift beyond the row is an error with its place") {
  const auto f = [](auto x) {
    return sum(generate(make<Index<2>>(Number(3), size(x)), [=](auto at) { return x[at[1] + at[0]]; }));
  };
  const auto rows = std::vector{numbers<double>(300), numbers<double>(2)};
  fails<RunError>(consume(elements(map_seq(f, stream_in(rows)))), {"shifted_rows_test.cpp", "300"});
}

}  // namespace
}  // namespace anabranch::testing
