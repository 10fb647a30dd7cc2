#include "agree.h"

// Programs that mention terms and arrays again and again give what they say, wherever these are evaluated
// (tests/plan/sharing_test.cpp has where that is).
namespace anabranch::testing {
namespace {

using Ints = Vector<std::int64_t>;
using I = Exp<std::int64_t>;

TEST_CASE("the term of Figure 2 of the 2013 paper, of numbers and of arrays") {
  const auto figure = [](const auto& inc, const auto& times, const auto& minus, const auto& two) {
    const auto three = inc(two);
    const auto nine = times(three, three);
    return minus(inc(nine), nine);
  };
  const auto inc = [](auto x) { return x + 1; };
  const Ints twos{2, 2, -5};
  require_same(agree(map([=](I x) { return figure(inc, times, minus, x); }, use(twos))), Ints{1, 1, 1});
  const auto each = [](auto f) { return [=](auto... arrays) { return zip_with(f, arrays...); }; };
  const auto inc_each = [=](auto a) { return map(inc, a); };
  require_same(agree(figure(inc_each, each(times), each(minus), use(twos))), Ints{1, 1, 1});
}

TEST_CASE("forty doublings of a term, of an array, of a stream") {
  const Ints start{1, 3, -2};
  const std::int64_t factor = std::int64_t{1} << 40;
  const Ints expected{factor, 3 * factor, -2 * factor};
  const auto forty = [](auto x, auto step) {
    for (int k = 0; k < 40; ++k) x = step(x);
    return x;
  };
  const auto itself = [](auto a) { return zip_with(plus, a, a); };
  require_same(agree(map([=](I x) { return forty(x, [](I y) { return y + y; }); }, use(start))), expected);
  require_same(agree(forty(use(start), itself)), expected);
  check_items(
      forty(stream_in(std::vector{start, Ints{}, Ints{5}}),
            [=](auto s) { return zip_with_seq([](auto a, auto b) { return zip_with(plus, a, b); }, s, s); }),
      {expected, Ints{}, Ints{5 * factor}});
  // Twice reversed it is as it was.
  const auto and_reversed = [](auto a) { return zip_with(plus, a, reverse(a)); };
  const std::int64_t half = factor / 2;
  require_same(agree(forty(use(start), and_reversed)), Ints{-half, 3 * factor, -half});
}

TEST_CASE("positions that are computed from shared terms") {
  const auto table = use(vector_of(256, [](std::int64_t i) { return i * i; }));
  const auto hashed = generate(Index{4, 100}, [=](auto ix) {
    Exp<std::int64_t> h = ix[0] * 1000 + ix[1];
    for (int k = 0; k < 40; ++k) h = h ^ (h >> 7) ^ (h << 3);
    return table[h & 255];
  });
  agree(sum(hashed));
  const auto doubled = generate(Index{4, 100}, [=](auto ix) {
    Exp<std::int64_t> p = ix[0] + ix[1];
    for (int k = 0; k < 70; ++k) p = p + p;  // 2^70 is 0
    return table[p + ix[1]];
  });
  agree(sum(doubled));
}

TEST_CASE("arrays that read one another, whichever is mentioned first") {
  const Ints v{1, 2, 3, 4};
  const auto a = map([](I x) { return x * 10; }, use(v));
  const auto b = map([=](I x) { return a[3] + x; }, use(v));
  require_same(agree(zip_with(minus, b, a)), Ints{31, 22, 13, 4});
  require_same(agree(zip_with(minus, a, b)), Ints{-31, -22, -13, -4});
  const auto both = map([=](I x) { return a[1] + b[2] + x; }, use(v));
  require_same(agree(both), Ints{64, 65, 66, 67});
  require_same(agree(map([](I x) { return -x; }, map([](I x) { return x + 1; }, both))),
               Ints{-65, -66, -67, -68});
  const auto [p, q, r] = agree(std::tuple(b, a, b));
  require_same(p, Ints{41, 42, 43, 44});
  require_same(q, Ints{10, 20, 30, 40});
  require_same(r, p);
}

TEST_CASE("terms that branches and loops share") {
  const Ints v{-3, 0, 1, 4, 20};
  const auto f = [](auto x) {
    auto y = x;
    for (int k = 0; k < 5; ++k) y = y * y + k;
    return y;
  };
  const auto program = [=](I x) {
    const I t = f(x);
    const I on_either = cond(x < 0, t + 1, cond(x > 3, t * 2, x));
    const I again = cond(x > 0, t - 1, x);
    const I rounds = iterate(
        3,
        [=](I s) {
          const I own = f(s);
          return iterate(2, [=](I u) { return own * u + own + t; }, s) + own;
        },
        x);
    return on_either * 3 + again + rounds;
  };
  const auto g = [](std::uint64_t x) {
    for (std::uint64_t k = 0; k < 5; ++k) x = x * x + k;
    return x;
  };
  Ints expected(Index{v.size()});
  for (std::int64_t i = 0; i < v.size(); ++i) {
    const std::int64_t x = v[i];
    const auto t = g(static_cast<std::uint64_t>(x)), n = static_cast<std::uint64_t>(x);
    const auto on_either = x < 0 ? t + 1 : x > 3 ? t * 2 : n;
    const auto again = x > 0 ? t - 1 : n;
    auto s = n;
    for (int outer = 0; outer < 3; ++outer) {
      const auto own = g(s);
      auto u = s;
      for (int inner = 0; inner < 2; ++inner) u = own * u + own + t;
      s = u + own;
    }
    expected.set(i, static_cast<std::int64_t>(on_either * 3 + again + s));
  }
  require_same(agree(map(program, use(v))), expected);
  // A term that fails where no branch is taken that needs it.
  const auto quotients = [](I x) {
    const I t = 100 / x;
    return cond(x == 0, x, t * t) + cond(x == 0, x, t + 1);
  };
  require_same(agree(map(quotients, use(Ints{0, 5, 0, 50}))), Ints{0, 421, 0, 7});
}

TEST_CASE("components of tuples that are used each in its own way") {
  const auto f = [](Ints a) {
    const auto parts = map([](I x) { return pack(x * x, x + 1, pack(x - 1, x * 3)); }, use(std::move(a)));
    const auto [square, next, rest] = unzip(parts);
    const auto [less, three] = unzip(rest);
    return std::tuple(zip_with(plus, scanl1(plus, square), reverse(next)), zip_with(minus, square, less),
                      sum(three), map([](auto e) { return get<1>(e) * get<0>(get<2>(e)); }, parts));
  };
  const auto [a, b, c, d] = agree(f({1, 2, 3}));
  require_same(a, Ints{1 + 4, 5 + 3, 14 + 2});
  require_same(b, Ints{1 - 0, 4 - 1, 9 - 2});
  CHECK(c[0] == 18);
  require_same(d, Ints{2 * 0, 3 * 1, 4 * 2});
  agree(f({}));
  // The shape is the intersection also where only the longer one is taken.
  const auto [first, second] =
      unzip(zip(use(Ints{1, 2, 3, 4}), map([](I x) { return x * x; }, use(Ints{5, 6}))));
  const auto [longer, shorter] = agree(std::tuple(scanl1(plus, first), zip_with(times, first, second)));
  require_same(longer, Ints{1, 3});
  require_same(shorter, Ints{25, 72});
  everywhere(
      [](auto v) {
        const auto pairs = generate(size(v), [=](I i) { return pack(v[i] + i, v[size(v) - 1 - i]); });
        const auto [x, y] = unzip(pairs);
        return zip_with(minus, scanl1(plus, x), gather(map([=](I e) { return abs(e) % size(v); }, x), y));
      },
      std::vector<Ints>{{3, -1, 4}, {}, {7}, {2, 7, 1}});
}

}  // namespace
}  // namespace anabranch::testing
