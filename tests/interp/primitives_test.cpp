// Every primitive against a reference of its own: exhaustively on 8 bits, else random values and borders
// against wider arithmetic.

#include "interp/primitives.h"

#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "support/catch.h"

using namespace anabranch;
using interp::apply;
using interp::Bits;
using interp::from_bits;
using interp::to_bits;
using ir::Primitive;

namespace {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;
__extension__ typedef __float128 Float128;

/// As REQUIRE, but cheap enough for millions of cases.
template <class... T>
void must(bool ok, const char* what, T... operands) {
  if (ok) return;
  std::string shown;
  for (const std::string& operand : {Catch::Detail::stringify(operands)...}) shown += " " + operand;
  FAIL(what << " is wrong for" << shown);
}

template <class T>
constexpr ScalarType type_of = anabranch::detail::scalar_type<T>;

template <class T>
std::optional<T> value(Primitive op, T x, T y) {
  const Bits operands[] = {to_bits(x), to_bits(y)};
  const auto bits = apply(op, type_of<T>, type_of<T>, operands);
  return bits ? std::optional<T>(from_bits<T>(*bits)) : std::nullopt;
}
template <class T>
T value(Primitive op, T x) {
  const Bits operands[] = {to_bits(x)};
  return from_bits<T>(apply(op, type_of<T>, type_of<T>, operands).value());
}
template <class T>
bool test(Primitive op, T x, T y) {
  const Bits operands[] = {to_bits(x), to_bits(y)};
  const Bits bits = apply(op, type_of<T>, ScalarType::boolean, operands).value();
  must(bits <= 1, "the boolean result", x, y);
  return bits == 1;
}
template <class To, class From>
To converted(From x) {
  const Bits operands[] = {to_bits(x)};
  const Bits bits = apply(Primitive::cast, type_of<From>, type_of<To>, operands).value();
  // Zero-extended: nothing may be left above the scalar's own bytes.
  if (sizeof(To) < 8) must(bits >> (8 * sizeof(To) % 64) == 0, "the width of a cast", x);
  return from_bits<To>(bits);
}

/// The low bits of an integer.
template <class T>
T wrapped(Int128 exact) {
  const auto modulus = Int128{1} << (8 * sizeof(T));
  Int128 low = exact % modulus;
  if (low < 0) low += modulus;
  if (std::is_signed_v<T> && low >= modulus / 2) low -= modulus;
  return static_cast<T>(low);
}

template <class T>
constexpr int width = static_cast<int>(8 * sizeof(T));

template <class T>
void check_integers(T x, T y) {
  using enum Primitive;
  const Int128 a = x;
  const Int128 b = y;
  must(value(add, x, y) == wrapped<T>(a + b), "add", x, y);
  must(value(subtract, x, y) == wrapped<T>(a - b), "subtract", x, y);
  const auto product =
      static_cast<Int128>(static_cast<Uint128>(a) * static_cast<Uint128>(b));  // its low bits
  must(value(multiply, x, y) == wrapped<T>(product), "multiply", x, y);
  if (b == 0 || a / b > std::numeric_limits<T>::max()) {
    must(!value(divide, x, y).has_value(), "divide", x, y);
    must(!value(remainder, x, y).has_value(), "remainder", x, y);
  } else {
    must(value(divide, x, y) == static_cast<T>(a / b), "divide", x, y);
    must(value(remainder, x, y) == static_cast<T>(a % b), "remainder", x, y);
  }
  must(value(minimum, x, y) == (a < b ? x : y), "minimum", x, y);
  must(value(maximum, x, y) == (a > b ? x : y), "maximum", x, y);
  must(value(negate, x) == wrapped<T>(-a), "negate", x);
  must(value(absolute, x) == wrapped<T>(a < 0 ? -a : a), "absolute", x);
  T both = 0;
  T either = 0;
  T one = 0;
  for (std::size_t bit = 0; bit < 8 * sizeof(T); ++bit) {
    const bool p = (static_cast<std::uint64_t>(x) >> bit & 1) != 0;
    const bool q = (static_cast<std::uint64_t>(y) >> bit & 1) != 0;
    const T mask = static_cast<T>(std::uint64_t{1} << bit);
    if (p && q) both = static_cast<T>(both | mask);
    if (p || q) either = static_cast<T>(either | mask);
    if (p != q) one = static_cast<T>(one | mask);
  }
  must(value(bit_and, x, y) == both, "bit_and", x, y);
  must(value(bit_or, x, y) == either, "bit_or", x, y);
  must(value(bit_xor, x, y) == one, "bit_xor", x, y);
  must(test(equal, x, y) == (a == b), "equal", x, y);
  must(test(not_equal, x, y) == (a != b), "not_equal", x, y);
  must(test(less, x, y) == (a < b), "less", x, y);
  must(test(less_equal, x, y) == (a <= b), "less_equal", x, y);
}

/// A number of the type's width, from bits counted from the least.
template <class T, class F>
T of_bits(F&& bit) {
  std::uint64_t out = 0;
  for (int i = 0; i < width<T>; ++i)
    if (bit(i)) out |= std::uint64_t{1} << i;
  return wrapped<T>(out);
}
template <class T>
bool bit_at(T x, int i) {
  return (static_cast<std::uint64_t>(x) >> i & 1) != 0;
}

/// By y modulo the width.
template <class T>
void check_shifts(T x, T y) {
  using enum Primitive;
  const int by = static_cast<int>((static_cast<Int128>(y) % width<T> + width<T>) % width<T>);
  const bool sign = std::is_signed_v<T> && x < 0;
  const T left = of_bits<T>([&](int i) { return i >= by && bit_at(x, i - by); });
  const T right = of_bits<T>([&](int i) { return i + by < width<T> ? bit_at(x, i + by) : sign; });
  const T rotated = of_bits<T>([&](int i) { return bit_at(x, (i - by + width<T>) % width<T>); });
  must(value(shift_left, x, y) == left, "shift_left", x, y);
  must(value(shift_right, x, y) == right, "shift_right", x, y);
  must(value(rotate_left, x, y) == rotated, "rotate_left", x, y);
}

template <class T>
void check_counts(T x) {
  using enum Primitive;
  int ones = 0, first = width<T>, last = -1;
  for (int i = 0; i < width<T>; ++i) {
    if (!bit_at(x, i)) continue;
    ++ones;
    if (first == width<T>) first = i;
    last = i;
  }
  must(value(count_ones, x) == static_cast<T>(ones), "count_ones", x);
  must(value(trailing_zeros, x) == static_cast<T>(first), "trailing_zeros", x);
  must(value(leading_zeros, x) == static_cast<T>(width<T> - 1 - last), "leading_zeros", x);
}

/// f(std::type_identity<T>{}) for every integer type T.
template <class F>
void for_integers(F&& f) {
  for (const auto& facts : anabranch::detail::scalar_table)
    anabranch::detail::with_scalar(facts.type, [&]<class T>(std::type_identity<T> type) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) f(type);
    });
}

