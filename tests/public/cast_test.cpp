#include <cmath>
#include <limits>

#include "agree.h"

// Conversions between all scalar types, borders included.
namespace anabranch::testing {
namespace {

template <class T>
std::vector<T> values_of() {
  using L = std::numeric_limits<T>;
  std::vector<T> out;
  if constexpr (std::is_same_v<T, bool>) {
    out = {false, true};
  } else if constexpr (detail::FloatValue<T>) {
    out = {T(0),
           T(-0.0),
           T(0.5),
           T(-0.5),
           T(1),
           T(-1.5),
           T(255),
           T(256),
           T(65535),
           T(65535.5),
           T(65536),
           T(-1),
           T(127.9),
           T(-128.9),
           T(-129),
           T(32767.5),
           T(-32769),
           T(4294967295.0),
           T(4294967296.0),
           T(1.8446744073709550e19),
           T(18446744073709551616.0),
           T(2147483647.0),
           T(2147483648.0),
           T(-2147483648.0),
           T(9.2e18),
           T(9223372036854775807.0),
           T(1e30),
           T(-1e30),
           L::infinity(),
           T(-L::infinity()),
           L::quiet_NaN(),
           L::denorm_min(),
           T(16777217.0),
           T(65504),
           T(65519.99),
           T(65520),
           T(0x1p-24),
           T(0x1.8p-25),
           T(0x1p-25),
           T(0x1.000001p-25),
           T(1 + 0x1p-11),
           T(1 + 0x1p-11 + 0x1p-35),
           T(1 + 0x3p-11)};
  } else {
    out = {T(0),
           T(1),
           T(2),
           T(127),
           T(128),
           T(255),
           T(-1),
           L::max(),
           L::min(),
           T(L::max() - 1),
           static_cast<T>(16777217),
           static_cast<T>(0x7fffffffffffffc1)};
  }
  for (std::uint64_t i = 0; i < 40; ++i) out.push_back(number<T>(i));
  return out;
}

template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (detail::FloatValue<From> && std::is_integral_v<To>) {
    if (x != x) return 0;
    const double low = static_cast<double>(std::numeric_limits<To>::min());
    const double above = std::ldexp(1.0, std::numeric_limits<To>::digits);
    if (static_cast<double>(x) <= low) return std::numeric_limits<To>::min();
    if (static_cast<double>(x) >= above) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

/// std::vector<bool> has no elements to point at.
template <class T>
Vector<T> as_array(const std::vector<T>& values) {
  return vector_of(static_cast<std::int64_t>(values.size()),
                   [&](std::int64_t i) { return T(values[static_cast<std::size_t>(i)]); });
}

template <class From>
void from() {
  const auto values = values_of<From>();
  const std::vector<Vector<From>> rows{as_array(values), Vector<From>{}, numbers<From>(17, 5)};
  const auto got = everywhere(
      [](auto row) {
        return map(
            [](auto x) {
              return pack(pack(cast<bool>(x), cast<std::uint8_t>(x), cast<std::uint16_t>(x),
                               cast<std::int32_t>(x), cast<std::int64_t>(x), cast<float>(x), cast<double>(x)),
                          pack(cast<std::int8_t>(x), cast<std::int16_t>(x), cast<std::uint32_t>(x),
                               cast<std::uint64_t>(x)),
                          cast<half>(x));
            },
            row);
      },
      rows);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const From x = values[i];
    const auto [first, further, h] = got[0][static_cast<std::int64_t>(i)];
    const auto [b, u, w, s, l, f, d] = first;
    INFO("cast of " << +x);
    const auto integers = std::tuple(converted<std::int8_t>(x), converted<std::int16_t>(x),
                                     converted<std::uint32_t>(x), converted<std::uint64_t>(x));
    REQUIRE(further == integers);
    REQUIRE(b == converted<bool>(x));
    REQUIRE(+u == +converted<std::uint8_t>(x));
    REQUIRE(+w == +converted<std::uint16_t>(x));
    REQUIRE(s == converted<std::int32_t>(x));
    REQUIRE(l == converted<std::int64_t>(x));
    REQUIRE((h == converted<half>(x) || (h != h && x != x)));
    REQUIRE((f == converted<float>(x) || (f != f && x != x)));
    REQUIRE((d == converted<double>(x) || (d != d && x != x)));
  }
}

TEST_CASE("casts from bool") { from<bool>(); }
TEST_CASE("casts from uint8") { from<std::uint8_t>(); }
TEST_CASE("casts from uint16") { from<std::uint16_t>(); }
TEST_CASE("casts from int8") { from<std::int8_t>(); }
TEST_CASE("casts from int16") { from<std::int16_t>(); }
TEST_CASE("casts from uint32") { from<std::uint32_t>(); }
TEST_CASE("casts from uint64") { from<std::uint64_t>(); }
TEST_CASE("casts from int32") { from<std::int32_t>(); }
TEST_CASE("casts from int64") { from<std::int64_t>(); }
TEST_CASE("casts from half") { from<half>(); }
TEST_CASE("casts from float") { from<float>(); }
TEST_CASE("casts from double") { from<double>(); }

}  // namespace
}  // namespace anabranch::testing
