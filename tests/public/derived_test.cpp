#include "agree.h"

// One of each kind of function that the language derives from its primitives. The files of each have every type and
// border; this one runs on a simulated GPU, too.
namespace anabranch::testing {
namespace {

TEST_CASE("derived functions of integers") {
  const Vector<std::int32_t> xs{0, 7, -7, 12, 2'000'000'000, -2'000'000'000, 96}, ys{5, 2, 2, -8, 3, 7, 36};
  const auto got = agree(zip_with(
      [](auto x, auto y) {
        return pack(div(x, y), mod(x, y), divmod(x, y), gcd(x, y), sign(x), pow(x, 3), narrow<std::int8_t>(x),
                    set_bit(x, 31), rotl(x, y));
      },
      use(xs), use(ys)));
  REQUIRE(std::get<0>(got[2]) == -4);
  REQUIRE(std::get<3>(got[6]) == 12);
}

TEST_CASE("derived functions of floats") {
  const Vector<float> xs{0.0F,
                         -0.0F,
                         2.5F,
                         -2.5F,
                         1e20F,
                         -3e-40F,
                         std::numeric_limits<float>::infinity(),
                         std::numeric_limits<float>::quiet_NaN()};
  const auto got = agree(map(
      [](auto x) {
        return pack(is_nan(x), is_inf(x), narrow<std::int16_t>(x), bitcast<std::int32_t>(x), round(x),
                    copysign(1.0F, x), pow(x, 3));
      },
      use(xs)));
  REQUIRE(std::get<2>(got[4]) == 32767);
  REQUIRE(std::get<4>(got[2]) == 3.0F);
}

TEST_CASE("products made and compared") {
  using Entry = std::tuple<std::int32_t, double>;
  const Vector<Entry> v{{1, 0.5}, {2, 0.25}, {1, 0.25}};
  const auto got = agree(map(
      [](auto e) {
        auto [i, x] = e;
        const auto other = make<Entry>(1, 2 * x);
        return pack(e == other, e < other, e >= other, other);
      },
      use(v)));
  REQUIRE(got[2] == std::tuple(false, true, false, Entry{1, 0.5}));
}

TEST_CASE("derived functions of vectors") {
  const std::vector rows{numbers<std::int32_t>(70, 1), Vector<std::int32_t>{5}, Vector<std::int32_t>{}};
  everywhere(
      [](auto row) {
        const auto middle = pad(take(9, reverse(drop(1, row))), 2, 1, -1);
        return concat(concat(shift(row, 1, clamp), rotate(init(row), -2)),
                      concat(tail(middle), slit(1, 3, row)));
      },
      rows);
  everywhere(
      [](auto row) {
        const auto near = [](auto n) { return n(-1) - n(2) * 2; };
        return zip_with([](auto a, auto b, auto c, auto d, auto e) { return a + b * c - d * e; },
                        stencil(near, clamp, row), stencil(near, wrap, row), stencil(near, mirror, row),
                        stencil(near, constant(7), row), scanr1(maximum_of, row));
      },
      rows);
  everywhere(
      [](auto row) {
        const auto sums = zip_with(minus, scanl(plus, 1, row), scanr(plus, 2, row));
        return imap([](auto ix, auto x) { return pack(x, ix[0]); },
                    section(sums, size(sums) - 1, -1, size(sums)));
      },
      rows);
}

TEST_CASE("derived functions of matrices") {
  const auto item = [](std::int64_t rows, std::int64_t columns) {
    return array_of(Index{rows, columns},
                    [](std::int64_t i) { return number<float>(static_cast<std::uint64_t>(i)); });
  };
  const std::vector items{item(3, 5), item(1, 40), item(4, 2)};
  everywhere([](auto m) { return matmul(m, tile(transpose(m), index_of(extent(m, 1), extent(m, 0)))); },
             items);
  everywhere([](auto m) { return zip(argmin(m), argmax(m, 1), mean(m)); }, items);
  everywhere(
      [](auto m) {
        return zip(any(map([](auto x) { return x > 100; }, m), 0),
                   all(map([](auto x) { return x > -100; }, m), 0));
      },
      items);
  everywhere([](auto m) { return outer_product(drop_dim(take(1, m, 0), 0), inner_product(m, m)); }, items);
  everywhere(
      [](auto m) {
        return stencil([](auto n) { return n(0, 1) - n(1, 0); }, mirror, expand_dims(slice(m, 0, all), 1));
      },
      items);
}

}  // namespace
}  // namespace anabranch::testing
