#include "shapes.h"

// use, unit, generate, fill, map and zip_with at ranks 0 to 4.
namespace anabranch::testing {
namespace {

template <int N>
void at_rank() {
  const auto items = arrays<N, std::int32_t>();
  const auto doubled = everywhere([](auto a) { return map([](auto x) { return 2 * x; }, a); }, items);
  for (std::size_t i = 0; i < items.size(); ++i)
    require_same(doubled[i], array_of(items[i].shape(), [&](std::int64_t k) {
                   return static_cast<std::int32_t>(2 * static_cast<std::uint32_t>(items[i][k]));
                 }));

  // generate over the item's own shape, from the position and from the item.
  const auto places = everywhere(
      [](auto a) {
        return generate(shape(a), [=](auto ix) {
          Exp<std::int64_t> sum = 0;
          for (int d = 0; d < N; ++d) sum = sum * 10 + ix[d];
          return pack(sum, a[ix], extent(a, 0));
        });
      },
      items);
  for (std::size_t i = 0; i < places.size(); ++i)
    each_position(items[i].shape(), [&](const Index<N>& ix) {
      std::int64_t sum = 0;
      for (int d = 0; d < N; ++d) sum = sum * 10 + ix[d];
      REQUIRE(std::get<0>(places[i][ix]) == sum);
      REQUIRE(std::get<1>(places[i][ix]) == items[i][ix]);
    });
}

TEST_CASE("map and generate at rank 1") { at_rank<1>(); }
TEST_CASE("map and generate at rank 2") { at_rank<2>(); }
TEST_CASE("map and generate at rank 3") { at_rank<3>(); }
TEST_CASE("map and generate at rank 4") { at_rank<4>(); }

TEST_CASE("scalar arrays") {
  const std::vector items{Scalar<double>(2.5), Scalar<double>(-1.0), Scalar<double>(0.0)};
  const auto values = everywhere([](auto a) { return map([](auto x) { return x * x; }, a); }, items);
  require_same(values[0], Scalar<double>(6.25));
  everywhere([](auto a) { return unit(the(a) + 1.0); }, items);
  everywhere([](auto a) { return fill(Exp(Index{3}), the(a)); }, items);
  everywhere([](auto a) { return generate(4, [=](auto i) { return the(a) * cast<double>(i); }); }, items);
  require_same(agree(unit(Exp(7))), Scalar<std::int32_t>(7));
  require_same(agree(unit(pack(Exp(7), Exp(true)))), Scalar<std::tuple<std::int32_t, bool>>({7, true}));
}

TEST_CASE("generate takes a shape, an expression, or a length") {
  require_same(agree(generate(3, [](auto i) { return i * i; })), Vector<std::int64_t>{0, 1, 4});
  require_same(agree(generate(0, [](auto i) { return i; })), Vector<std::int64_t>{});
  require_same(agree(generate(Index{2, 2}, [](auto ix) { return ix[0] * 10 + ix[1]; })),
               Matrix<std::int64_t>(Index{2, 2}, {0, 1, 10, 11}));
  const Vector<double> v{1.0, 2.0, 3.0};
  require_same(agree(generate(size(use(v)) + 1, [](auto i) { return i; })), Vector<std::int64_t>{0, 1, 2, 3});
  require_same(agree(fill(Exp(Index{2, 1}), Exp(0.5F))), Matrix<float>(Index{2, 1}, {0.5F, 0.5F}));
  require_same(agree(fill(Exp(Index{}), Exp(true))), Scalar<bool>(true));
}

TEST_CASE("zip_with takes the intersection of the shapes") {
  const Matrix<std::int32_t> a(Index{2, 3}, {1, 2, 3, 4, 5, 6});
  const Matrix<std::int32_t> b(Index{3, 2}, {10, 20, 30, 40, 50, 60});
  require_same(agree(zip_with(plus, use(a), use(b))), Matrix<std::int32_t>(Index{2, 2}, {11, 22, 34, 45}));
  require_same(agree(zip_with([](auto x, auto y, auto z) { return x * y - z; }, use(a), use(b), use(a))),
               Matrix<std::int32_t>(Index{2, 2}, {9, 38, 116, 195}));
  const Vector<double> none{}, some{1.0, 2.0};
  require_same(agree(zip_with(times, use(none), use(some))), none);

  // Items of different lengths against a captured array: cut where the shorter ends.
  const auto captured = numbers<double>(40, 9);
  const std::vector rows{numbers<double>(39, 1), numbers<double>(40, 2), numbers<double>(41, 3),
                         Vector<double>{}, numbers<double>(1, 4)};
  const auto values = everywhere([&](auto row) { return zip_with(minus, row, use(captured)); }, rows);
  REQUIRE(values[2].size() == 40);
  const auto four = everywhere(
      [&](auto row) {
        auto c = use(captured);
        return zip_with([](auto w, auto x, auto y, auto z) { return w * x - y * z; }, row, c, row, row);
      },
      rows);
  REQUIRE(four[4].size() == 1);
}

TEST_CASE("a shape is known without its elements") {
  everywhere(
      [](auto a) {
        auto bigger = zip_with(plus, a, a);
        return generate(3, [=](auto i) {
          return cond(i == 0, extent(bigger, 0), cond(i == 1, extent(a, 1), size(bigger)));
        });
      },
      arrays<2, std::int32_t>());
}

}  // namespace
}  // namespace anabranch::testing
