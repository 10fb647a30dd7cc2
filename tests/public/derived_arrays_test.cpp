#include "shapes.h"

// What the library derives from maps, folds and scans: with the index, of many arrays, means, positions of
// extremes, products of vectors and matrices.
namespace anabranch::testing {
namespace {

template <int N>
void with_indices() {
  const auto items = arrays<N, std::int32_t>(N);
  const auto values = everywhere(
      [](auto a) {
        return imap(
            [&](auto ix, auto x) {
              auto total = cast<std::int64_t>(x);
              for (int d = 0; d < N; ++d) total = total * 3 + ix[d];
              return total;
            },
            a);
      },
      items);
  for (std::size_t i = 0; i < items.size(); ++i)
    each_position(items[i].shape(), [&](const Index<N>& ix) {
      std::int64_t total = items[i][ix];
      for (int d = 0; d < N; ++d) total = total * 3 + ix[d];
      REQUIRE(values[i][ix] == total);
    });
}
TEST_CASE("elements and indices of vectors") { with_indices<1>(); }
TEST_CASE("elements and indices of matrices") { with_indices<2>(); }
TEST_CASE("elements and indices of rank 4") { with_indices<4>(); }

TEST_CASE("up to nine arrays") {
  const auto rows = arrays<1, std::int32_t>(1);
  const auto digits = [](auto... xs) {
    Exp<std::int32_t> total(0);
    ((total = total * 2 + xs), ...);
    return total;
  };
  const auto with_all = everywhere(
      [=](auto a) {
        auto b = map([](auto x) { return x + 1; }, a);
        auto five = zip_with(digits, a, b, a, b, take(20, a));
        auto nine = zip_with(digits, a, b, a, b, five, b, a, b, a);
        auto six =
            izip_with([](auto ix, auto x, auto y) { return x - y + cast<std::int32_t>(ix[0]); }, nine, five);
        auto [p, q, r, s, t, u, v, w, x] = unzip(zip(a, b, a, b, five, nine, six, a, b));
        return zip_with(digits, p, q, r, s, t, u, v, w, x);
      },
      rows);
  REQUIRE(with_all[1].size() == 20);
  const Vector<std::int32_t> one{1}, two{2};
  require_same(agree(zip_with(digits, use(one), use(two), use(one), use(one), use(one), use(one), use(two))),
               Vector<std::int32_t>{64 + 64 + 16 + 8 + 4 + 2 + 2});
  require_same(agree(zip_with(digits, use(one), use(two), use(one), use(one), use(one), use(two))),
               Vector<std::int32_t>{32 + 32 + 8 + 4 + 2 + 2});
  require_same(
      agree(zip_with(digits, use(one), use(one), use(one), use(one), use(one), use(one), use(one), use(two))),
      Vector<std::int32_t>{254 + 2});
}

TEST_CASE("numbers") {
  require_same(agree(iota(4)), Vector<std::int64_t>{0, 1, 2, 3});
  require_same(agree(iota<float>(Index{2, 2})), Matrix<float>(Index{2, 2}, {0, 1, 2, 3}));
  require_same(agree(enum_from_step(3, 1.0, 0.5)), Vector<double>{1, 1.5, 2});
  const Vector<half> halves = agree(enum_from_step(70'000, half(1.0F), half(0x1p-14F)));
  CHECK(static_cast<float>(halves[65'536]) == 5.0F);
  CHECK(static_cast<float>(agree(enum_from_step(70'000, half(1.0F), half(0.0F)))[69'999]) == 1.0F);
  require_same(agree(enum_from_step(Index{1, 3}, std::uint8_t{250}, std::uint8_t{4})),
               Matrix<std::uint8_t>(Index{1, 3}, {250, 254, 2}));
  everywhere([](auto a) { return iota<std::int32_t>(shape(a)); }, arrays<3, bool>());
  everywhere([](auto row) { return enum_from_step(size(row), row[0], 0.25); },
             std::vector{numbers<double>(5), numbers<double>(70, 2)});
}

TEST_CASE("gather_if") {
  const Vector<double> table{10, 11, 12};
  const Vector<std::int32_t> ix{2, 99, 0, -1};
  const Vector<bool> mask{true, false, true, false};
  require_same(agree(gather_if(use(ix), use(mask), -1.0, use(table))), Vector<double>{12, -1, 10, -1});
  require_same(agree(gather_if(use(ix), use(mask), use(Vector<double>{1, 2, 3, 4}), use(table))),
               Vector<double>{12, 2, 10, 4});
  fails<RunError>(gather_if(use(ix), map([](auto b) { return !b; }, use(mask)), -1.0, use(table)),
                  {"gather_if", "99"});
}

TEST_CASE("all and any") {
  const auto rows = std::vector{Vector<bool>{true, true, true}, Vector<bool>{false, false}, Vector<bool>{},
                                vector_of(100, [](std::int64_t i) { return i != 77; }),
                                vector_of(100, [](std::int64_t i) { return i == 77; })};
  const auto every = everywhere([](auto row) { return all(row); }, rows);
  const auto some = everywhere([](auto row) { return any(row); }, rows);
  const std::vector<bool> expected_all{true, false, true, false, false},
      expected_any{true, false, false, true, true};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    REQUIRE(every[i][Index{}] == expected_all[i]);
    REQUIRE(some[i][Index{}] == expected_any[i]);
  }
  everywhere([](auto a) { return all(map([](auto x) { return x > 0; }, a), 0); }, arrays<2, std::int32_t>());
  everywhere([](auto a) { return all([](auto x) { return x > 0; }, a); }, arrays<2, std::int32_t>());
  everywhere([](auto a) { return any([](auto x) { return x > 0; }, a, 0); }, arrays<2, std::int32_t>());
  everywhere([](auto a) { return any(map([](auto x) { return x > 0; }, a), 1); }, arrays<3, std::int32_t>());
}

TEST_CASE("means") {
  REQUIRE(agree(mean(use(Vector<std::uint8_t>{255, 255, 0})))[Index{}] == 170.0);
  REQUIRE(agree(mean(use(Vector<bool>{true, false, false, false})))[Index{}] == 0.25);
  REQUIRE(agree(mean(use(Vector<half>{half(60000.0F), half(60000.0F)})))[Index{}] == half(60000.0F));
  REQUIRE(std::isnan(agree(mean(use(Vector<float>{})))[Index{}]));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  REQUIRE(agree(mean(use(Vector<std::int64_t>{most, most})))[Index{}] == 0x1p63);
  everywhere([](auto a) { return mean(a, 0); }, arrays<2, float>(3));
  everywhere([](auto a) { return mean(a); }, arrays<3, std::int16_t>(3));
}

template <class T>
void extremes() {
  std::vector<Vector<T>> rows;
  for (const std::int64_t n : {1, 2, 17, 64, 129, 300})
    rows.push_back(numbers<T>(n, static_cast<std::uint64_t>(n)));
  rows.push_back(vector_of(40, [](std::int64_t i) { return static_cast<T>(i % 5); }));
  const auto least = everywhere([](auto row) { return argmin(row); }, rows);
  const auto greatest = everywhere([](auto row) { return argmax(row); }, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto values = rows[i].values();
    REQUIRE(least[i][Index{}] == std::min_element(values.begin(), values.end()) - values.begin());
    REQUIRE(greatest[i][Index{}] == std::max_element(values.begin(), values.end()) - values.begin());
  }
}
TEST_CASE("positions of extremes, int32") { extremes<std::int32_t>(); }
TEST_CASE("positions of extremes, uint8") { extremes<std::uint8_t>(); }
TEST_CASE("positions of extremes, double") { extremes<double>(); }

TEST_CASE("positions of NaN and of equal ones; none") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  REQUIRE(agree(argmax(use(Vector<float>{1, nan, 3, nan})))[Index{}] == 1);
  REQUIRE(agree(argmin(use(Vector<float>{1, 0, nan, 3})))[Index{}] == 2);
  REQUIRE(agree(argmin(use(Vector<float>{1, 0.0F, -0.0F})))[Index{}] == 1);
  REQUIRE(agree(argmin(use(Matrix<std::int32_t>(Index{2, 2}, {3, 1, 2, 5})), 0))[0] == 1);
  fails<RunError>(argmin(use(Vector<float>{})), {"argmin", "derived_arrays_test.cpp"});
  everywhere([](auto a) { return argmax(a, 1); },
             std::vector{arrays<3, std::int32_t>(3)[0], arrays<3, std::int32_t>(4)[1]});
}

TEST_CASE("of all elements") {
  const auto items = arrays<3, std::int32_t>(2);
  everywhere([](auto a) { return fold_all(plus, 0, a); }, items);
  everywhere([](auto a) { return fold1_all(minimum_of, a); }, std::vector{items[0], items[1], items[2]});
  fails<RunError>(fold1_all(minimum_of, use(Matrix<float>(Index{0, 3}))), {"fold1"});
}

TEST_CASE("scanl gives all prefixes") {
  const auto rows = arrays<1, std::int32_t>(7);
  const auto values = everywhere([](auto row) { return scanl(plus, 100, row); }, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    REQUIRE(values[i].size() == rows[i].size() + 1);
    std::uint32_t total = 100;
    for (std::int64_t k = 0; k <= rows[i].size(); ++k) {
      REQUIRE(values[i][k] == static_cast<std::int32_t>(total));
      if (k < rows[i].size()) total += static_cast<std::uint32_t>(rows[i][k]);
    }
  }
  everywhere([](auto a) { return scanl(maximum_of, 0, a, 0); }, arrays<2, std::int32_t>(3));
  everywhere([](auto a) { return scanl(plus, 0.0, a); }, arrays<3, double>(3));
}

TEST_CASE("scans that are one longer join what there is only") {
  // Associative, and fails for an operand of 0.
  const auto product = [](auto x, auto y) { return x * y + 0 / x + 0 / y; };
  require_same(agree(scanl(product, 10, use(Vector<std::int64_t>{2, 5}))), Vector<std::int64_t>{10, 20, 100});
  require_same(agree(scanr(product, 10, use(Vector<std::int64_t>{2, 5}))), Vector<std::int64_t>{100, 50, 10});
}

TEST_CASE("scans from the right keep the order of operands") {
  // Associative, and does not commute: affine functions one after the other, modulo 2^32.
  using Affine = std::tuple<std::uint32_t, std::uint32_t>;
  const auto after = [](auto f, auto g) {
    return pack(get<0>(f) * get<0>(g), get<1>(f) * get<0>(g) + get<1>(g));
  };
  const auto on_host = [](const Affine& f, const Affine& g) {
    return Affine{std::get<0>(f) * std::get<0>(g), std::get<1>(f) * std::get<0>(g) + std::get<1>(g)};
  };
  const Affine z{3, 5};
  std::vector<Vector<Affine>> rows;
  for (const std::int64_t n : {0, 1, 2, 33, 64, 129})
    rows.push_back(vector_of(n, [&](std::int64_t i) {
      const auto seed = static_cast<std::uint64_t>(100 * n + i);
      return Affine{number<std::uint32_t>(seed), number<std::uint32_t>(seed + 7)};
    }));
  const auto one = everywhere([=](auto row) { return scanr1(after, row); }, rows);
  const auto inclusive = everywhere([=](auto row) { return postscanr(after, z, row); }, rows);
  const auto exclusive = everywhere([=](auto row) { return prescanr(after, z, row); }, rows);
  const auto longer = everywhere([=](auto row) { return scanr(after, z, row); }, rows);
  const auto totals = everywhere([=](auto row) { return std::get<1>(scanr_(after, z, row)); }, rows);
  const auto before = everywhere([=](auto row) { return std::get<0>(scanr_(after, z, row)); }, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Vector<Affine>& row = rows[r];
    const std::int64_t n = row.size();
    REQUIRE(longer[r].size() == n + 1);
    REQUIRE(longer[r][n] == z);
    Affine total = z, without_seed{};
    for (std::int64_t i = n - 1; i >= 0; --i) {
      REQUIRE(exclusive[r][i] == total);
      REQUIRE(before[r][i] == total);
      total = on_host(row[i], total);
      without_seed = i == n - 1 ? row[i] : on_host(row[i], without_seed);
      REQUIRE(inclusive[r][i] == total);
      REQUIRE(longer[r][i] == total);
      REQUIRE(one[r][i] == without_seed);
    }
    REQUIRE(totals[r][Index{}] == total);
  }
  const auto cubes = arrays<3, std::int32_t>(6);
  for (int axis = 0; axis < 3; ++axis) everywhere([=](auto a) { return scanr(plus, 1, a, axis); }, cubes);
}

TEST_CASE("products of vectors and matrices") {
  const Vector<std::int8_t> big{100, 100, -128};
  REQUIRE(agree(inner_product(use(big), use(big)))[Index{}] == 36384);
  require_same(agree(outer_product(use(Vector<float>{1, 2}), use(Vector<float>{3, 4, 5}))),
               Matrix<float>(Index{2, 3}, {3, 4, 5, 6, 8, 10}));
  require_same(agree(outer_product([](auto x, auto y) { return pack(x, y); }, use(Vector<float>{1}),
                                   use(Vector<bool>{true}))),
               Matrix<std::tuple<float, bool>>(Index{1, 1}, {{1.0F, true}}));
  const Matrix<double> a(Index{2, 3}, {1, 2, 3, 4, 5, 6}), b(Index{3, 2}, {1, 0, 0, 1, 1, 1});
  require_same(agree(matmul(use(a), use(b))), Matrix<double>(Index{2, 2}, {4, 5, 10, 11}));
  require_same(agree(matmul(use(a), use(Vector<double>{1, 1, 1}))), Vector<double>{6, 15});
  everywhere([](auto m) { return matmul(m, transpose(m)); }, arrays<2, double>(3));
  const auto wide =
      array_of(Index{33, 70}, [](std::int64_t i) { return number<float>(static_cast<std::uint64_t>(i)); });
  everywhere([](auto m) { return matmul(transpose(m), m); }, std::vector{wide, wide});
  everywhere([](auto m) { return inner_product(m, reverse(m)); }, arrays<2, std::int32_t>(3));
  everywhere([](auto v) { return outer_product(minus, v, take(3, v)); }, arrays<1, double>(3));
}

TEST_CASE("clamp between two numbers") {
  require_same(agree(map([](auto x) { return clamp(x, -1, 2.5); }, use(Vector<double>{-7, 0.5, 9}))),
               Vector<double>{-1, 0.5, 2.5});
}

}  // namespace
}  // namespace anabranch::testing
