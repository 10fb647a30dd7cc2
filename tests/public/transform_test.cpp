#include <limits>

#include "shapes.h"

// Arrays cut, joined, moved and enlarged, on every rank, against the same on the host.
namespace anabranch::testing {
namespace {

/// The array whose element at ix is f(ix).
template <int N, class F>
auto from_index(const Index<N>& shape, F f) {
  Array<N, decltype(f(shape))> out(shape);
  each_position(shape, [&](const Index<N>& ix) { out.set(ix, f(ix)); });
  return out;
}
template <int N>
Index<N> with(Index<N> ix, int d, std::int64_t value) {
  ix[d] = value;
  return ix;
}

template <class F, class A, class R>
void matches(F f, const std::vector<A>& items, R reference, Loc at = Loc::current()) {
  const auto values = everywhere(f, items, at);
  for (std::size_t i = 0; i < items.size(); ++i) require_same(values[i], reference(items[i]), at);
}

/// Extent n along that dimension, element i from position from(i).
template <int N, class F>
auto along(const Array<N, std::int32_t>& a, int axis, std::int64_t n, F from) {
  return from_index(with(a.shape(), axis, n), [&](Index<N> ix) {
    ix[axis] = from(ix[axis]);
    return a[ix];
  });
}

template <int N>
void parts_along(int axis) {
  using A = Array<N, std::int32_t>;
  const auto items = arrays<N, std::int32_t>(N);
  const auto n = [=](const A& a) { return a.extent(axis); };
  matches(
      [=](auto a) { return take(2, a, axis); }, items,
      [&](const A& a) { return along(a, axis, std::min<std::int64_t>(2, n(a)), [](auto i) { return i; }); });
  matches([=](auto a) { return drop(2, a, axis); }, items,
          [&](const A& a) {
            return along(a, axis, std::max<std::int64_t>(0, n(a) - 2), [](auto i) { return i + 2; });
          });
  matches([=](auto a) { return init(a, axis); }, items,
          [&](const A& a) {
            return along(a, axis, std::max<std::int64_t>(0, n(a) - 1), [](auto i) { return i; });
          });
  matches([=](auto a) { return tail(a, axis); }, items,
          [&](const A& a) {
            return along(a, axis, std::max<std::int64_t>(0, n(a) - 1), [](auto i) { return i + 1; });
          });
  matches([=](auto a) { return slit(1, 2, a, axis); }, items,
          [&](const A& a) {
            return along(a, axis, std::clamp<std::int64_t>(n(a) - 1, 0, 2), [](auto i) { return i + 1; });
          });
  matches([=](auto a) { return reverse(a, axis); }, items,
          [&](const A& a) { return along(a, axis, n(a), [&](auto i) { return n(a) - 1 - i; }); });
  matches([=](auto a) { return concat(a, reverse(a, axis), axis); }, items,
          [&](const A& a) {
            return along(a, axis, 2 * n(a), [&](auto i) { return i < n(a) ? i : 2 * n(a) - 1 - i; });
          });
}

TEST_CASE("parts of vectors") { parts_along<1>(0); }
TEST_CASE("parts of matrices, rows") { parts_along<2>(0); }
TEST_CASE("parts of matrices, columns") { parts_along<2>(1); }
TEST_CASE("parts of cubes") { parts_along<3>(1); }
TEST_CASE("parts of arrays of rank 4") { parts_along<4>(2); }

TEST_CASE("as many as the item says") {
  const auto rows = std::vector{vector_of(40, [](std::int64_t i) { return i == 0 ? 7 : i; }),
                                vector_of(3, [](std::int64_t) { return std::int64_t{2}; }),
                                vector_of(5, [](std::int64_t i) { return i == 0 ? 100 : -i; })};
  matches([](auto row) { return take(row[0], row); }, rows,
          [](const Vector<std::int64_t>& row) {
            return vector_of(std::min(row[0], row.size()), [&](std::int64_t i) { return row[i]; });
          });
  matches([](auto row) { return drop(row[0], row); }, rows,
          [](const Vector<std::int64_t>& row) {
            return vector_of(std::max<std::int64_t>(0, row.size() - row[0]),
                             [&](std::int64_t i) { return row[i + row[0]]; });
          });
  matches([](auto row) { return sum(slit(1, row[0], row)); }, rows,
          [](const Vector<std::int64_t>& row) {
            std::int64_t total = 0;
            for (std::int64_t i = 1; i < std::min(row.size(), row[0] + 1); ++i) total += row[i];
            return Scalar<std::int64_t>(total);
          });
}

TEST_CASE("joined arrays of unequal extents") {
  const auto items = arrays<2, std::int32_t>(5);
  const auto fixed = from_index(
      Index{2, 3}, [](const Index<2>& ix) { return static_cast<std::int32_t>(100 * ix[0] + ix[1]); });
  matches([&](auto a) { return concat(a, use(fixed), 0); }, items,
          [&](const Matrix<std::int32_t>& a) {
            const std::int64_t n = a.extent(0), columns = std::min<std::int64_t>(3, a.extent(1));
            return from_index(Index{n + 2, columns}, [&](const Index<2>& ix) {
              return ix[0] < n ? a[ix] : fixed[Index{ix[0] - n, ix[1]}];
            });
          });
  const auto words =
      std::vector{Vector<std::pair<bool, float>>{{true, 1.0F}}, Vector<std::pair<bool, float>>{}};
  everywhere([](auto a) { return concat(a, concat(a, a)); }, words);
}

TEST_CASE("negative numbers of elements") {
  const Vector<std::int32_t> v{1, 2, 3};
  const Scalar<std::int32_t> minus_one(-1);
  fails<RunError>(take(-1, use(v)), {"take", "-1", "transform_test.cpp"});
  fails<RunError>(drop(-1, use(v)), {"drop", "-1", "transform_test.cpp"});
  fails<RunError>(slit(0, the(use(minus_one)), use(v)), {"slit", "-1"});
  fails<RunError>(slit(the(use(minus_one)), 2, use(v)), {"slit", "-1"});
  const auto no_axis = [&] { return take(1, use(v), 1); };
  REQUIRE_THROWS_AS(no_axis(), ProgramError);
}

// ---- All dimensions at once -------------------------------------------------------------------------------

std::int64_t modulo(std::int64_t x, std::int64_t n) { return (x % n + n) % n; }
std::int64_t mirrored(std::int64_t i, std::int64_t n) {
  if (n == 1) return 0;
  const std::int64_t m = modulo(i, 2 * (n - 1));
  return m < n ? m : 2 * (n - 1) - m;
}

template <int N>
void shifts(const Index<N>& by) {
  using A = Array<N, std::int32_t>;
  const auto items = arrays<N, std::int32_t>(N);
  const auto read = [&](const A& a, auto position) {
    return from_index(a.shape(), [&](Index<N> ix) {
      for (int d = 0; d < N; ++d) ix[d] = position(ix[d] - by[d], a.extent(d));
      return a[ix];
    });
  };
  matches([=](auto a) { return shift(a, by, clamp); }, items,
          [&](const A& a) {
            return read(a,
                        [](std::int64_t i, std::int64_t n) { return std::clamp<std::int64_t>(i, 0, n - 1); });
          });
  matches([=](auto a) { return shift(a, by, wrap); }, items, [&](const A& a) { return read(a, modulo); });
  matches([=](auto a) { return rotate(a, by); }, items, [&](const A& a) { return read(a, modulo); });
  matches([=](auto a) { return shift(a, by, mirror); }, items, [&](const A& a) { return read(a, mirrored); });
  const auto outside = [&](const A& a, const Index<N>& from) {
    for (int d = 0; d < N; ++d)
      if (from[d] < 0 || from[d] >= a.extent(d)) return true;
    return false;
  };
  const auto moved = [&](const A& a, auto beyond) {
    return from_index(a.shape(), [&](Index<N> ix) {
      for (int d = 0; d < N; ++d) ix[d] -= by[d];
      return outside(a, ix) ? beyond(ix) : a[ix];
    });
  };
  matches([=](auto a) { return shift(a, by, constant(-5)); }, items,
          [&](const A& a) { return moved(a, [](const Index<N>&) { return -5; }); });
  matches([=](auto a) { return shift(a, by, [](auto ix) { return cast<std::int32_t>(ix[0]) * 2; }); }, items,
          [&](const A& a) {
            return moved(a, [](const Index<N>& ix) { return static_cast<std::int32_t>(2 * ix[0]); });
          });
}

TEST_CASE("vectors are shifted") {
  for (const std::int64_t by : {1, -2, 100, 0}) shifts<1>(Index{by});
}
TEST_CASE("matrices are shifted") {
  shifts<2>(Index{1, -1});
  shifts<2>(Index{0, 70});
}
TEST_CASE("arrays of rank 3 and 4 are shifted") {
  shifts<3>(Index{-1, 0, 2});
  shifts<4>(Index{0, 1, 0, -1});
}

TEST_CASE("by as much as the item says") {
  const auto rows = std::vector{vector_of(40, [](std::int64_t i) { return i - 3; }),
                                vector_of(3, [](std::int64_t) { return std::int64_t{2}; })};
  matches([](auto row) { return rotate(row, row[0]); }, rows,
          [](const Vector<std::int64_t>& row) {
            return vector_of(row.size(), [&](std::int64_t i) { return row[modulo(i - row[0], row.size())]; });
          });
}

TEST_CASE("by more than there is, and by numbers that wrap around") {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto rows = arrays<1, std::int32_t>(3);
  for (const std::int64_t by :
       {most, -most - 1, most - 3, std::int64_t{1} << 60, -(std::int64_t{1} << 61) + 5}) {
    const Scalar<std::int64_t> distance(by);
    everywhere([&](auto row) { return shift(row, the(use(distance)), clamp); }, rows);
    everywhere([&](auto row) { return shift(row, the(use(distance)), constant(7)); }, rows);
    everywhere([&](auto row) { return rotate(row, the(use(distance))); }, rows);
    everywhere([&](auto row) { return shift(row, by, mirror); }, rows);
  }
}

TEST_CASE("by the largest numbers there are") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(), least = -most - 1;
  const auto a = [] { return use(Vector<std::int32_t>{1, 2, 3, 4, 5}); };
  const Scalar<std::int64_t> largest(most);
  require_same(agree(shift(a(), least, clamp)), Vector<std::int32_t>{5, 5, 5, 5, 5});
  require_same(agree(shift(a(), least + 1, clamp)), Vector<std::int32_t>{5, 5, 5, 5, 5});
  require_same(agree(shift(a(), most, clamp)), Vector<std::int32_t>{1, 1, 1, 1, 1});
  require_same(agree(rotate(a(), least)), Vector<std::int32_t>{4, 5, 1, 2, 3});
  require_same(agree(rotate(a(), most)), Vector<std::int32_t>{4, 5, 1, 2, 3});
  require_same(agree(shift(a(), least, constant(0))), Vector<std::int32_t>{0, 0, 0, 0, 0});
  require_same(agree(stencil([=](auto n) { return n(most); }, clamp, a())),
               Vector<std::int32_t>{5, 5, 5, 5, 5});
  require_same(agree(stencil([&](auto n) { return n(the(use(largest)) - 1); }, clamp, a())),
               Vector<std::int32_t>{5, 5, 5, 5, 5});
  fails<RunError>(pad(a(), most, most, 0), {"pad", "elements"});
  fails<RunError>(pad(a(), most, -5, 0), {"pad"});
}

TEST_CASE("borders inside of borders, and at odd places") {
  const auto rows = std::vector{numbers<float>(300, 1), numbers<float>(37, 2), numbers<float>(1, 3),
                                Vector<float>{}, numbers<float>(64, 4)};
  // Falls of three kinds: a comparison that holds here and there, a minimum, a position that goes down.
  everywhere(
      [](auto row) {
        const auto n = size(row);
        return generate(shape(row), [=](auto ix) {
          const auto i = ix[0];
          const auto near = row[max(min(i + 3, n - 1), 0)];
          const auto mirrored = row[n - 1 - i];
          const auto before = cond(i - 20 >= 0 && i - 20 < n - 25, row[max(i - 20, 0)], 1.0F);
          return near * 2 + mirrored - before + cond(i < 5, 1.0F, cond(30 <= i, 2.0F, 3.0F));
        });
      },
      rows);
  // Where the index is out of range only behind the border, the first such element is named.
  const auto reads_on = [](auto row) {
    return generate(shape(row), [=](auto ix) { return cond(ix[0] < 30, 0.0F, row[ix[0] + 10]); });
  };
  fails<RunError>(reads_on(use(rows[0])), {"index 300", "0..299"});
  fails<RunError>(reads_on(use(rows[1])), {"index 40", "0..36"});
  const auto reads_back = [](auto row) {
    return generate(shape(row), [=](auto ix) { return row[min(ix[0] - 2, 100)] + row[ix[0]]; });
  };
  fails<RunError>(reads_back(use(rows[0])), {"index -2"});
}

TEST_CASE("an index that is the same for all where it is not read") {
  const auto flags = vector_of(100, [](std::int64_t i) { return i >= 50; });
  const auto values = numbers<double>(100, 3);
  for (const bool two_borders : {false, true})
    agree(generate(Index{100}, [&, f = use(flags), v = use(values)](auto ix) {
      const auto i = ix[0];
      const auto k = cond(i < 50, Exp<std::int64_t>(1'000'000), two_borders ? max(i - 1, 0) : i);
      const auto r = cond(f[i], v[k], 0.0);
      return r + cast<double>(k);
    }));
}

TEST_CASE("sections") {
  std::vector<Matrix<std::int32_t>> items{arrays<2, std::int32_t>(1)[0], arrays<2, std::int32_t>(2)[0]};
  matches([](auto a) { return section(a, Index{2, 0}, Index{-2, 3}, Index{2, 2}); }, items,
          [](const Matrix<std::int32_t>& a) {
            return from_index(Index{2, 2},
                              [&](const Index<2>& ix) { return a[Index{2 - 2 * ix[0], 3 * ix[1]}]; });
          });
  const Vector<std::int32_t> v{1, 2, 3, 4, 5};
  require_same(agree(section(use(v), 1, 2, 2)), Vector<std::int32_t>{2, 4});
  require_same(agree(section(use(v), 9, 1, 0)), Vector<std::int32_t>{});
  fails<RunError>(section(use(v), 1, 2, 3), {"section", "out of range", "transform_test.cpp"});
}

TEST_CASE("tiles") {
  std::vector<Matrix<std::int32_t>> items{arrays<2, std::int32_t>(1)[0], arrays<2, std::int32_t>(2)[1]};
  matches([](auto a) { return tile(a, Index{5, 70}); }, items,
          [](const Matrix<std::int32_t>& a) {
            return from_index(Index{5, 70}, [&](const Index<2>& ix) {
              return a[Index{ix[0] % a.extent(0), ix[1] % a.extent(1)}];
            });
          });
  const Vector<std::int32_t> none;
  require_same(agree(tile(use(none), 0)), none);
  fails<RunError>(tile(use(none), 2), {"tile", "empty array"});
}

template <int N>
void pads(const Index<N>& before, const Index<N>& after) {
  using A = Array<N, float>;
  matches([=](auto a) { return pad(a, before, after, 0.5F); }, arrays<N, float>(N),
          [&](const A& a) {
            Index<N> shape = a.shape();
            for (int d = 0; d < N; ++d) shape[d] += before[d] + after[d];
            return from_index(shape, [&](Index<N> ix) {
              for (int d = 0; d < N; ++d)
                if ((ix[d] -= before[d]) < 0 || ix[d] >= a.extent(d)) return 0.5F;
              return a[ix];
            });
          });
}
TEST_CASE("padded arrays") {
  pads<1>(Index{2}, Index{3});
  pads<2>(Index{0, 1}, Index{1, 0});
  pads<4>(Index{0, 1, 0, 1}, Index{1, 0, 1, 0});
  const Vector<float> v{1, 2, 3, 4};
  require_same(agree(pad(use(v), -1, -2, 0.0F)), Vector<float>{2});
  fails<RunError>(pad(use(v), -3, -2, 0.0F), {"pad", "-1"});
}

TEST_CASE("dimensions of extent 1") {
  const auto items = arrays<2, double>(3);
  matches([](auto a) { return expand_dims(a, 1); }, items,
          [](const Matrix<double>& a) {
            return from_index(Index{a.extent(0), 1, a.extent(1)},
                              [&](const Index<3>& ix) { return a[Index{ix[0], ix[2]}]; });
          });
  matches([](auto a) { return drop_dim(expand_dims(a, 2), 2); }, items,
          [](const Matrix<double>& a) { return a; });
  require_same(agree(expand_dims(use(Scalar<double>(2.5)), 0)), Vector<double>{2.5});
  require_same(agree(drop_dim(use(Vector<double>{2.5}), 0)), Scalar<double>(2.5));
  fails<RunError>(drop_dim(use(Vector<double>{1, 2}), 0), {"drop_dim", "transform_test.cpp"});
}

TEST_CASE("transformations of each other, and of what is computed") {
  everywhere(
      [](auto a) {
        auto middle = map([](auto x) { return x * 2; }, take(5, rotate(reverse(a), 3)));
        return concat(shift(middle, 1, mirror), pad(tail(middle), 1, 1, 9));
      },
      arrays<1, std::int32_t>(8));
}

}  // namespace
}  // namespace anabranch::testing
