#include <complex>

#include "pairs.h"

// Complex numbers as elements: host arrays, arithmetic against the textbook on the host, folds, scans.
namespace anabranch::testing {
namespace {

template <class T>
using C = std::complex<T>;

template <class T>
C<T> complex_number(std::int64_t i) {
  const auto at = static_cast<std::uint64_t>(i);
  return {number<T>(2 * at), number<T>(2 * at + 1)};
}
template <class T>
Vector<C<T>> complex_numbers(std::int64_t n, std::int64_t first = 0) {
  return vector_of(n, [=](std::int64_t i) { return complex_number<T>(first + i); });
}
template <class T>
std::vector<Vector<C<T>>> complex_rows() {
  return {complex_numbers<T>(67), Vector<C<T>>{}, complex_numbers<T>(1, 100), complex_numbers<T>(33, 200)};
}

template <class T>
C<T> textbook_product(C<T> x, C<T> y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}
template <class T>
C<T> smiths_quotient(C<T> x, C<T> y) {
  const T a = x.real(), b = x.imag(), c = y.real(), d = y.imag();
  if (std::fabs(c) >= std::fabs(d)) {
    const T r = c == 0 ? c : d / c;
    const T divisor = std::fma(d, r, c);
    return {std::fma(b, r, a) / divisor, std::fma(-a, r, b) / divisor};
  }
  const T r = c / d;
  const T divisor = std::fma(c, r, d);
  return {std::fma(a, r, b) / divisor, -(std::fma(-b, r, a) / divisor)};
}

/// f on the device is g on the host, of all pairs of these numbers and their neighbours.
template <class T, class F, class G>
void same_as(F f, G g, const std::vector<Vector<C<T>>>& rows, Loc at = Loc::current()) {
  const auto values = everywhere(
      [&](auto row) {
        auto moved = backpermute(size(row), [=](auto i) { return index_of((i + 1) % size(row)); }, row);
        return zip_with(f, row, moved);
      },
      rows, at);
  for (std::size_t r = 0; r < rows.size(); ++r)
    require_same(values[r],
                 vector_of(rows[r].size(),
                           [&](std::int64_t i) { return g(rows[r][i], rows[r][(i + 1) % rows[r].size()]); }),
                 at);
}

template <class T>
void arithmetic() {
  const auto rows = complex_rows<T>();
  same_as<T>([](auto x, auto y) { return x + y; }, [](C<T> x, C<T> y) { return x + y; }, rows);
  same_as<T>([](auto x, auto y) { return x - y; }, [](C<T> x, C<T> y) { return x - y; }, rows);
  same_as<T>([](auto x, auto y) { return x * y; }, textbook_product<T>, rows);
  same_as<T>([](auto x, auto y) { return x / y; }, smiths_quotient<T>, rows);
  same_as<T>([](auto x, auto) { return -x; }, [](C<T> x, C<T>) { return -x; }, rows);
  same_as<T>([](auto x, auto) { return conj(x); }, [](C<T> x, C<T>) { return std::conj(x); }, rows);
  same_as<T>([](auto x, auto y) { return x * real(y) - imag(y) / T(3); },
             [](C<T> x, C<T> y) { return C<T>(x.real() * y.real() - y.imag() / T(3), x.imag() * y.real()); },
             rows);
}
TEST_CASE("complex arithmetic in float") { arithmetic<float>(); }
TEST_CASE("complex arithmetic in double", "[once]") { arithmetic<double>(); }

TEST_CASE("complex numbers with real ones and with plain values") {
  using Z = C<double>;
  const Vector<Z> v{{1, 2}, {-0.5, 4}, {0, -0.0}};
  const auto of = [&](auto f) { return agree(map(f, use(v))); };
  const auto host = [&](auto f) { return vector_of(v.size(), [&](std::int64_t i) { return f(v[i]); }); };
  require_same(of([](auto z) { return z + 2; }), host([](Z z) { return Z(z.real() + 2, z.imag()); }));
  require_same(of([](auto z) { return 2 - z; }), host([](Z z) { return Z(2 - z.real(), -z.imag()); }));
  require_same(of([](auto z) { return 3 + z - 0.5; }),
               host([](Z z) { return Z(3 + z.real() - 0.5, z.imag()); }));
  require_same(of([](auto z) { return 2 * z * 0.25; }),
               host([](Z z) { return Z(z.real() * 0.5, z.imag() * 0.5); }));
  require_same(of([](auto z) { return z / 4; }), host([](Z z) { return Z(z.real() / 4, z.imag() / 4); }));
  require_same(of([](auto z) { return 1 / z; }), host([](Z z) { return smiths_quotient(Z(1), z); }));
  require_same(of([](auto z) { return z * Z(0, 1) + Z(1, 1); }),
               host([](Z z) { return textbook_product(z, Z(0, 1)) + Z(1, 1); }));
  require_same(of([](auto z) { return complex(imag(z), 1) - complex(0.5, real(z)); }),
               host([](Z z) { return Z(z.imag() - 0.5, 1 - z.real()); }));
  require_same(of([](auto z) {
                 auto [re, im] = z;
                 return make<Z>(im, re) + complex(re, im);
               }),
               host([](Z z) { return Z(z.imag(), z.real()) + z; }));
}

TEST_CASE("a complex number times its conjugate is real, and the norm") {
  const auto rows = complex_rows<double>();
  const auto values =
      everywhere([](auto row) { return map([](auto z) { return pack(z * conj(z), norm(z)); }, row); }, rows);
  for (std::int64_t i = 0; i < rows[0].size(); ++i) {
    const C<double> z = rows[0][i];
    const double norm = z.real() * z.real() + z.imag() * z.imag();
    REQUIRE(values[0][i] == std::tuple(C<double>(norm, 0), norm));
  }
}

TEST_CASE("complex division neither overflows nor fails at 0") {
  using Z = C<double>;
  const double big = 1e300, infinity = std::numeric_limits<double>::infinity();
  const Vector<std::tuple<Z, Z>> pairs{
      {{big, big}, {big, big}}, {{1, 1}, {big, 1e-300}}, {{1e-300, 0}, {0, 1e-300}},
      {{1, -2}, {0, 0}},        {{1, 2}, {infinity, 3}}, {{4, 2}, {-0.0, 2}},
      {{0, 0}, {1, 5}}};
  const auto quotients = agree(map([](auto e) { return get<0>(e) / get<1>(e); }, use(pairs)));
  REQUIRE(quotients[0] == Z(1, 0));
  REQUIRE(quotients[1] == Z(1e-300, 1e-300));
  REQUIRE(quotients[2] == Z(0, -1));
  REQUIRE(quotients[3] == Z(infinity, -infinity));
  REQUIRE(quotients[4] == Z(0, 0));
  REQUIRE(quotients[5] == Z(1, -2));
  REQUIRE(quotients[6] == Z(0, 0));
}

TEST_CASE("complex numbers are equal where both parts are") {
  using Z = C<float>;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Vector<std::tuple<Z, Z>> pairs{
      {{1, 2}, {1, 2}}, {{1, 2}, {1, 3}}, {{0, 2}, {1, 2}}, {{0, -0.0F}, {-0.0F, 0}}, {{nan, 1}, {nan, 1}}};
  require_same(
      agree(map([](auto e) { return pack(get<0>(e) == get<1>(e), get<0>(e) != get<1>(e)); }, use(pairs))),
      Vector<std::tuple<bool, bool>>{
          {true, false}, {false, true}, {false, true}, {true, false}, {false, true}});
  require_same(agree(map([](auto e) { return get<0>(e) == Z(1, 2); }, use(pairs))),
               Vector<bool>{true, true, false, false, false});
}

TEST_CASE("sums, products and scans of complex numbers") {
  const auto rows = complex_rows<double>();
  const auto sums = everywhere([](auto row) { return sum(row); }, rows);
  REQUIRE(sums[1][0] == C<double>(0));
  REQUIRE(sums[2][0] == rows[2][0]);
  auto [re, im] = unzip(use(rows[0]));
  require_same(sums[0], agree(zip_with([](auto x, auto y) { return complex(x, y); }, sum(re), sum(im))));
  const auto products = everywhere([](auto row) { return product(row); }, rows);
  REQUIRE(products[1][0] == C<double>(1));
  REQUIRE(products[2][0] == textbook_product(C<double>(1), rows[2][0]));
  const auto row = use(rows[0]);
  agree(std::tuple(fold(times, C<double>(0, 1), row), scanl1(plus, row), prescanl(times, C<double>(1), row)));
}

TEST_CASE("complex host arrays, arguments, loops and branches") {
  using Z = C<float>;
  Matrix<Z> m(Index{2, 2}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}});
  m.set(Index{1, 0}, Z(-5, 0.5F));
  REQUIRE(m[Index{1, 0}] == Z(-5, 0.5F));
  REQUIRE(m.component<1>()[2] == 0.5F);
  const auto [re, im] = unzip(m);
  REQUIRE(re.data()[3] == 7);
  REQUIRE(im.data()[0] == 2);
  const auto program = compile<Matrix<Z>, Scalar<Z>>(
      [](auto a, auto s) { return map([=](auto z) { return z * the(s); }, transpose(a)); });
  require_same(agree_on(program, m, Scalar<Z>(Z(0, 1))),
               Matrix<Z>(Index{2, 2}, {{-2, 1}, {-0.5F, -5}, {-4, 3}, {-8, 7}}));
  const auto squared = agree(map(
      [](auto z) {
        return while_loop([](auto w) { return norm(w) < 100; }, [](auto w) { return w * w; }, z);
      },
      use(Vector<Z>{{3, 4}, {2, 0}, {20, 20}})));
  require_same(squared, Vector<Z>{{-7, 24}, {16, 0}, {20, 20}});
  require_same(
      agree(map([](auto z) { return cond(real(z) > 0, z, Z(0, 0)); }, use(Vector<Z>{{1, 2}, {-1, 2}}))),
      Vector<Z>{{1, 2}, {0, 0}});
  require_same(agree(fill(2, Z(1, 2))), Vector<Z>{{1, 2}, {1, 2}});
}

}  // namespace
}  // namespace anabranch::testing
