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

}  // namespace
}  // namespace anabranch::testing
