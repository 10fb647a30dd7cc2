// half: the host's class and the interpreter's operations, against the compiler's own type of 16 bits.

#include <anabranch/half.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "interp/primitives.h"
#include "support/catch.h"

using namespace anabranch;
using interp::Bits;
using interp::from_bits;
using interp::to_bits;
using ir::Primitive;

namespace {

__extension__ typedef _Float16 Reference;
__extension__ typedef __float128 Float128;

half of_bits(std::uint64_t bits) { return std::bit_cast<half>(static_cast<std::uint16_t>(bits)); }

/// The half that this number is rounded to.
template <class T>
half nearest(T exact) {
  return std::bit_cast<half>(static_cast<Reference>(exact));
}

bool same(half x, half y) { return x != x ? y != y : to_bits(x) == to_bits(y); }

void must(bool good, const char* what, half x, half y = half(0), half z = half(0)) {
  if (!good) FAIL(what << " of " << +x << ", " << +y << ", " << +z);
}

half applied(Primitive op, std::initializer_list<half> operands) {
  std::vector<Bits> bits;
  for (const half x : operands) bits.push_back(to_bits(x));
  return from_bits<half>(interp::apply(op, ScalarType::float16, ScalarType::float16, bits).value());
}

/// Numbers of all magnitudes, and those between two halves, with what lies beside them.
template <class F>
void for_numbers(F&& f) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 65536; ++i) {
    const half x = of_bits(static_cast<std::uint64_t>(i)), next = of_bits(static_cast<std::uint64_t>(i) + 1);
    if (x != x || next != next) continue;
    const double middle = (static_cast<double>(x) + static_cast<double>(next)) / 2;
    for (const double y : {middle, std::nextafter(middle, 1e300), std::nextafter(middle, -1e300)}) f(y);
    f(std::ldexp(static_cast<double>(static_cast<std::int64_t>(random())),
                 static_cast<int>(random() % 120) - 110));
  }
}

}  // namespace

TEST_CASE("half: every one is a float, and comes back") {
  for (std::uint64_t i = 0; i < 65536; ++i) {
    const half x = of_bits(i);
    const auto wide = static_cast<float>(std::bit_cast<Reference>(x));
    must(x != x ? wide != wide
                : std::bit_cast<std::uint32_t>(static_cast<float>(x)) == std::bit_cast<std::uint32_t>(wide),
         "float", x);
    must(same(half(static_cast<float>(x)), x), "half of float", x);
    must(same(half(static_cast<double>(x)), x), "half of double", x);
  }
}

TEST_CASE("half: numbers are rounded once, to the nearest and even one") {
  for_numbers([](double y) {
    const auto f = static_cast<float>(y);
    const auto i = std::fabs(y) < 9e18 ? static_cast<std::int64_t>(y) : 0;
    if (!same(half(y), nearest(y)) || !same(half(f), nearest(f)) || !same(half(i), nearest(i)))
      FAIL("of " << y);
  });
  for (const std::int64_t n :
       {2047, 2048, 2049, 2050, 2051, 4098, 65503, 65504, 65519, 65520, 16777217, -65520})
    CHECK(same(half(n), nearest(n)));
  CHECK(same(half(std::numeric_limits<std::uint64_t>::max()), std::numeric_limits<half>::infinity()));
  CHECK(same(half(std::numeric_limits<double>::quiet_NaN()), std::numeric_limits<half>::quiet_NaN()));
  static_assert(half(0.1) != 0.1 && half(0.1) < half(0.2) && half(3) == 3);
}

