#include <complex>

#include "pairs.h"

// Mathematical functions of complex numbers, against the host's in a wider type, and at the borders.
namespace anabranch::testing {
namespace {

template <class T>
using C = std::complex<T>;
template <class T>
using Wide = std::conditional_t<std::same_as<T, float>, double, long double>;

template <class T>
C<Wide<T>> widened(C<T> z) {
  return {z.real(), z.imag()};
}

/// The distance in units of the last place of the wide number's absolute value.
template <class T>
double distance(C<T> got, C<Wide<T>> want) {
  if (want == C<Wide<T>>(0)) return got == C<T>(0) ? 0 : HUGE_VAL;
  return static_cast<double>(std::abs(widened(got) - want) / std::abs(want)) /
         std::numeric_limits<T>::epsilon();
}

/// Numbers of many sizes in every direction, and what is hard for log and sqrt.
template <class T>
Vector<C<T>> directions() {
  std::vector<C<T>> z;
  for (const double size : {1e-30, 1e-3, 0.5, 0.999, 1.0, 1.001, 1.9, 3.0, 20.0})
    for (int i = 0; i < 16; ++i) z.push_back(C<T>(std::polar(size, 0.1 + i * 0.39)));
  for (const double x : {1.0, 0.9999999, 1.0000001, -1.0, 0.6, 5e-7})
    for (const double y : {0.0, 1e-9, -0.8, 3e-5}) z.push_back(C<T>(T(x), T(y)));
  return Vector<C<T>>(z);
}

/// f of the language is within `bound` of g of the host, everywhere with the same bits.
template <class T, class F, class G>
void near(F f, G g, double bound, const Vector<C<T>>& numbers, Loc at = Loc::current()) {
  const auto values =
      everywhere([&](auto row) { return map(f, row); }, std::vector{numbers, Vector<C<T>>{}}, at);
  for (std::int64_t i = 0; i < numbers.size(); ++i) {
    INFO("line " << at.line() << ", of " << numbers[i] << ": " << values[0][i]);
    REQUIRE(distance<T>(values[0][i], g(widened(numbers[i]))) <= bound);
  }
}

template <class T>
void check_functions() {
  using W = C<Wide<T>>;
  const auto numbers = directions<T>();
  near<T>([](auto z) { return exp(z); }, [](W z) { return std::exp(z); }, 2.0, numbers);
  near<T>([](auto z) { return log(z); }, [](W z) { return std::log(z); }, 2.5, numbers);
  near<T>([](auto z) { return sqrt(z); }, [](W z) { return std::sqrt(z); }, 2.0, numbers);
  near<T>([](auto z) { return sin(z); }, [](W z) { return std::sin(z); }, 2.5, numbers);
  near<T>([](auto z) { return cos(z); }, [](W z) { return std::cos(z); }, 2.5, numbers);
  near<T>([](auto z) { return complex(abs(z), arg(z)); }, [](W z) { return W(std::abs(z), std::arg(z)); },
          2.0, numbers);
  near<T>([](auto z) { return polar(abs(z), arg(z)); }, [](W z) { return z; }, 6.0, numbers);
}
TEST_CASE("mathematical functions of complex floats") { check_functions<float>(); }
TEST_CASE("mathematical functions of complex doubles", "[once]") { check_functions<double>(); }

/// The values of f, and their sums with a complex number: each part of these is the value's, rounded, and then added.
template <class F>
void rounds_before_a_sum(F f, Loc at = Loc::current()) {
  const C<float> addend(0.7F, -0.3F);
  const auto numbers = use(directions<float>());
  const auto [values, sums] =
      agree(std::tuple(map(f, numbers), map([=](auto z) { return f(z) + addend; }, numbers)), at);
  for (std::int64_t i = 0; i < values.size(); ++i) {
    INFO("line " << at.line() << ", number " << i);
    REQUIRE(sums[i] == values[i] + addend);
  }
}
TEST_CASE("a sum with a complex function is not contracted") {
  rounds_before_a_sum([](auto z) { return exp(z); });
  rounds_before_a_sum([](auto z) { return sin(z); });
  rounds_before_a_sum([](auto z) { return cos(z); });
  rounds_before_a_sum([](auto z) { return sqrt(z); });
  rounds_before_a_sum([](auto z) { return polar(real(z), imag(z)); });
}

/// The same zero, infinity or number; any NaN.
bool alike(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST_CASE("complex functions at infinities, zeros and the ends of the range", "[once]") {
  using Z = C<double>;
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double pi = M_PI, big = std::numeric_limits<double>::max();
  const auto check = [](auto f, const std::vector<std::pair<Z, Z>>& cases) {
    const auto values =
        agree(map(f, use(vector_of(static_cast<std::int64_t>(cases.size()), [&](std::int64_t i) {
                    return cases[static_cast<std::size_t>(i)].first;
                  }))));
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Z got = values[static_cast<std::int64_t>(i)], want = cases[i].second;
      INFO("of " << cases[i].first << ": " << got << ", not " << want);
      REQUIRE((alike(got.real(), want.real()) && alike(got.imag(), want.imag())));
    }
  };
  check([](auto z) { return sqrt(z); }, {{{4, 0.0}, {2, 0.0}},
                                         {{4, -0.0}, {2, -0.0}},
                                         {{-4, 0.0}, {0.0, 2}},
                                         {{-4, -0.0}, {0.0, -2}},
                                         {{0.0, 0.0}, {0.0, 0.0}},
                                         {{-0.0, -0.0}, {0.0, -0.0}},
                                         {{0, 2}, {1, 1}},
                                         {{-3, 4}, {1, 2}},
                                         {{inf, -1}, {inf, -0.0}},
                                         {{-inf, 1}, {0.0, inf}},
                                         {{1, -inf}, {inf, -inf}},
                                         {{nan, inf}, {inf, inf}},
                                         {{nan, 1}, {nan, nan}},
                                         {{0, 0x1p-1073}, {0x1p-537, 0x1p-537}},
                                         {{0x1p1022, 0.0}, {0x1p511, 0.0}},
                                         {{0.0, 0x1p1023}, {0x1p511, 0x1p511}}});
  check([](auto z) { return log(z); }, {{{1, 0.0}, {0.0, 0.0}},
                                        {{-1, 0.0}, {0.0, pi}},
                                        {{-1, -0.0}, {0.0, -pi}},
                                        {{0.0, 0.0}, {-inf, 0.0}},
                                        {{-0.0, 0.0}, {-inf, pi}},
                                        {{inf, 1}, {inf, 0.0}},
                                        {{-inf, inf}, {inf, 3 * pi / 4}},
                                        {{nan, 1}, {nan, nan}},
                                        {{big, 0.0}, {std::log(big), 0.0}}});
  check([](auto z) { return exp(z); }, {{{0.0, 0.0}, {1, 0.0}},
                                        {{0.0, -0.0}, {1, -0.0}},
                                        {{inf, 0.0}, {inf, 0.0}},
                                        {{1000, -0.0}, {inf, -0.0}},
                                        {{-inf, 2}, {-0.0, 0.0}},
                                        {{0.0, inf}, {nan, nan}}});
  check([](auto z) { return sin(z); }, {{{0.0, 0.0}, {0.0, 0.0}}, {{-0.0, inf}, {-0.0, inf}}});
  check([](auto z) { return cos(z); }, {{{0.0, 0.0}, {1, -0.0}}, {{-0.0, inf}, {inf, 0.0}}});
  check([](auto z) { return complex(abs(z), arg(z)); }, {{{3, 4}, {5, std::atan2(4, 3)}},
                                                         {{big, 0.0}, {big, 0.0}},
                                                         {{-inf, nan}, {inf, nan}},
                                                         {{-1, -0.0}, {1, -pi}}});
}

}  // namespace
}  // namespace anabranch::testing
