#include "shapes.h"

// Stencils with every boundary, against the same on the host.
namespace anabranch::testing {
namespace {

/// Element at a position that may lie outside.
template <int N, class T, class B>
T read(const Array<N, T>& a, Index<N> ix, const B& beyond) {
  for (int d = 0; d < N; ++d)
    if (ix[d] < 0 || ix[d] >= a.extent(d)) return beyond(a, ix);
  return a[ix];
}
template <int N, class T, class F>
Array<N, T> at_each(const Array<N, T>& a, F f) {
  Array<N, T> out(a.shape());
  each_position(a.shape(), [&](const Index<N>& ix) { out.set(ix, f(ix)); });
  return out;
}

constexpr auto clamped = []<int N, class T>(const Array<N, T>& a, Index<N> ix) {
  for (int d = 0; d < N; ++d) ix[d] = std::clamp<std::int64_t>(ix[d], 0, a.extent(d) - 1);
  return a[ix];
};
constexpr auto wrapped = []<int N, class T>(const Array<N, T>& a, Index<N> ix) {
  for (int d = 0; d < N; ++d) ix[d] = (ix[d] % a.extent(d) + a.extent(d)) % a.extent(d);
  return a[ix];
};
constexpr auto reflected = []<int N, class T>(const Array<N, T>& a, Index<N> ix) {
  for (int d = 0; d < N; ++d) {
    const std::int64_t n = a.extent(d);
    while (ix[d] < 0 || ix[d] >= n) ix[d] = n == 1 ? 0 : ix[d] < 0 ? -ix[d] : 2 * (n - 1) - ix[d];
  }
  return a[ix];
};
constexpr auto seven = []<int N, class T>(const Array<N, T>&, const Index<N>&) { return T{7}; };
constexpr auto sum_of_index = []<int N, class T>(const Array<N, T>&, const Index<N>& ix) {
  std::int64_t total = 0;
  for (int d = 0; d < N; ++d) total += ix[d];
  return static_cast<T>(total);
};
constexpr auto function_of_index = [](auto ix) { return cast<std::int32_t>(ix[0] + ix[1]); };

template <class B, class R>
void five_points(const B& boundary, R beyond) {
  const auto items = arrays<2, std::int32_t>(2);
  const auto values = everywhere(
      [=](auto a) {
        return stencil([](auto n) { return n(0, 0) * 5 - n(-1, 0) - n(1, 0) - n(0, -1) * 2 - n(0, 1); },
                       boundary, a);
      },
      items);
  for (std::size_t i = 0; i < items.size(); ++i)
    require_same(
        values[i], at_each(items[i], [&](const Index<2>& ix) {
          const auto n = [&](std::int64_t dy, std::int64_t dx) {
            return static_cast<std::uint32_t>(read(items[i], Index{ix[0] + dy, ix[1] + dx}, beyond));
          };
          return static_cast<std::int32_t>(n(0, 0) * 5 - n(-1, 0) - n(1, 0) - n(0, -1) * 2 - n(0, 1));
        }));
}

TEST_CASE("five points, clamp") { five_points(clamp, clamped); }
TEST_CASE("five points, wrap") { five_points(wrap, wrapped); }
TEST_CASE("five points, mirror") { five_points(mirror, reflected); }
TEST_CASE("five points, constant") { five_points(constant(7), seven); }
TEST_CASE("five points, a function of the index") { five_points(function_of_index, sum_of_index); }

template <class B, class R>
void far_points(const B& boundary, R beyond) {
  const auto items = arrays<1, float>(4);
  const auto values = everywhere(
      [=](auto a) { return stencil([](auto n) { return n(-9) + n(4) + n(200); }, boundary, a); }, items);
  for (std::size_t i = 0; i < items.size(); ++i)
    require_same(values[i], at_each(items[i], [&](const Index<1>& ix) {
                   const auto n = [&](std::int64_t d) { return read(items[i], Index{ix[0] + d}, beyond); };
                   return n(-9) + n(4) + n(200);
                 }));
}
TEST_CASE("far points, clamp") { far_points(clamp, clamped); }
TEST_CASE("far points, wrap") { far_points(wrap, wrapped); }
TEST_CASE("far points, mirror") { far_points(mirror, reflected); }
TEST_CASE("far points, constant") { far_points(constant(7.0F), seven); }

TEST_CASE("offsets that are computed, sizes known at run time") {
  // The sum over a window whose radius is the item's first element.
  const auto rows = std::vector{vector_of(40, [](std::int64_t i) { return i == 0 ? 3 : i * i; }),
                                vector_of(2, [](std::int64_t) { return std::int64_t{1}; })};
  const auto values = everywhere(
      [](auto row) {
        return stencil(
            [=](auto n) {
              const auto radius = row[0];
              const auto first = pack(-radius, Exp<std::int64_t>(0));
              return get<1>(while_loop([=](auto state) { return get<0>(state) <= radius; },
                                       [=](auto state) {
                                         auto [d, total] = state;
                                         return pack(d + 1, total + n(d));
                                       },
                                       first));
            },
            clamp, row);
      },
      rows);
  for (std::size_t i = 0; i < rows.size(); ++i)
    require_same(values[i], at_each(rows[i], [&](const Index<1>& ix) {
                   std::int64_t total = 0;
                   for (std::int64_t d = -rows[i][0]; d <= rows[i][0]; ++d)
                     total += read(rows[i], Index{ix[0] + d}, clamped);
                   return total;
                 }));
}

TEST_CASE("two arrays, and the index") {
  const auto items = arrays<2, std::int32_t>(6);
  const auto values = everywhere(
      [](auto a) {
        return stencil2([](auto n, auto m) { return n(1, 0) - m(0, 1) + cast<std::int32_t>(n.index()[0]); },
                        constant(0), a, wrap, take(50, a));
      },
      items);
  REQUIRE(values[1].extent(1) == 50);
  REQUIRE(values[0][Index{0, 0}] == items[0][Index{1, 0}] - items[0][Index{0, 1}]);
  everywhere([](auto a) { return stencil([](auto n) { return n(0, 0, -1) + n(1, 0, 0); }, mirror, a); },
             arrays<3, double>(2));
  everywhere([](auto a) { return stencil([](auto n) { return n(0, 1, 0, -1); }, constant(1.0), a); },
             arrays<4, double>(2));
}

TEST_CASE("every second one, of what is computed, then folded") {
  const auto items = arrays<2, double>(9);
  everywhere(
      [](auto a) {
        auto smooth = stencil([](auto n) { return 0.5 * n(0, 0) + 0.25 * (n(0, -1) + n(0, 1)); }, clamp,
                              map([](auto x) { return x * x; }, a));
        auto rows = (extent(a, 0) + 1) / 2;
        return sum(section(smooth, Index{0, 0}, Index{2, 1}, index_of(rows, extent(a, 1))));
      },
      items);
}

}  // namespace
}  // namespace anabranch::testing