TEST_CASE("half: its limits") {
  using L = std::numeric_limits<half>;
  CHECK(L::max() == 65504);
  CHECK(L::lowest() == -65504);
  CHECK(L::min() == 0x1p-14);
  CHECK(L::denorm_min() == 0x1p-24);
  CHECK(L::epsilon() == 0x1p-10);
  CHECK(L::infinity() > L::max());
  CHECK(std::isnan(static_cast<float>(L::quiet_NaN())));
  CHECK(std::isnan(static_cast<float>(L::signaling_NaN())));
  CHECK(static_cast<double>(L::max()) ==
        std::ldexp(1.0, L::max_exponent) * (1 - std::ldexp(1.0, -L::digits)));
  CHECK(static_cast<double>(L::min()) == std::ldexp(1.0, L::min_exponent - 1));
}

TEST_CASE("half: every operation is the exact result, rounded once") {
  using enum Primitive;
  std::mt19937_64 random(5);
  for (int i = 0; i < 300'000; ++i) {
    const half x = of_bits(random()), y = of_bits(random()), z = of_bits(random());
    const double a = x, b = y;
    // Sums and products are exact in double; quotients and roots have more than twice a half's bits there.
    must(same(applied(add, {x, y}), nearest(a + b)), "add", x, y);
    must(same(applied(subtract, {x, y}), nearest(a - b)), "subtract", x, y);
    must(same(applied(multiply, {x, y}), nearest(a * b)), "multiply", x, y);
    must(same(applied(divide, {x, y}), nearest(a / b)), "divide", x, y);
    must(same(applied(remainder, {x, y}), nearest(std::fmod(a, b))), "remainder", x, y);
    const Float128 exact = static_cast<Float128>(a) * b + static_cast<Float128>(static_cast<double>(z));
    must(same(applied(fma, {x, y, z}), nearest(exact)), "fma", x, y, z);
    must(same(applied(minimum, {x, y}), a < b || a != a ? x : y), "minimum", x, y);
    must(same(applied(maximum, {x, y}), a > b || a != a ? x : y), "maximum", x, y);
  }
  for (std::uint64_t i = 0; i < 65536; ++i) {
    const half x = of_bits(i);
    must(same(applied(square_root, {x}), nearest(std::sqrt(static_cast<double>(x)))), "sqrt", x);
    must(same(applied(negate, {x}), of_bits(i ^ 0x8000)), "negate", x);
    must(same(applied(absolute, {x}), of_bits(i & 0x7fff)), "absolute", x);
  }
}

TEST_CASE("half: casts") {
  const auto cast = [](ScalarType from, ScalarType to, Bits x) {
    return interp::apply(Primitive::cast, from, to, std::span(&x, 1)).value();
  };
  for_numbers([&](double y) {
    const auto bits = cast(ScalarType::float64, ScalarType::float16, to_bits(y));
    if (!same(from_bits<half>(bits), nearest(y)) || bits >> 16 != 0) FAIL("of " << y);
  });
  std::mt19937_64 random(6);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t n = random() >> (random() % 64);
    if (!same(from_bits<half>(cast(ScalarType::uint64, ScalarType::float16, n)), nearest(n)))
      FAIL("of " << n);
    const auto s = static_cast<std::int64_t>(n);
    if (!same(from_bits<half>(cast(ScalarType::int64, ScalarType::float16, n)), nearest(s))) FAIL("of " << s);
  }
  const auto narrow = [&](double x, ScalarType to) {
    return cast(ScalarType::float16, to, to_bits(half(x)));
  };
  CHECK(narrow(300, ScalarType::uint8) == 255);
  CHECK(narrow(-300, ScalarType::int8) == 0x80);
  CHECK(narrow(-1.75, ScalarType::int16) == 0xffff);
  CHECK(narrow(1e9, ScalarType::int64) == static_cast<Bits>(std::numeric_limits<std::int64_t>::max()));
  CHECK(narrow(1e9, ScalarType::uint64) == ~Bits{0});
  CHECK(narrow(std::nan(""), ScalarType::uint32) == 0);
  CHECK(narrow(std::nan(""), ScalarType::boolean) == 1);
  CHECK(narrow(-0.0, ScalarType::boolean) == 0);
}
