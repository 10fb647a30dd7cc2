#include <cmath>
#include <limits>

#include "agree.h"

// Plain values where expressions and shapes are wanted.
namespace anabranch::testing {
namespace {

TEST_CASE("shapes as plain indices, lengths and expressions") {
  auto a = use(Vector<double>{1, 2, 3, 4, 5, 6});
  const Vector<double> ones{1.0, 1.0, 1.0};
  require_same(agree(fill(3, 1.0)), ones);
  require_same(agree(fill(Index{3}, 1.0)), ones);
  require_same(agree(fill(Exp(Index{3}), Exp(1.0))), ones);
  require_same(agree(fill(shape(a), 7)), Vector<std::int32_t>{7, 7, 7, 7, 7, 7});
  require_same(agree(fill(size(a) - 3, 1.0)), ones);
  require_same(agree(fill(Index{2, 2}, true)), Matrix<bool>(Index{2, 2}, {true, true, true, true}));
  REQUIRE(agree(fill(Index<0>{}, 1.0)).size() == 1);
  REQUIRE((agree(fill(1, std::tuple(1, 2.5)))[0] == std::tuple(1, 2.5)));

  const auto from_behind = [=](auto ix) { return index_of(5 - ix[0]); };
  const Vector<double> last{6, 5, 4};
  require_same(agree(backpermute(Exp(Index{3}), from_behind, a)), last);
  require_same(agree(backpermute(Index{3}, from_behind, a)), last);
  require_same(agree(backpermute(3, [](auto i) { return index_of(5 - i); }, a)), last);
  require_same(agree(backpermute(size(a) / 2, [](auto i) { return index_of(5 - i); }, a)), last);

  auto m = use(Matrix<double>(Index{2, 3}, {1, 2, 3, 4, 5, 6}));
  require_same(agree(reshape(6, m)), Vector<double>{1, 2, 3, 4, 5, 6});
  require_same(agree(reshape(size(m), m)), Vector<double>{1, 2, 3, 4, 5, 6});
  require_same(agree(reshape(Index{3, 2}, m)), Matrix<double>(Index{3, 2}, {1, 2, 3, 4, 5, 6}));
}

TEST_CASE("unit of a plain value") {
  REQUIRE(agree(unit(2.5))[0] == 2.5);
  REQUIRE(agree(unit(true))[0] == true);
  REQUIRE((agree(unit(std::pair(1, 2.5)))[0] == std::pair(1, 2.5)));
}

TEST_CASE("pairs are taken apart") {
  using P = std::pair<std::int32_t, double>;
  auto [i, x] = unzip(use(Vector<P>{{1, 1.5}, {2, 2.5}}));
  require_same(agree(i), Vector<std::int32_t>{1, 2});
  require_same(agree(x), Vector<double>{1.5, 2.5});
}

TEST_CASE("literals on either side") {
  auto f = use(Vector<float>{-1.5F, 2.5F});
  require_same(agree(map([](auto x) { return cond(x < 0, 1, x); }, f)), Vector<float>{1.0F, 2.5F});
  require_same(agree(map([](auto x) { return cond(x < 0, x, 1); }, f)), Vector<float>{-1.5F, 1.0F});
  require_same(agree(map([](auto x) { return cond(x < 0, x, x * 2); }, f)), Vector<float>{-1.5F, 5.0F});
  require_same(agree(map([](auto x) { return cond(x < 0, 1.0, 0.0); }, f)), Vector<double>{1.0, 0.0});
  require_same(agree(map([](auto x) { return min(0, x); }, f)), Vector<float>{-1.5F, 0.0F});
  require_same(agree(map([](auto x) { return max(x, 0); }, f)), Vector<float>{0.0F, 2.5F});
  require_same(agree(map([](auto x) { return max(x, -x); }, f)), Vector<float>{1.5F, 2.5F});
  require_same(agree(map([](auto x) { return x > 0 && true; }, f)), Vector<bool>{false, true});
  require_same(agree(map([](auto x) { return false || x > 0; }, f)), Vector<bool>{false, true});
  require_same(agree(map([](auto x) { return true && x > 0 && x < 2; }, f)), Vector<bool>{false, false});
  require_same(agree(map([](auto x) { return cond(x > 0, std::tuple(1, 2.0), std::tuple(3, 4.0)); }, f)),
               Vector<std::tuple<int, double>>{{3, 4.0}, {1, 2.0}});
}

TEST_CASE("literals that become expressions") {
  auto f = use(Vector<float>{1.0F});
  require_same(agree(map([](auto x) { return x * Exp<float>(2) + Exp<float>(0.5); }, f)),
               Vector<float>{2.5F});
  auto bytes = use(Vector<std::uint8_t>{3, 200});
  require_same(agree(map([](auto b) { return max(b, Exp<std::uint8_t>(7)); }, bytes)),
               Vector<std::uint8_t>{7, 200});
}

TEST_CASE("characters are numbers") {
  auto text = use(Vector<std::uint8_t>{'a', 'Z', '\n'});
  require_same(agree(map([](auto c) { return c >= 'a' && 'z' >= c; }, text)),
               Vector<bool>{true, false, false});
  require_same(agree(map([](auto c) { return c + ' '; }, text)), Vector<std::uint8_t>{'A' + 64, 'z', 42});
  require_same(agree(map([](auto c) { return cast<std::int32_t>(c) - 'a'; }, text)),
               Vector<std::int32_t>{0, -7, -87});
}

TEST_CASE("a NaN is a literal of every type of floats") {
  const auto a = agree(
      map([](auto x) { return max(x, std::numeric_limits<double>::quiet_NaN()); }, use(Vector<float>{1.0F})));
  CHECK(std::isnan(a[0]));
  const auto h =
      agree(map([](auto x) { return cast<float>(max(x, std::numeric_limits<float>::quiet_NaN())); },
                use(Vector<half>{half(1.0F)})));
  CHECK(std::isnan(h[0]));
}

}  // namespace
}  // namespace anabranch::testing
