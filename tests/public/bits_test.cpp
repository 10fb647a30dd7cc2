#include <bit>

#include "pairs.h"

// Operations on the bits of integers, on all pairs of borders and on ordinary numbers, inside sequences and
// outside. Counts and positions are taken modulo the width, whatever their type.
namespace anabranch::testing {
namespace {

template <class T>
void bits() {
  using U = std::make_unsigned_t<T>;
  constexpr int width = 8 * sizeof(T);
  const auto rows = rows_of_pairs<T>([](T, T) { return true; });
  const auto values = everywhere(
      [](auto row) {
        auto [xs, ys] = unzip(row);
        return zip_with(
            [](auto x, auto n) {
              return pack(x << n, x >> n, rotl(x, n), rotr(x, n), ~x, set_bit(x, n), test_bit(x, n),
                          popcount(x), clz(x), ctz(x));
            },
            xs, ys);
      },
      rows);
  for (std::size_t r = 0; r < rows.size(); ++r)
    for (std::int64_t i = 0; i < rows[r].size(); ++i) {
      const auto [x, y] = rows[r][i];
      const auto u = static_cast<U>(x);
      const int n = static_cast<int>(static_cast<U>(y) % width);
      const auto one = static_cast<U>(U{1} << n);
      const std::tuple<T, T, T, T, T, T, bool, int, int, int> expected{static_cast<T>(u << n),
                                                                       static_cast<T>(x >> n),
                                                                       static_cast<T>(std::rotl(u, n)),
                                                                       static_cast<T>(std::rotr(u, n)),
                                                                       static_cast<T>(~u),
                                                                       static_cast<T>(u | one),
                                                                       (u & one) != 0,
                                                                       std::popcount(u),
                                                                       std::countl_zero(u),
                                                                       std::countr_zero(u)};
      if (values[r][i] != expected) FAIL("of " << +x << " and " << +y);
    }
  SUCCEED();
}

TEST_CASE("bits of int32") { bits<std::int32_t>(); }
TEST_CASE("bits of int64") { bits<std::int64_t>(); }
TEST_CASE("bits of uint8") { bits<std::uint8_t>(); }
TEST_CASE("bits of uint16") { bits<std::uint16_t>(); }
TEST_CASE("bits of int8", "[once]") { bits<std::int8_t>(); }
TEST_CASE("bits of int16", "[once]") { bits<std::int16_t>(); }
TEST_CASE("bits of uint32", "[once]") { bits<std::uint32_t>(); }
TEST_CASE("bits of uint64", "[once]") { bits<std::uint64_t>(); }

TEST_CASE("a count may be a number or have any integer type; a literal is of the other operand's") {
  const auto got = agree(map(
      [](auto x) {
        const auto n = cast<std::int64_t>(x);
        return pack(x << 33, x >> -1, x << n, n >> x, 1 << x, rotl(x, n), rotr(x, 40), test_bit(n, x),
                    set_bit(x, cast<std::uint8_t>(x)));
      },
      use(Vector<std::int32_t>{5, -7})));
  CHECK(got[0] == std::tuple(10, 0, 160, std::int64_t{0}, 32, 160, 0x05000000, false, 37));
  const auto seven = static_cast<std::uint32_t>(-7);
  CHECK(got[1] == std::tuple(-14, -1, static_cast<std::int32_t>(seven << 25), std::int64_t{-7} >> 57, 1 << 25,
                             static_cast<std::int32_t>(std::rotl(seven, 25)),
                             static_cast<std::int32_t>(std::rotr(seven, 8)), true, -7));
}

}  // namespace
}  // namespace anabranch::testing