template <class T>
void check_integer_casts(T x) {
  must(converted<bool>(x) == (x != 0), "cast to bool", x);
  for_integers([&]<class To>(std::type_identity<To>) {
    must(converted<To>(x) == wrapped<To>(x), name_of(type_of<To>), x);
  });
  // A long double holds every integer of 64 bits, so that this rounds once.
  const auto exact = static_cast<long double>(x);
  must(converted<float>(x) == static_cast<float>(exact), "cast to float", x);
  must(converted<double>(x) == static_cast<double>(exact), "cast to double", x);
}

template <class T>
std::vector<T> integer_samples() {
  std::vector<T> out;
  for (int bit = 0; bit < static_cast<int>(8 * sizeof(T)); ++bit)
    for (int near = -2; near <= 2; ++near) {
      const Int128 power = Int128{1} << bit;
      out.push_back(wrapped<T>(power + near));
      out.push_back(wrapped<T>(-power + near));
    }
  std::mt19937_64 random(1);
  for (int i = 0; i < 40; ++i) out.push_back(static_cast<T>(random()));
  return out;
}

/// What a float becomes as an integer: truncated and saturated; a NaN becomes 0.
template <class To, class From>
To saturated(From x) {
  if (std::isnan(x)) return 0;
  const long double whole = std::trunc(static_cast<long double>(x));
  if (whole < static_cast<long double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  if (whole > static_cast<long double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  return static_cast<To>(whole);
}

template <class T>
std::vector<T> float_samples() {
  const T infinity = std::numeric_limits<T>::infinity();
  std::vector<T> out{0,
                     T{-0.0},
                     infinity,
                     -infinity,
                     std::numeric_limits<T>::quiet_NaN(),
                     T{0.5},
                     T{-0.5},
                     T{-0.999},
                     std::numeric_limits<T>::max(),
                     std::numeric_limits<T>::min(),
                     std::numeric_limits<T>::denorm_min()};
  for (int exponent : {0, 1, 7, 8, 9, 15, 16, 17, 23, 24, 30, 31, 32, 33, 52, 53, 62, 63, 64})
    for (T sign : {T{1}, T{-1}}) {
      const T power = sign * std::ldexp(T{1}, exponent);
      for (T x : {power, std::nextafter(power, infinity), std::nextafter(power, -infinity), power + T{0.5},
                  power - T{1}})
        out.push_back(x);
    }
  std::mt19937_64 random(2);
  for (int i = 0; i < 60; ++i)
    out.push_back(std::ldexp(static_cast<T>(static_cast<std::int64_t>(random())),
                             static_cast<int>(random() % 90) - 80));
  return out;
}

template <class T>
bool identical(T x, T y) {
  return (std::isnan(x) && std::isnan(y)) || to_bits(x) == to_bits(y);
}

}  // namespace

TEMPLATE_TEST_CASE("8 bits: every pair of operands", "", std::uint8_t, std::int8_t) {
  for (int x = 0; x < 256; ++x) {
    check_integer_casts(static_cast<TestType>(x));
    check_counts(static_cast<TestType>(x));
    for (int y = 0; y < 256; ++y) {
      check_integers(static_cast<TestType>(x), static_cast<TestType>(y));
      check_shifts(static_cast<TestType>(x), static_cast<TestType>(y));
    }
  }
}

TEMPLATE_TEST_CASE("wide integers wrap, divide and compare as exact ones do", "", std::int16_t, std::uint16_t,
                   std::int32_t, std::uint32_t, std::int64_t, std::uint64_t) {
  for (TestType x : integer_samples<TestType>()) {
    check_integer_casts(x);
    check_counts(x);
    for (TestType y : integer_samples<TestType>()) {
      check_integers(x, y);
      check_shifts(x, y);
    }
  }
}

TEST_CASE("bool: every pair of operands") {
  using enum Primitive;
  for (bool x : {false, true}) {
    for (bool y : {false, true}) {
      CHECK(value(bit_and, x, y) == (x && y));
      CHECK(value(bit_or, x, y) == (x || y));
      CHECK(value(bit_xor, x, y) == (x != y));
      CHECK(test(equal, x, y) == (x == y));
      CHECK(test(not_equal, x, y) == (x != y));
      CHECK(test(less, x, y) == (!x && y));
      CHECK(test(less_equal, x, y) == (!x || y));
    }
    CHECK(value(logical_not, x) == !x);
    CHECK(converted<std::uint8_t>(x) == (x ? 1 : 0));
    CHECK(converted<std::int64_t>(x) == (x ? 1 : 0));
    CHECK(converted<float>(x) == (x ? 1.0F : 0.0F));
    CHECK(converted<double>(x) == (x ? 1.0 : 0.0));
  }
}

TEMPLATE_TEST_CASE("floats become integers by truncation and saturation", "", float, double) {
  for (TestType x : float_samples<TestType>()) {
    INFO(x);
    for_integers([&]<class To>(std::type_identity<To>) {
      INFO("to " << name_of(type_of<To>));
      CHECK(converted<To>(x) == saturated<To>(x));
    });
    CHECK(converted<bool>(x) == !(x == 0));
  }
}

TEST_CASE("floats become other floats by rounding to nearest even") {
  for (float x : float_samples<float>()) CHECK(identical(converted<double>(x), static_cast<double>(x)));
  CHECK(converted<float>(1.0 + std::ldexp(1.0, -24)) == 1.0F);
  CHECK(converted<float>(1.0 + std::ldexp(3.0, -24)) == 1.0F + std::ldexp(1.0F, -22));
  CHECK(converted<float>(1.0 + std::ldexp(1.0, -24) + std::ldexp(1.0, -50)) == 1.0F + std::ldexp(1.0F, -23));
  CHECK(converted<float>(1e300) == std::numeric_limits<float>::infinity());
  CHECK(to_bits(converted<float>(-1e-300)) == to_bits(-0.0F));
  CHECK(converted<float>(std::int32_t{16777217}) == 16777216.0F);
  CHECK(converted<float>(std::int32_t{16777219}) == 16777220.0F);
}

TEST_CASE("float arithmetic is rounded once") {
  using enum Primitive;
  // A double holds enough bits that rounding through it to float equals rounding once.
  for (float x : float_samples<float>()) {
    for (float y : float_samples<float>()) {
      const double a = x;
      const double b = y;
      must(identical(*value(add, x, y), static_cast<float>(a + b)), "add", x, y);
      must(identical(*value(subtract, x, y), static_cast<float>(a - b)), "subtract", x, y);
      must(identical(*value(multiply, x, y), static_cast<float>(a * b)), "multiply", x, y);
      must(identical(*value(divide, x, y), static_cast<float>(a / b)), "divide", x, y);
      must(identical(*value(remainder, x, y), static_cast<float>(std::fmod(a, b))), "remainder", x, y);
    }
    REQUIRE(identical(value(square_root, x), static_cast<float>(std::sqrt(static_cast<double>(x)))));
  }
}

TEST_CASE("double arithmetic is within half a unit in the last place") {
  using enum Primitive;
  const auto close = [](double got, Float128 exact) {
    const double ulp =
        std::nextafter(std::fabs(got), std::numeric_limits<double>::infinity()) - std::fabs(got);
    const Float128 error = exact - static_cast<Float128>(got);
    return (error < 0 ? -error : error) <= static_cast<Float128>(ulp) / 2;
  };
  std::mt19937_64 random(3);
  const auto real = [&] {
    const double mantissa = 1.0 + std::ldexp(static_cast<double>(random() >> 12), -52);
    return std::ldexp(random() % 2 ? mantissa : -mantissa, static_cast<int>(random() % 3));
  };
  for (int i = 0; i < 20'000; ++i) {
    const double x = real();
    const double y = real();
    const double z = real();
    const Float128 a = x;
    const Float128 b = y;
    REQUIRE(close(*value(add, x, y), a + b));
    REQUIRE(close(*value(subtract, x, y), a - b));
    REQUIRE(close(*value(multiply, x, y), a * b));
    REQUIRE(close(*value(divide, x, y), a / b));
    const Bits operands[] = {to_bits(x), to_bits(y), to_bits(z)};
    const double fused =
        from_bits<double>(apply(fma, ScalarType::float64, ScalarType::float64, operands).value());
    REQUIRE(close(fused, a * b + static_cast<Float128>(z)));
    const double root = value(square_root, std::fabs(x));
    REQUIRE(std::fabs(static_cast<double>(static_cast<Float128>(root) * root - std::fabs(x))) <=
            std::ldexp(std::fabs(x), -52));
  }
}

TEMPLATE_TEST_CASE("minimum and maximum: NaN on either side, the right one of two equals", "", float,
                   double) {
  using enum Primitive;
  const TestType nan = std::numeric_limits<TestType>::quiet_NaN();
  const TestType zero = 0;
  const TestType minus = -zero;
  for (Primitive op : {minimum, maximum}) {
    CHECK(std::isnan(*value(op, nan, TestType{1})));
    CHECK(std::isnan(*value(op, TestType{1}, nan)));
    CHECK(to_bits(*value(op, zero, minus)) == to_bits(minus));
    CHECK(to_bits(*value(op, minus, zero)) == to_bits(zero));
  }
  CHECK(*value(minimum, TestType{1}, TestType{2}) == 1);
  CHECK(*value(minimum, TestType{2}, TestType{1}) == 1);
  CHECK(*value(maximum, TestType{1}, TestType{2}) == 2);
  CHECK(*value(maximum, TestType{2}, TestType{1}) == 2);
}

TEMPLATE_TEST_CASE("comparisons with NaN are false but not_equal; signs flip and vanish", "", float, double) {
  using enum Primitive;
  const TestType nan = std::numeric_limits<TestType>::quiet_NaN();
  for (TestType x : {TestType{1}, nan}) {
    CHECK_FALSE(test(equal, x, nan));
    CHECK_FALSE(test(less, x, nan));
    CHECK_FALSE(test(less, nan, x));
    CHECK_FALSE(test(less_equal, x, nan));
    CHECK(test(not_equal, x, nan));
  }
  CHECK(test(equal, TestType{0}, TestType{-0.0}));
  CHECK_FALSE(test(less, TestType{-0.0}, TestType{0}));
  CHECK(test(less_equal, TestType{1}, TestType{1}));
  CHECK(to_bits(value(negate, TestType{0})) == to_bits(TestType{-0.0}));
  CHECK(to_bits(value(absolute, TestType{-0.0})) == to_bits(TestType{0}));
  CHECK(value(absolute, TestType{-2.5}) == TestType{2.5});
  CHECK_FALSE(converted<bool>(TestType{-0.0}));
  CHECK(converted<bool>(nan));
}

namespace {

/// x without its fraction, and whether that is less than, exactly or more than a half (-1, 0, 1). Floats
/// beyond 2^62 are integers.
template <class T>
T whole_part(T x, int& cut) {
  cut = -1;
  if (!(std::fabs(x) < std::ldexp(T{1}, 62))) return x;
  const auto whole = static_cast<std::int64_t>(x);
  const T rest = std::fabs(x - static_cast<T>(whole));
  cut = rest < T{0.5} ? -1 : rest > T{0.5};
  return static_cast<T>(whole);
}
/// Of a result 0 the sign is that of the operand.
template <class T>
T signed_like(T value, T x) {
  return value == 0 ? (std::signbit(x) ? -T{0} : T{0}) : value;
}

template <class To, class From>
To same_bytes(From x) {
  const Bits operands[] = {to_bits(x)};
  return from_bits<To>(apply(Primitive::bitcast, type_of<From>, type_of<To>, operands).value());
}

}  // namespace

TEMPLATE_TEST_CASE("floats are rounded to integers exactly, and keep the sign of zero", "", float, double) {
  using enum Primitive;
  std::vector<TestType> samples = float_samples<TestType>();
  for (TestType x : {TestType{0.5}, TestType{1.5}, TestType{2.5}, TestType{0.3}, TestType{7.75}})
    for (TestType y : {x, -x})
      for (TestType z : {y, std::nextafter(y, TestType{0}), std::nextafter(y, 2 * y)}) samples.push_back(z);
  for (TestType x : samples) {
    INFO(x);
    int cut = 0;
    const TestType whole = whole_part(x, cut);
    const TestType one = std::signbit(x) ? TestType{-1} : TestType{1};
    REQUIRE(identical(value(truncate, x), signed_like(whole, x)));
    REQUIRE(identical(value(floor, x), signed_like(whole > x ? whole - 1 : whole, x)));
    REQUIRE(identical(value(ceiling, x), signed_like(whole < x ? whole + 1 : whole, x)));
    REQUIRE(identical(value(round, x), signed_like(cut < 0 ? whole : whole + one, x)));
  }
}

TEMPLATE_TEST_CASE("the sign of another number; that of a NaN counts as plus", "", float, double) {
  using enum Primitive;
  const TestType nan = std::numeric_limits<TestType>::quiet_NaN();
  for (TestType x : float_samples<TestType>())
    for (TestType y : {TestType{2}, TestType{-2}, TestType{0}, TestType{-0.0}}) {
      const bool minus = std::signbit(y);
      CHECK(identical(*value(copy_sign, x, y), minus == std::signbit(x) ? x : -x));
    }
  for (TestType y : {nan, -nan}) {
    CHECK(*value(copy_sign, TestType{-3}, y) == 3);
    CHECK(*value(copy_sign, TestType{3}, y) == 3);
  }
}

TEST_CASE("the bytes of a number as another type's; there is one NaN") {
  CHECK(same_bytes<std::int32_t>(1.0F) == 0x3f800000);
  CHECK(same_bytes<std::int64_t>(-0.0) == std::numeric_limits<std::int64_t>::min());
  CHECK(same_bytes<float>(std::int32_t{0x40490fdb}) == 3.14159274F);
  for (double x : float_samples<double>())
    CHECK(identical(same_bytes<double>(same_bytes<std::int64_t>(x)), x));
  for (std::int64_t x : integer_samples<std::int64_t>())
    if (const double real = same_bytes<double>(x); real == real) CHECK(same_bytes<std::int64_t>(real) == x);
  for (std::int32_t bits : {0x7f800001, 0x7fc00000, 0x7fffffff, -1, -0x400000})
    CHECK(same_bytes<std::int32_t>(same_bytes<float>(bits)) == 0x7fc00000);
  for (std::int64_t bits : {0x7ff0000000000001, std::int64_t{-1}})
    CHECK(same_bytes<std::int64_t>(same_bytes<double>(bits)) == 0x7ff8000000000000);
}

TEST_CASE("a primitive on a type it is not defined for is our own mistake") {
  const Bits operands[] = {1, 1};
  CHECK_THROWS_AS(apply(Primitive::add, ScalarType::boolean, ScalarType::boolean, operands), InternalError);
  CHECK_THROWS_AS(apply(Primitive::bit_and, ScalarType::float32, ScalarType::float32, operands),
                  InternalError);
  CHECK_THROWS_AS(apply(Primitive::square_root, ScalarType::int32, ScalarType::int32, operands),
                  InternalError);
}
