#include "shapes.h"

// What is made of the results of folds, scans and recurrences where these are stored: everywhere the interpreter's bits.
namespace anabranch::testing {
namespace {

const auto curved = [](auto x) { return sqrt(abs(x)) + 1.0 / (1.0 + x * x); };

template <class F>
auto matrix_of(std::int64_t height, std::int64_t width, F f) {
  return array_of(Index<2>{height, width}, [=](std::int64_t i) { return f(i / width, i % width); });
}

/// Rows around the borders of vectors, groups and blocks, and short ones in between.
template <class T>
std::vector<Vector<T>> rows() {
  std::vector<Vector<T>> all;
  for (const std::int64_t n : {0,  1, 2,  5,  3,   8,   16,  17, 0,   0,    4,    7,    31,   32,
                               33, 2, 40, 64, 127, 128, 129, 1,  300, 4095, 4096, 4097, 9000, 3})
    all.push_back(
        vector_of(n, [&](std::int64_t i) { return number<T>(static_cast<std::uint64_t>(n * 10'000 + i)); }));
  return all;
}

TEST_CASE("epilogues of reductions") {
  everywhere([](auto a) { return map(curved, sum(a)); }, rows<double>());
  everywhere([](auto a) { return mean(a); }, rows<double>());
  everywhere([](auto a) { return mean(a); }, rows<float>());
  everywhere([](auto a) { return map([](auto s) { return cast<double>(s) / 3.0; }, sum(a)); },
             rows<std::int32_t>());
  everywhere([](auto a) { return map([](auto s) { return s > 0.0; }, sum(a)); }, rows<double>());
  // Another order, a seed that depends on the item, no seed.
  everywhere(
      [](auto a) {
        const auto n = cast<double>(size(a));
        return map([=](auto x) { return x / (n + 1.0); },
                   fold([](auto x, auto y) { return x * 0.5 + y; }, n, a));
      },
      rows<double>());
  const std::vector<Vector<double>> filled{
      {1, 2}, {3}, vector_of(5000, [](std::int64_t i) { return 1.0 / double(i + 1); })};
  everywhere([](auto a) { return map(curved, fold1(minimum_of, a)); }, filled);
}

TEST_CASE("epilogues of several reductions of a row, and of tuples") {
  everywhere(
      [](auto a) {
        const auto squares = map([](auto x) { return x * x; }, a);
        const auto norm = map([](auto q) { return sqrt(q); }, sum(squares));
        return zip_with([](auto m, auto n, auto most) { return pack(m + n, most > m, n); }, mean(a), norm,
                        fold(maximum_of, -1e30, a));
      },
      rows<double>());
  everywhere(
      [](auto a) {
        const auto both =
            fold([](auto x, auto y) { return pack(get<0>(x) + get<0>(y), get<1>(x) * get<1>(y)); },
                 pack(0.0, 1.0), map([](auto x) { return pack(x, 1.0 + x * 1e-6); }, a));
        return map([](auto p) { return get<0>(p) * get<1>(p); }, both);
      },
      rows<double>());
}

TEST_CASE("epilogues of reductions along each dimension") {
  for (const int axis : {0, 1}) {
    everywhere([=](auto a) { return map(curved, sum(a, axis)); }, arrays<2, double>(4));
    everywhere(
        [=](auto a) {
          return map([](auto x) { return cast<float>(x) > 0.5f; }, fold(maximum_of, -1.0f, a, axis));
        },
        arrays<2, float>(3));
  }
  for (const auto& [height, width] : {std::pair{70, 3}, {5, 200}, {130, 66}, {3, 5000}})
    for (const int axis : {0, 1}) {
      const auto a = use(matrix_of(
          height, width, [](std::int64_t i, std::int64_t j) { return double((i * 7 + j * 3) % 11) - 4.5; }));
      const auto sums = agree(sum(a, axis)), made = agree(map(curved, sum(a, axis)));
      const auto expected = agree(map(curved, use(sums)));
      require_same(made, expected);
    }
}

TEST_CASE("an epilogue of a product of matrices") {
  const auto a =
      use(matrix_of(67, 40, [](std::int64_t i, std::int64_t j) { return float((i * 5 + j) % 9) - 4; }));
  const auto b =
      use(matrix_of(40, 83, [](std::int64_t i, std::int64_t j) { return float((i + j * 2) % 7) - 3; }));
  const auto bias = use(matrix_of(67, 83, [](std::int64_t i, std::int64_t j) { return float(i - j); }));
  const auto product = agree(matmul(a, b));
  const auto positive = [](auto x, auto y) { return max(x + y, Exp<float>(0)); };
  require_same(agree(zip_with(positive, matmul(a, b), bias)), agree(zip_with(positive, use(product), bias)));
}

TEST_CASE("epilogues of scans") {
  everywhere([](auto a) { return map(curved, scanl1(plus, a)); }, rows<double>());
  everywhere([](auto a) { return map(curved, scanr1(plus, a)); }, rows<double>());
  everywhere([](auto a) { return map(curved, prescanl(plus, 0.25, a)); }, rows<double>());
  everywhere([](auto a) { return map(curved, prescanr(plus, 0.25, a)); }, rows<double>());
  everywhere([](auto a) { return map([](auto x) { return cast<double>(x) * 0.5; }, scanl1(plus, a)); },
             rows<float>());
  everywhere([](auto a) { return map([](auto x) { return x > 0.0; }, postscanl(plus, 1.0, a)); },
             rows<double>());
  // An operator that is not one instruction, and elements that cost much.
  everywhere(
      [](auto a) {
        return map(curved, scanl1([](auto x, auto y) { return log(exp(x * 1e-3) + exp(y * 1e-3)); },
                                  map([](auto x) { return sin(x) * cos(x); }, a)));
      },
      rows<double>());
}

TEST_CASE("epilogues of scans that read the elements again") {
  everywhere([](auto a) { return zip_with(minus, scanl1(plus, a), a); }, rows<double>());
  everywhere([](auto a) { return zip_with(minus, scanr1(plus, a), a); }, rows<double>());
  everywhere([](auto a) { return zip_with(plus, prescanl(plus, 0.5, a), a); }, rows<float>());
  everywhere([](auto a) { return zip_with(plus, prescanr(maximum_of, -1e9, a), a); }, rows<double>());
  everywhere([](auto a) { return map([](auto p) { return get<0>(p); }, zip(scanl1(plus, a), a)); },
             rows<double>());
}

TEST_CASE("epilogues of scans along each dimension") {
  for (const int axis : {0, 1}) {
    everywhere([=](auto a) { return map(curved, scanl1(plus, a, axis)); }, arrays<2, double>(4));
    everywhere([=](auto a) { return zip_with(minus, prescanr(plus, 0.5, a, axis), a); },
               arrays<2, double>(5));
  }
  const auto a = use(
      matrix_of(130, 70, [](std::int64_t i, std::int64_t j) { return double((i * 7 + j * 3) % 11) - 4.5; }));
  for (const int axis : {0, 1})
    require_same(agree(zip_with(minus, scanr1(plus, a, axis), a)),
                 agree(zip_with(minus, use(agree(scanr1(plus, a, axis))), a)));
}

TEST_CASE("epilogues of recurrences") {
  const auto damped = [](auto state, auto x) { return 0.5 * state + x; };
  everywhere([=](auto a) { return map(curved, scan_state(damped, 0.0, a)); }, rows<double>());
  everywhere([=](auto a) { return zip_with(minus, scan_state(damped, 1.0, a), a); }, rows<double>());
  const auto pairs = [](auto state, auto x) { return pack(get<1>(state), get<0>(state) * 0.25 + x); };
  everywhere(
      [=](auto a) { return map([](auto s) { return get<1>(s); }, scan_state(pairs, pack(0.0, 0.0), a)); },
      rows<double>());
}

TEST_CASE("epilogues that only others of their kernel read") {
  const auto newton = [](auto steps) {
    return [=](auto a) {
      auto x = sum(a);
      for (int k = 0; k < steps; ++k)
        x = zip_with(minus, x, map([](auto e) { return (e * e - 2.0) / (2.0 * e * e + 1.0); }, x));
      return x;
    };
  };
  everywhere(newton(5), rows<double>());
  agree(newton(400)(use(numbers<double>(100))));
  // One is read elsewhere, too.
  const std::vector<Vector<double>> items = rows<double>();
  const auto [early, late] =
      unzip_seq(map_seq([=](auto a) { return std::tuple(newton(3)(a), newton(5)(a)); }, stream_in(items)));
  agree(std::tuple(consume(elements(early)), consume(elements(late))));
}

TEST_CASE("results that others read are stored as well") {
  const std::vector<Vector<double>> items = rows<double>();
  const auto [sums, roots] = unzip_seq(map_seq(
      [](auto a) {
        const auto total = sum(a);
        return std::tuple(total, map([](auto x) { return sqrt(abs(x)); }, total));
      },
      stream_in(items)));
  agree(std::tuple(consume(elements(sums)), consume(elements(roots))));
  const auto [prefixes, made] = unzip_seq(map_seq(
      [](auto a) {
        const auto s = scanl1(plus, a);
        return std::tuple(s, zip_with(minus, s, a));
      },
      stream_in(items)));
  agree(std::tuple(consume(elements(prefixes)), consume(elements(made))));
  // With the totals of the same scan.
  const auto [before, all] = unzip_seq(map_seq(
      [](auto a) {
        const auto [p, total] = scanl_(plus, 0.5, a);
        return std::tuple(map(curved, p), total);
      },
      stream_in(items)));
  agree(std::tuple(consume(elements(before)), consume(elements(all))));
}

TEST_CASE("a result, a part of it, and what is made of the part") {
  const auto a = use(numbers<double>(300));
  const auto add = [](auto x, auto y) { return pack(get<0>(x) + get<0>(y), get<1>(x) + get<1>(y)); };
  const auto damped = [](auto s, auto x) { return pack(get<1>(s), get<0>(s) * 0.5 + x); };
  const auto check = [](auto s) {
    const auto [x, y] = unzip(s);
    agree(std::tuple(s, x, map(curved, x)));
    agree(std::tuple(reverse(s), x, map(curved, x)));
    agree(std::tuple(x, map(curved, x), reverse(y)));
    const auto swapped = map([](auto p) { return pack(get<1>(p), get<0>(p)); }, s);
    agree(std::tuple(s, swapped, map([](auto p) { return get<0>(p) * 2.0; }, swapped)));
  };
  check(scanl1(add, zip(a, a)));
  check(scan_state(damped, pack(0.0, 0.0), a));
  agree(awhile([](auto x) { return the(sum(map([](auto e) { return abs(e); }, x))) > 1e-3; },
               [=](auto x) {
                 const auto s = scan_state(damped, pack(0.0, 0.0), x);
                 return map([](auto e) { return e * 1e-4; }, std::get<0>(unzip(s)));
               },
               a));
}

TEST_CASE("a map of results that needs how much a stream gives, which needs the results") {
  const auto a = use(numbers<double>(30));
  const auto items = rows<double>();
  const auto check = [&](const auto& of) {
    const auto products = consume(elements(map_seq(
        [=](auto row) { return map([=](auto x) { return x * of[3] + of[5]; }, row); }, stream_in(items))));
    const auto scaled = map([=](auto s) { return s * cast<double>(size(products)); }, of);
    agree(std::tuple(of, products, scaled));
    agree(std::tuple(products, scaled));
  };
  check(scanl1(plus, a));
  check(scan_state([](auto s, auto x) { return s * 0.5 + x; }, 0.0, a));
  check(sum(reshape(index_of(15, 2), a)));
}

}  // namespace
}  // namespace anabranch::testing
