#include "shapes.h"

// Several reductions of the same rows, which are one kernel: the same bits as
// each by itself, everywhere.
namespace anabranch::testing {
namespace {

const auto positive = [](auto x) { return x > 0.0; };
const auto anything = [](auto) { return Exp<bool>(true); };
const auto divided = [](auto x, auto n) { return x / cast<double>(n); };

template <class A>
auto mean(A a) {
  return zip_with(divided, sum(a), count(anything, a));
}
/// Everything about a row, and what is made of it.
template <class A>
auto statistics(A a) {
  const auto numbers = zip_with([](auto n, auto all) { return n * Exp<std::int64_t>(1000) + all; },
                                count(positive, a), count(anything, a));
  return zip(zip_with(plus, sum(a), mean(a)), numbers, zip_with(minus, maximum(a), minimum(a)));
}

/// Rows around all the borders of the canonical order.
std::vector<Vector<double>> rows(bool with_empty) {
  std::vector<Vector<double>> all;
  for (const std::int64_t n : {0, 1, 2, 15, 16, 17, 40, 255, 256, 257, 300, 4096, 4097, 9000})
    if (n > 0 || with_empty)
      all.push_back(vector_of(
          n, [&](std::int64_t i) { return number<double>(static_cast<std::uint64_t>(n * 10'000 + i)); }));
  return all;
}

TEST_CASE("sum, counts, minimum, maximum and mean of rows") {
  everywhere([](auto a) { return statistics(a); }, rows(false));
  // Each by itself is another kernel.
  const auto values = everywhere([](auto a) { return zip(sum(a), minimum(a), maximum(a)); }, rows(false));
  const auto sums = everywhere([](auto a) { return sum(a); }, rows(false));
  const auto least = everywhere([](auto a) { return minimum(a); }, rows(false));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [total, smallest, largest] = values[i][Index<0>{}];
    CHECK(total == sums[i][Index<0>{}]);
    CHECK(smallest == least[i][Index<0>{}]);
    CHECK(largest >= smallest);
  }
}

TEST_CASE("reductions of rows that may be empty, with seeds of their own") {
  everywhere(
      [](auto a) {
        return zip(fold(plus, 0.5, a), fold(times, 1.5, map([](auto x) { return x / 1e6; }, a)),
                   fold(maximum_of, -1e9, a));
      },
      rows(true));
  const auto third = [](auto x, auto y) { return x / 3.0 + y; };
  const auto half = [](auto x, auto y) { return x * 0.5 - y; };
  everywhere([=](auto a) { return zip(fold(third, 0.5, a), fold(half, -2.0, a)); }, rows(true));
  everywhere([=](auto a) { return zip(fold(third, 0.5, a), fold1(half, a)); }, rows(false));
}

TEST_CASE(
    "an empty row is the error of a reduction that has no seed, whatever "
    "shares its kernel") {
  const auto f = [](auto a) { return zip(sum(a), minimum(a)); };
  fails<RunError>(consume(elements(map_seq(f, stream_in(rows(true))))), {"minimum", "item 0"});
  fails<RunError>(std::tuple(sum(use(Vector<double>{Index{0}})), maximum(use(Vector<double>{Index{0}}))),
                  {"maximum"});
}

TEST_CASE("rows of matrices, and folds of folds") {
  const auto items = arrays<2, double>(8);
  std::vector<Array<2, double>> filled;
  for (const auto& item : items)
    if (item.extent(1) > 0) filled.push_back(item);
  everywhere([](auto a) { return zip(sum(a), minimum(a), maximum(a)); }, filled);
  everywhere([](auto a) { return zip(sum(a), count(positive, a)); }, items);
  everywhere(
      [](auto a) {
        const auto whole = fold_all(plus, 0.0, a);
        return zip(whole, zip(sum(sum(a)), count(positive, sum(a))));
      },
      items);
}

}  // namespace
}  // namespace anabranch::testing
