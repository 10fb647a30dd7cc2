#include "apps/smvm/program.h"

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include <anabranch/io.h>

#include "public/agree.h"

// The program of `anabranch smvm` beside plain loops.
namespace anabranch::testing {
namespace {

constexpr std::int64_t cols = 97;

/// Rows of a sparse matrix; some entries of a row may be of one column.
template <class I, class T>
struct Rows {
  std::vector<std::int64_t> ends{0};
  std::vector<I> columns;
  std::vector<T> values;

  explicit Rows(const std::vector<std::int64_t>& lengths) {
    for (const std::int64_t length : lengths) {
      for (std::int64_t k = 0; k < length; ++k) {
        const std::size_t at = values.size();
        columns.push_back(static_cast<I>(mixed(at) % cols));
        values.push_back(number<T>(at + 1'000'000));
      }
      ends.push_back(std::ssize(values));
    }
  }
  std::int64_t count() const { return std::ssize(ends) - 1; }
  auto stream() const { return stream_in(io::csr_view(count(), cols, ends, columns, values)); }

  /// The products of row r, each rounded.
  std::vector<T> products(std::int64_t r, const Vector<T>& x) const {
    std::vector<T> out;
    for (auto k = static_cast<std::size_t>(ends[static_cast<std::size_t>(r)]);
         k < static_cast<std::size_t>(ends[static_cast<std::size_t>(r) + 1]); ++k)
      out.push_back(values[k] * x[columns[k]]);
    return out;
  }
};

/// The sum of at most sixteen numbers, in the order of docs/language.md: each is a lane of its own, and lanes are halved.
template <class T>
T sum_by_hand(std::vector<T> lanes) {
  for (std::size_t half = 8; half >= 1; half /= 2) {
    for (std::size_t j = 0; j < half && j + half < lanes.size(); ++j) lanes[j] = lanes[j] + lanes[j + half];
    if (lanes.size() > half) lanes.resize(half);
  }
  return lanes.empty() ? T(0) : T(0) + lanes[0];
}

/// Whether it is the sum of these numbers, each of which has been rounded, in any order.
template <class T>
bool is_sum(T got, const std::vector<T>& numbers) {
  long double sum = 0, size = 0;
  for (const T x : numbers) {
    sum += x;
    size += std::abs(x);
  }
  const auto bound = static_cast<long double>(numbers.size()) * std::numeric_limits<T>::epsilon() * size;
  return std::abs(static_cast<long double>(got) - sum) <= bound;
}

const std::vector<std::int64_t> lengths{3, 0, 1, 2, 4, 5, 300, 7, 8, 9, 0, 13, 15, 16, 17, 0, 5000, 11, 6, 0};

template <class T>
void check_sum(T got, const std::vector<T>& numbers) {
  INFO(numbers.size() << " numbers");
  if (numbers.size() <= 16)
    CHECK(got == sum_by_hand(numbers));
  else
    CHECK(is_sum(got, numbers));
}

template <class I, class T>
void check_products() {
  const Rows<I, T> rows(lengths);
  const auto x = numbers<T>(cols, 5);
  const Vector<T> y = agree(apps::smvm<I, T>(rows.stream(), use(x)));
  REQUIRE(y.size() == rows.count());
  for (std::int64_t r = 0; r < y.size(); ++r) check_sum(y[r], rows.products(r, x));
}

/// With so many vectors a column of the result has the bits that its vector alone gives.
template <class I, class T>
void check_vectors(std::int64_t count) {
  const Rows<I, T> rows(lengths);
  Matrix<T> xs(Index{cols, count});
  for (std::int64_t i = 0; i < xs.size(); ++i) xs.set(i, number<T>(static_cast<std::uint64_t>(i)));
  const Matrix<T> ys = agree(apps::smvm<I, T>(rows.stream(), use(xs)));
  REQUIRE(ys.shape() == Index{rows.count(), count});
  for (std::int64_t v = 0; v < count; ++v) {
    INFO("vector " << v << " of " << count);
    const auto x = vector_of(cols, [&](std::int64_t i) { return xs[Index{i, v}]; });
    const Vector<T> y = reference(apps::smvm<I, T>(rows.stream(), use(x)));
    require_same(vector_of(rows.count(), [&](std::int64_t r) { return ys[Index{r, v}]; }), y);
    for (std::int64_t r = 0; r < rows.count(); ++r) check_sum(ys[Index{r, v}], rows.products(r, x));
  }
}

}  // namespace

TEST_CASE("smvm: rows of no, few and many entries") {
  check_products<std::int32_t, double>();
  check_products<std::int64_t, float>();
}

TEST_CASE("smvm: the other types", "[once]") {
  check_products<std::int32_t, float>();
  check_products<std::int64_t, double>();
}

TEST_CASE("smvm: several vectors at once") { check_vectors<std::int32_t, double>(3); }

TEST_CASE("smvm: one vector as a matrix, many, and the other types", "[once]") {
  check_vectors<std::int64_t, float>(1);
  check_vectors<std::int32_t, float>(20);
  check_vectors<std::int64_t, double>(2);
}

TEST_CASE("smvm: no rows, and rows without any entries") {
  const auto x = use(numbers<double>(cols, 5));
  CHECK(agree(apps::smvm<std::int32_t, double>(Rows<std::int32_t, double>({}).stream(), x)).size() == 0);
  CHECK(agree(apps::smvm<std::int32_t, double>(Rows<std::int32_t, double>({0, 0, 0}).stream(), x)) ==
        Vector<double>{0.0, 0.0, 0.0});
}

TEST_CASE("smvm: a column that x does not have") {
  using Row = Vector<std::tuple<std::int32_t, double>>;
  const std::vector<Row> rows{{{0, 1.0}, {4, 2.0}}, {}, {{3, 1.0}, {5, 2.0}}, {{9, 1.0}}};
  fails<RunError>(apps::smvm<std::int32_t, double>(stream_in(rows), use(numbers<double>(5))),
                  {"gather: index 5 out of range 0..4 in item 2 (program.cpp:"});
}

TEST_CASE("smvm: the dot product of two vectors") {
  for (const std::int64_t n : {0, 1, 6, 16, 1000}) {
    const auto xs = numbers<double>(n, 1), ys = numbers<double>(n, 2);
    std::vector<double> products;
    for (std::int64_t i = 0; i < n; ++i) products.push_back(xs[i] * ys[i]);
    check_sum(agree(apps::dotp<double>(use(xs), use(ys)))[0], products);
  }
  const auto some = numbers<float>(9, 3);
  check_sum(agree(apps::dotp<float>(use(some), use(some)))[0], [&] {
    std::vector<float> squares;
    for (const float x : some) squares.push_back(x * x);
    return squares;
  }());
}

}  // namespace anabranch::testing
