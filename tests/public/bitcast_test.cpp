#include <bit>
#include <cmath>

#include "pairs.h"

// The bytes of a number as another type's, and the nearest number of a type.
namespace anabranch::testing {
namespace {

template <class F, class I>
void bytes_of_floats() {
  using L = std::numeric_limits<F>;
  std::vector<F> values = borders<F>();
  values.push_back(-L::quiet_NaN());
  values.push_back(L::signaling_NaN());
  for (std::uint64_t i = 0; i < 30; ++i) values.push_back(number<F>(i));
  const std::vector<Vector<F>> rows{Vector<F>(values), Vector<F>{}, Vector<F>{F(1)}};
  const auto got = everywhere([](auto row) { return map([](auto x) { return bitcast<I>(x); }, row); }, rows);
  for (std::int64_t i = 0; i < rows[0].size(); ++i) {
    const F x = rows[0][i];
    INFO("of " << x);
    REQUIRE(got[0][i] == std::bit_cast<I>(std::isnan(x) ? L::quiet_NaN() : x));
  }
  const auto back = everywhere(
      [](auto row) {
        return map([](auto x) { return bitcast<I>(bitcast<F>(bitcast<I>(x) + I(1)) + F(0)); }, row);
      },
      rows);
  for (std::int64_t i = 0; i < rows[0].size(); ++i) {
    const F next = std::bit_cast<F>(static_cast<I>(got[0][i] + 1)) + F(0);
    REQUIRE(back[0][i] == std::bit_cast<I>(std::isnan(next) ? L::quiet_NaN() : next));
  }
}

TEST_CASE("bytes of floats as integers and back") {
  bytes_of_floats<float, std::int32_t>();
  bytes_of_floats<double, std::int64_t>();
}

template <class To, class From>
To nearest(From x) {
  if constexpr (std::is_floating_point_v<From>) {
    if (std::isnan(x)) return 0;
    if (x >= std::ldexp(From{1}, std::numeric_limits<To>::digits)) return std::numeric_limits<To>::max();
    if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return static_cast<To>(x);
  } else {
    return std::in_range<To>(x) ? static_cast<To>(x)
           : x < 0              ? std::numeric_limits<To>::min()
                                : std::numeric_limits<To>::max();
  }
}

/// All types of integers.
using Narrow = std::tuple<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                          std::int64_t, std::uint64_t>;

template <class From>
void narrowed() {
  std::vector<From> values = borders<From>();
  for (int x : {127, 128, 255, 256, 300, 65535, 65536, -128, -129})
    if (static_cast<long long>(static_cast<From>(x)) == x) values.push_back(static_cast<From>(x));
  for (std::uint64_t i = 0; i < 30; ++i) values.push_back(number<From>(i));
  const std::vector<Vector<From>> rows{Vector<From>(values), Vector<From>{}, Vector<From>{From(1)}};
  const auto got = everywhere(
      [](auto row) {
        return map(
            []<class X>(const X& x) {
              return std::apply([&](auto... to) { return pack(narrow<decltype(to)>(x)...); }, Narrow());
            },
            row);
      },
      rows);
  for (std::int64_t i = 0; i < rows[0].size(); ++i) {
    const From x = rows[0][i];
    INFO("of " << +x);
    REQUIRE(got[0][i] ==
            std::apply([&](auto... to) { return Narrow(nearest<decltype(to)>(x)...); }, Narrow()));
  }
}

TEST_CASE("the nearest number of an integer type") {
  narrowed<std::uint8_t>();
  narrowed<std::int32_t>();
  narrowed<std::int64_t>();
  narrowed<double>();
}
TEST_CASE("the nearest number of an integer type, of others", "[once]") {
  narrowed<std::int8_t>();
  narrowed<std::int16_t>();
  narrowed<std::uint16_t>();
  narrowed<std::uint32_t>();
  narrowed<std::uint64_t>();
  narrowed<float>();
}

}  // namespace
}  // namespace anabranch::testing
