#include <cfenv>
#include <cmath>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "agree.h"

// What a program has set for its own floats (a direction of rounding; -ffast-math: no denormal numbers) does not
// change a computation, on whatever thread, and is there again afterwards.
namespace anabranch::testing {
namespace {

/// The thread's arithmetic while this lives.
class With {
 public:
  With(int rounding, bool flush) {
    std::fegetenv(&before_);
    std::fesetround(rounding);
#if defined(__SSE2__)
    if (flush) _mm_setcsr(_mm_getcsr() | 0x8040U);  // flush to zero, denormals are zero
#endif
  }
  ~With() { std::fesetenv(&before_); }
  With(const With&) = delete;
  With& operator=(const With&) = delete;

 private:
  std::fenv_t before_;
};

template <class T>
Vector<T> operands() {
  using L = std::numeric_limits<T>;
  return vector_of(1000, [](std::int64_t i) {
    const T x = number<T>(static_cast<std::uint64_t>(i));
    return i % 3 == 0 ? x * L::min() : i % 3 == 1 ? x * std::sqrt(L::min()) : x;
  });
}

template <class T>
void check(int rounding, bool flush) {
  const Vector<T> numbers = operands<T>();
  const auto program = compile<Vector<T>>([](auto row) {
    auto each = map([](auto x) { return sin(x) + x * x * T(0.1) + log(abs(x)) / 3; }, row);
    return std::tuple(each, sum(each), get<0>(scanl_(plus, T(0.3), map([](auto x) { return x / 7; }, row))));
  });
  const auto expected = program.run({.backend = Backend::interpreter}, numbers);
  const With mode(rounding, flush);
  const auto got = agree_on(program, numbers);
  require_same(std::get<0>(got), std::get<0>(expected));
  require_same(std::get<1>(got), std::get<1>(expected));
  require_same(std::get<2>(got), std::get<2>(expected));
  REQUIRE(std::fegetround() == rounding);
#if defined(__SSE2__)
  REQUIRE(((_mm_getcsr() & 0x8040U) == 0x8040U) == flush);
#endif
}

TEST_CASE("results do not depend on the caller's direction of rounding", "[once]") {
  for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    check<float>(rounding, false);
    check<double>(rounding, false);
  }
}

TEST_CASE("results do not depend on whether the caller's denormal numbers are zero", "[once]") {
  check<float>(FE_TONEAREST, true);
  check<double>(FE_TONEAREST, true);
}

#if defined(__SSE2__)
TEST_CASE("a program that is compiled where denormal numbers are zero is the same", "[once]") {
  const Vector<double> zero{0.0};
  const Vector<float> small{2e-40F, 1e-40F};
  const auto built = [&] {
    return std::tuple(map([](auto v) { return v - 1e-310; }, use(zero)),
                      map([](auto v) { return v + -1e-310; }, use(zero)), sort(use(small)));
  };
  const auto expected = run(built(), {.backend = Backend::interpreter});
  REQUIRE(std::get<0>(expected)[0] == -1e-310);
  REQUIRE(std::get<2>(expected)[0] == 1e-40F);
  for (const Backend backend : {Backend::cpu, Backend::interpreter}) {
    const auto got = [&] {
      const With mode(FE_TONEAREST, true);
      return run(built(), {.backend = backend});
    }();
    require_same(std::get<0>(got), std::get<0>(expected));
    require_same(std::get<1>(got), std::get<1>(expected));
    require_same(std::get<2>(got), std::get<2>(expected));
  }
}
#endif

}  // namespace
}  // namespace anabranch::testing
