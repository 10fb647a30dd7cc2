#include "agree.h"

// Numbers that are put together of bytes, and elements of less than 32 bits at computed places: kernels read more than one
// byte at once where they may. And long chains of operations, of which several vectors are computed side by side.
namespace anabranch::testing {
namespace {

using Bytes = Acc<Vector<std::uint8_t>>;
using Position = Exp<std::int64_t>;

/// Items of 0 to 70 bytes, more of them than lanes.
std::vector<Vector<std::uint8_t>> items() {
  std::vector<Vector<std::uint8_t>> out;
  for (std::int64_t i = 0; i < 150; ++i)
    out.push_back(numbers<std::uint8_t>(i * 13 % 71, static_cast<std::uint64_t>(i)));
  return out;
}

/// Bytes i, i + 1, ... of a, the first one in the low bits.
template <class T>
Exp<T> word(const Bytes& a, const Position& i) {
  Exp<T> out = cast<T>(a[i]);
  for (std::size_t k = 1; k < sizeof(T); ++k)
    out = out | (cast<T>(a[i + static_cast<std::int64_t>(k)]) << static_cast<int>(8 * k));
  return out;
}
template <class T>
T word(const Vector<std::uint8_t>& a, std::int64_t i) {
  T out = 0;
  for (std::size_t k = 0; k < sizeof(T); ++k)
    out =
        static_cast<T>(out | static_cast<T>(static_cast<T>(a[i + static_cast<std::int64_t>(k)]) << (8 * k)));
  return out;
}

template <class T>
constexpr auto width = static_cast<std::int64_t>(sizeof(T));

template <class T>
void check_words() {
  const auto all = items();
  // Of each item one: lanes are items. At a place that is the same for all, and at one that each has.
  const auto first = [](const Bytes& a) {
    return unit(cond(size(a) >= width<T>, word<T>(a, Position(0)), T{1}));
  };
  const auto last = [](const Bytes& a) {
    return unit(cond(size(a) >= width<T>, word<T>(a, size(a) - width<T>), T{1}));
  };
  const auto firsts = agree(consume(elements(map_seq(first, stream_in(all)))));
  const auto lasts = agree(consume(elements(map_seq(last, stream_in(all)))));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::int64_t n = all[i].size();
    REQUIRE(firsts[static_cast<std::int64_t>(i)] == (n >= width<T> ? word<T>(all[i], 0) : T{1}));
    REQUIRE(lasts[static_cast<std::int64_t>(i)] == (n >= width<T> ? word<T>(all[i], n - width<T>) : T{1}));
  }
  // Of each item many: one behind the other, overlapping, from the end.
  const std::vector few(all.begin(), all.begin() + 40);
  everywhere(
      [](const Bytes& a) {
        return generate(size(a) / width<T>, [=](auto i) { return word<T>(a, i * width<T>); });
      },
      few);
  everywhere(
      [](const Bytes& a) {
        return generate(max(size(a) - (width<T> - 1), 0), [=](auto i) { return word<T>(a, i); });
      },
      few);
  everywhere(
      [](const Bytes& a) {
        return generate(size(a) / width<T>,
                        [=](auto i) { return word<T>(a, size(a) - width<T> - i * width<T>); });
      },
      few);
  everywhere(
      [](const Bytes& a) {
        return generate(size(a), [=](auto i) {
          return cond(i * 5 % 7 < 3 && i + width<T> <= size(a), word<T>(a, i), T{0});
        });
      },
      few);
}

TEST_CASE("numbers put together of bytes: 16 bits") { check_words<std::uint16_t>(); }
TEST_CASE("numbers put together of bytes: 32 bits") { check_words<std::uint32_t>(); }
TEST_CASE("numbers put together of bytes: 64 bits") { check_words<std::uint64_t>(); }
TEST_CASE("numbers put together of bytes: signed", "[once]") {
  check_words<std::int32_t>();
  check_words<std::int64_t>();
}

TEST_CASE("bytes that are put together in another way") {
  const auto all = items();
  const auto of_each = [&](auto f) {
    agree(consume(elements(map_seq(
        [&](const Bytes& a) {
          return unit(
              cond(size(a) >= 8, f(a, [&](std::int64_t i) { return cast<std::uint32_t>(a[i]); }), 0u));
        },
        stream_in(all)))));
  };
  // In another order of terms: the same number.
  of_each([](auto&, auto at) { return (at(3) << 24 | at(1) << 8) | (at(0) | at(2) << 16); });
  // All others are other numbers.
  of_each([](auto&, auto at) { return at(0) << 24 | at(1) << 16 | at(2) << 8 | at(3); });
  of_each([](auto&, auto at) { return at(0) | at(1) << 8 | at(2) << 16; });
  of_each([](auto&, auto at) { return at(0) | at(1) << 8 | at(2) << 16 | at(4) << 24; });
  of_each([](auto&, auto at) { return at(0) | at(0) << 8 | at(0) << 16 | at(0) << 24; });
  of_each([](auto&, auto at) { return at(0) | at(1) << 8 | at(2) << 16 | at(3) << 23; });
  of_each([](auto&, auto at) { return at(0) | at(1) << 8 | at(2) << 16 | at(3) << 32; });
  of_each([](auto&, auto at) { return at(0) | at(1) << 8 | at(2) << 16 | at(3) << 24 | at(4); });
  of_each([](auto&, auto at) { return at(0) + (at(1) << 8) + (at(2) << 16) + (at(3) << 24); });
  of_each([](auto& a, auto at) {
    return at(0) | at(1) << 8 | at(2) << 16 | cast<std::uint32_t>(cast<std::int8_t>(a[3])) << 24;
  });
  const auto other = use(numbers<std::uint8_t>(100, 5));
  of_each(
      [=](auto&, auto at) { return at(0) | at(1) << 8 | cast<std::uint32_t>(other[2]) << 16 | at(3) << 24; });
}

TEST_CASE("a byte of a number that is not there") {
  const std::vector<Vector<std::uint8_t>> short_ones{{1, 2, 3, 4}, {1, 2, 3}, {1, 2, 3, 4, 5}};
  fails<RunError>(
      consume(elements(map_seq([](const Bytes& a) { return unit(word<std::uint32_t>(a, Position(0))); },
                               stream_in(short_ones)))),
      {"index 3 out of range 0..2", "item 1"});
}

/// Where a mask says, from places all over.
template <class T>
void check_narrow() {
  for (const std::int64_t n : {1, 2, 15, 16, 17, 63, 64, 65, 200}) {
    const auto table = numbers<T>(n, 3);
    const auto mask =
        vector_of(n, [](std::int64_t i) { return number<bool>(static_cast<std::uint64_t>(i)); });
    const auto got = agree(imap(
        [=](auto at, auto wanted) { return cond(wanted, use(table)[(at[0] * 37 + 11) % n], cast<T>(at[0])); },
        use(mask)));
    for (std::int64_t i = 0; i < n; ++i)
      if (mask[i]) REQUIRE(detail::bits_of(got[i]) == detail::bits_of(table[(i * 37 + 11) % n]));
  }
}

TEST_CASE("elements of 8 and 16 bits from all over, under a mask") {
  check_narrow<std::uint8_t>();
  check_narrow<std::int8_t>();
  check_narrow<std::int16_t>();
  check_narrow<std::uint16_t>();
  check_narrow<bool>();
}

/// A chain of 400 operations that each wait for the one before.
template <class T>
Exp<T> chained(Exp<T> x) {
  for (int step = 0; step < 200; ++step) x = rotl(x, step % 31 + 1) + static_cast<T>(2 * step + 1);
  return x;
}

TEST_CASE("long chains of operations") {
  for (const std::int64_t n : border_lengths) {
    const auto v = numbers<std::uint32_t>(n);
    agree(map([](auto x) { return chained(x); }, use(v)));
    agree(map([](auto x) { return chained(cast<std::uint8_t>(x)); }, use(v)));
    agree(map([](auto x) { return chained(cast<std::uint64_t>(x)); }, use(v)));
  }
  const auto all = items();
  const auto chain_of = [](const Bytes& a) {
    return unit(chained(cond(size(a) >= 4, word<std::uint32_t>(a, Position(0)), 7u)));
  };
  agree(consume(elements(map_seq(chain_of, stream_in(all)))));
  everywhere(
      [](const Bytes& a) {
        return generate(size(a), [=](auto i) { return chained(cast<std::uint32_t>(a[size(a) - 1 - i])); });
      },
      std::vector(all.begin(), all.begin() + 20));
}

}  // namespace
}  // namespace anabranch::testing
