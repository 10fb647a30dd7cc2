#include <bit>
#include <cmath>

#include "pairs.h"

// Every arithmetic operation on floats, on all pairs of borders and on ordinary numbers.
namespace anabranch::testing {
namespace {

template <class T>
bool same_number(T a, T b) {
  return a != a ? b != b : detail::bits_of(a) == detail::bits_of(b);
}

template <class T>
void floats() {
  const auto rows = rows_of_pairs<T>([](T, T) { return true; });
  const auto body = [](auto row) {
    auto [xs, ys] = unzip(row);
    return zip_with(
        [](auto x, auto y) {
          return pack(x + y, x - y, x * y, x / y, x % y, -x, abs(x), min(x, y), max(x, y));
        },
        xs, ys);
  };
  const auto values = everywhere(body, rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const auto [x, y] = rows[r][i];
      // Those of halves are floats, and rounded once more.
      const std::array<T, 9> expected{T(x + y),
                                      T(x - y),
                                      T(x * y),
                                      T(x / y),
                                      T(std::fmod(x, y)),
                                      T(-x),
                                      T(std::fabs(x)),
                                      x < y || x != x ? x : y,
                                      x > y || x != x ? x : y};
      const auto got = std::apply([](auto... v) { return std::array<T, 9>{v...}; }, values[r][i]);
      for (std::size_t k = 0; k < got.size(); ++k)
        if (!same_number(got[k], expected[k]))
          FAIL("operation " << k << " of " << +x << " and " << +y << ": " << +got[k] << ", not "
                            << +expected[k]);
    }
  SUCCEED();
}

TEST_CASE("arithmetic on half") { floats<half>(); }
TEST_CASE("arithmetic on float") { floats<float>(); }
TEST_CASE("arithmetic on double") { floats<double>(); }

TEST_CASE("every half: functions of one, casts, and with another one") {
  const auto of = [](std::int64_t i) { return std::bit_cast<half>(static_cast<std::uint16_t>(i)); };
  const auto xs = vector_of(65536, of);
  const auto ys =
      vector_of(65536, [&](std::int64_t i) { return of(static_cast<std::int64_t>(mixed(i) >> 48)); });
  const auto zs =
      vector_of(65536, [&](std::int64_t i) { return of(static_cast<std::int64_t>(mixed(i + 7) >> 40)); });
  const auto got = agree(zip_with(
      [](auto x, auto y, auto z) {
        return pack(pack(-x, abs(x), sqrt(x), x + y, x - y, x * y, x / y, x % y, fma(x, y, z)),
                    pack(cast<float>(x), cast<double>(x)),
                    pack(cast<std::int8_t>(x), cast<std::uint16_t>(x), cast<std::int32_t>(x),
                         cast<std::uint64_t>(x), cast<bool>(x)));
      },
      use(xs), use(ys), use(zs)));
  for (std::int64_t i = 0; i < 65536; ++i) {
    const half x = xs[i], y = ys[i], z = zs[i];
    const auto [halves, floats, integers] = got[i];
    const auto same_numbers = [](auto... pairs) { return (same_number(pairs.first, pairs.second) && ...); };
    const auto [negated, magnitude, root, sum, difference, product, quotient, rest, fused] = halves;
    const double a = x, b = y;
    if (!same_numbers(std::pair(negated, half(-x)), std::pair(magnitude, half(std::fabs(a))),
                      std::pair(root, half(std::sqrt(a))), std::pair(sum, half(a + b)),
                      std::pair(difference, half(a - b)), std::pair(product, half(a * b)),
                      std::pair(quotient, half(a / b)), std::pair(rest, half(std::fmod(a, b))),
                      std::pair(fused, half(std::fma(a, b, static_cast<double>(z)))),
                      std::pair(std::get<0>(floats), static_cast<float>(x)),
                      std::pair(std::get<1>(floats), a)))
      FAIL("of " << a << " and " << b << " and " << +z);
    const auto whole = [&]<class T>(std::type_identity<T>) {
      using L = std::numeric_limits<T>;
      const double cut = std::trunc(a);
      return a != a                                 ? T(0)
             : cut <= static_cast<double>(L::min()) ? L::min()
             : cut >= static_cast<double>(L::max()) ? L::max()
                                                    : static_cast<T>(cut);
    };
    if (integers != std::tuple(whole(std::type_identity<std::int8_t>{}),
                               whole(std::type_identity<std::uint16_t>{}),
                               whole(std::type_identity<std::int32_t>{}),
                               whole(std::type_identity<std::uint64_t>{}), !(a == 0)))
      FAIL("casts of " << a);
  }
  SUCCEED();
}

TEST_CASE("a product used twice is rounded on its own") {
  // Two uses of the product: it is rounded on its own, in vector bodies and in tails alike.
  const double e = std::ldexp(1.0, -30);
  const auto xs = vector_of(67, [&](std::int64_t i) { return 1.0 + static_cast<double>(i + 1) * e; });
  everywhere(
      [](auto v) { return map([](auto x) { return pack(x * x - 1.0, fma(x, x, Exp(-1.0)), x * x); }, v); },
      std::vector{xs, Vector<double>{1.5}});
}

TEST_CASE("literals and mixed operands") {
  const Vector<float> v{1.5F, -2.0F};
  require_same(agree(map([](auto x) { return 2 * x + 1; }, use(v))), Vector<float>{4.0F, -3.0F});
  require_same(agree(map([](auto x) { return 1 - x / 4; }, use(v))), Vector<float>{0.625F, 1.5F});
  const Vector<std::uint8_t> bytes{250, 3};
  require_same(agree(map([](auto x) { return x + 10; }, use(bytes))), Vector<std::uint8_t>{4, 13});
  const double captured = 0.1;
  require_same(agree(map([=](auto x) { return x * captured; }, use(Vector<double>{3.0}))),
               Vector<double>{3.0 * 0.1});
}

// Code generators know much about |x| beside 0, and some of it was wrong (llvm/llvm-project#152824).
template <class T>
void sizes_beside_zero() {
  const T none = T(0.0F), inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const Vector<T> xs{none, T(-0.0F), T(3.0F), T(-3.0F),
                     inf,  T(-inf),  nan,     std::numeric_limits<T>::denorm_min()};
  const auto got = agree(map(
      [=](auto x) {
        const auto a = abs(x);
        const auto fallen =
            while_loop([](auto s) { return get<0>(s) < 2; },
                       [](auto s) { return pack(get<0>(s) + 1, -get<1>(s)); }, pack(Exp<std::int32_t>(0), x));
        return pack(max(a, none), max(none, a), min(a, none), min(none, a),
                    cond(is_nan(a), a, cond(a > none, a, x)), is_nan(a) || a > none, !is_nan(a) && a <= none,
                    a < none || a >= none, max(abs(get<1>(fallen)), none), max(-a, none));
      },
      use(xs)));
  for (std::int64_t i = 0; i < xs.size(); ++i) {
    const T a = T(std::fabs(xs[i])), greatest = a > none || a != a ? a : none;
    REQUIRE(same_number(std::get<0>(got[i]), greatest));
    REQUIRE(same_number(std::get<1>(got[i]), a));
    REQUIRE(same_number(std::get<4>(got[i]), a != a || a > none ? a : xs[i]));
    REQUIRE(std::get<5>(got[i]) == (a != none));
    REQUIRE(std::get<6>(got[i]) == (a == none));
    REQUIRE(std::get<7>(got[i]) == (a == a));
    REQUIRE(same_number(std::get<8>(got[i]), greatest));
  }
}
TEST_CASE("absolute values beside zero, float") { sizes_beside_zero<float>(); }
TEST_CASE("absolute values beside zero, double") { sizes_beside_zero<double>(); }
TEST_CASE("absolute values beside zero, half") { sizes_beside_zero<half>(); }

}  // namespace
}  // namespace anabranch::testing
