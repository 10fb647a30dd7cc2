#include "agree.h"

// Every other element, as two vector loads have them: of all types, up to the last element of an array.
namespace anabranch::testing {
namespace {

template <class T>
void check_every_other() {
  for (std::int64_t n = 0; n <= 140; ++n) {
    INFO(n);
    Vector<T> a(Index{n});
    for (std::int64_t i = 0; i < n; ++i) a.set(i, T(std::same_as<T, bool> ? i % 3 == 0 : i % 100));
    for (const std::int64_t first : {0, 1}) {
      const std::int64_t count = std::max<std::int64_t>(n - first + 1, 0) / 2;
      const Vector<T> got = agree(generate(count, [=, x = use(a)](auto i) { return x[2 * i + first]; }));
      REQUIRE(got.size() == count);
      for (std::int64_t i = 0; i < count; ++i) CHECK(got[i] == a[2 * i + first]);
    }
  }
}

}  // namespace

TEST_CASE("every other element of an array") {
  check_every_other<bool>();
  check_every_other<std::int8_t>();
  check_every_other<std::uint16_t>();
  check_every_other<std::int32_t>();
  check_every_other<std::int64_t>();
  check_every_other<half>();
  check_every_other<float>();
  check_every_other<double>();
}

}  // namespace anabranch::testing
