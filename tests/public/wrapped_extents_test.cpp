// Extents whose product, or a multiple of which, is beyond 64 bits: nothing is read that is not there.
#include <cstdlib>
#include <string>

#include "agree.h"

namespace anabranch::testing {
namespace {

Exp<std::int64_t> number(std::int64_t value) { return the(use(Scalar<std::int64_t>(value))); }

TEST_CASE("a reshape to a size that is right modulo 2^64") {
  const auto k = number(std::int64_t{1} << 32);
  const auto matrix = reshape(index_of(k, k), use(Vector<double>{}));
  fails<RunError>(take(2, take(2, matrix, 0)), {"reshape", "too many elements"});
  fails<RunError>(take(3, slice(matrix, number(0), all)), {"reshape", "too many elements"});
  const auto vector = flatten(generate(index_of(k, k), [](auto ix) { return ix[0] + ix[1]; }));
  fails<RunError>(take(2, vector), {"too many elements"});
}

TEST_CASE("an extent that is too large is refused beside one that is 0, too") {
  constexpr std::int64_t most = std::int64_t{1} << 59;
  const auto element = [](auto ix) { return ix[0]; };
  const auto of = [&](std::int64_t first) { return generate(index_of(number(first), number(0)), element); };
  CHECK(agree(of(most)).shape() == Index{most, 0});
  for (const std::int64_t extent : {most + 1, INT64_MAX})
    fails<RunError>(of(extent),
                    {"generate: an array of shape (" + std::to_string(extent) + ") has too many elements"});
  fails<RunError>(generate(Index{INT64_MAX, 0}, element),
                  {"generate: an array of shape (9223372036854775807) has"});
}

TEST_CASE("a read inside a multiple of a number that wraps around is checked") {
  for (const int bits : {2, 5, 16}) {
    INFO(bits);
    const std::int64_t factor = std::int64_t{1} << bits;
    const auto n = number((std::int64_t{1} << (64 - bits)) + 1);
    const auto short_one = compute(generate(n * factor, [](auto i) { return i + 7; }));
    const auto beyond = generate(n, [=](auto i) { return short_one[i * factor]; });
    const auto program = compile(take(4, drop(number(std::int64_t{1} << 40), beyond)));
    // Without fusion all of `beyond` is stored, and there may not be memory enough before anything is read.
    const char* const off = std::getenv("ANABRANCH_OFF");
    const bool stores = off && std::string(off).find("fusion") != std::string::npos;
    for (const RunOptions& options : configurations()) try {
        program.run(options);
        FAIL("what is beyond the array was read");
      } catch (const RunError&) {
      } catch (const ResourceError&) {
        REQUIRE(stores);
      }
  }
}

TEST_CASE("an extent that overflows is an error though nothing is stored") {
  const auto largest = number(INT64_MAX);
  fails<RunError>(sum(generate(max(largest, 0) + 1, [](auto i) { return i; })), {"negative extent"});
  fails<RunError>(sum(generate(max(number(std::int64_t{1} << 32), 0) * max(number(std::int64_t{1} << 31), 0),
                               [](auto i) { return i; })),
                  {"negative extent"});
}

TEST_CASE("an extent of 0 behind large ones is one in a reshape, too") {
  const auto empty = fill(Index{std::int64_t{1} << 40, std::int64_t{1} << 30, 0}, 1.0);
  CHECK(agree(expand_dims(empty, 0)).shape() == Index{1, std::int64_t{1} << 40, std::int64_t{1} << 30, 0});
}

TEST_CASE("rows without elements are scanned, however many there are") {
  const auto rows = fill(Index{std::int64_t{1} << 40, 0}, 1.0);
  CHECK(agree(scanl1(plus, rows)).shape() == Index{std::int64_t{1} << 40, 0});
}

}  // namespace
}  // namespace anabranch::testing
