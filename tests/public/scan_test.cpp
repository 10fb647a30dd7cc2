#include "shapes.h"

// Scans along each dimension, in all three forms, everywhere the interpreter's bits.
namespace anabranch::testing {
namespace {

template <int N>
void along_each_axis() {
  const auto items = arrays<N, std::uint32_t>(N);  // whose sums wrap around in C++, too
  for (int axis = 0; axis < N; ++axis) {
    const auto inclusive = everywhere([=](auto a) { return scanl1(plus, a, axis); }, items);
    const auto before = everywhere([=](auto a) { return prescanl(plus, 0U, a, axis); }, items);
    for (std::size_t i = 0; i < items.size(); ++i)
      each_position(items[i].shape(), [&](const Index<N>& ix) {
        CHECK(inclusive[i][ix] == before[i][ix] + items[i][ix]);
        Index<N> next = ix;
        if (++next[axis] < items[i].extent(axis)) CHECK(inclusive[i][ix] == before[i][next]);
      });
  }
}

/// Rows around the borders of groups and blocks.
std::vector<Vector<double>> rows() {
  std::vector<Vector<double>> all;
  for (const std::int64_t n : {0, 1, 2, 31, 32, 33, 40, 64, 65, 300, 4095, 4096, 4097, 9000})
    all.push_back(vector_of(
        n, [&](std::int64_t i) { return number<double>(static_cast<std::uint64_t>(n * 10'000 + i)); }));
  return all;
}

TEST_CASE("scans of vectors") { along_each_axis<1>(); }
TEST_CASE("scans of matrices along each axis") { along_each_axis<2>(); }
TEST_CASE("scans at rank 3 along each axis") { along_each_axis<3>(); }

TEST_CASE("scans of ragged rows, inclusive and exclusive, with a seed") {
  everywhere([](auto a) { return scanl1(plus, a); }, rows());
  everywhere([](auto a) { return postscanl(plus, 0.5, a); }, rows());
  everywhere([](auto a) { return prescanl(plus, 0.5, a); }, rows());
  everywhere([](auto a) { return prescanl(maximum_of, -1e9, a); }, rows());
}

TEST_CASE("all prefixes are the seed and the inclusive ones, to the bit") {
  for (int axis = 0; axis < 2; ++axis)
    everywhere([=](auto a) { return scanl(plus, 0.5, a, axis); }, arrays<2, double>(4));
  const auto items = rows();
  const auto all = everywhere([](auto a) { return scanl(plus, 0.5, a); }, items);
  const auto inclusive = everywhere([](auto a) { return postscanl(plus, 0.5, a); }, items);
  for (std::size_t i = 0; i < items.size(); ++i) {
    REQUIRE(all[i].size() == items[i].size() + 1);
    CHECK(all[i][0] == 0.5);
    for (std::int64_t k = 0; k < items[i].size(); ++k) CHECK(all[i][k + 1] == inclusive[i][k]);
  }
}

TEST_CASE("scans from the right are those of the reversed rows, to the bit") {
  // Neither commutes nor associates: each order of joining gives other bits.
  const auto join = [](auto x, auto y) { return x - y * 0.25; };
  const auto exchanged = [=](auto x, auto y) { return join(y, x); };
  const auto items = rows();
  const auto same = [&](auto from_right, auto from_left) {
    const auto found = everywhere(from_right, items);
    const auto expected = everywhere([=](auto a) { return reverse(from_left(reverse(a))); }, items);
    for (std::size_t i = 0; i < items.size(); ++i) require_same(found[i], expected[i]);
  };
  same([=](auto a) { return scanr1(join, a); }, [=](auto a) { return scanl1(exchanged, a); });
  same([=](auto a) { return postscanr(join, 0.5, a); }, [=](auto a) { return postscanl(exchanged, 0.5, a); });
  same([=](auto a) { return prescanr(join, 0.5, a); }, [=](auto a) { return prescanl(exchanged, 0.5, a); });
  same([=](auto a) { return scanr(join, 0.5, a); }, [=](auto a) { return scanl(exchanged, 0.5, a); });
}

TEST_CASE("a scan and its total: both, or only one of them") {
  everywhere([](auto a) { return std::get<1>(scanl_(plus, 0.5, a)); }, rows());
  everywhere(
      [](auto a) {
        const auto [before, total] = scanl_(plus, 0.5, a);
        return map([total = total](auto x) { return x - the(total); }, before);
      },
      rows());
  for (const auto& row : rows()) {
    const auto [before, total] = agree(scanl_(plus, 0.5, use(row)));
    const Vector<double> inclusive = agree(postscanl(plus, 0.5, use(row)));
    CHECK(total[Index<0>{}] == (row.size() == 0 ? 0.5 : inclusive[row.size() - 1]));
    if (row.size() > 0) CHECK(before[0] == 0.5);
  }
}

TEST_CASE("operators over tuples, and ones that do not commute") {
  const auto affine = [](auto f, auto g) {
    return pack(get<0>(f) * get<0>(g), get<1>(f) * get<0>(g) + get<1>(g));
  };
  everywhere(
      [=](auto a) {
        const auto maps = map([](auto x) { return pack(x / 1e4, x); }, a);
        return scanl1(affine, maps);
      },
      rows());
  everywhere(
      [](auto a) {
        const auto numbered = zip(a, generate(size(a), [](auto i) { return i; }));
        return scanl1([](auto p, auto q) { return cond(get<0>(q) > get<0>(p), q, p); }, numbered);
      },
      rows());
}

TEST_CASE("a scan inside other computations") {
  // The rows of a stream shift by their own starts: an exclusive scan of lengths, gathered.
  everywhere([](auto a) { return sum(scanl1(plus, a)); }, rows());
  everywhere([](auto a) { return scanl1(maximum_of, scanl1(plus, a)); }, rows());
  everywhere([](auto a) { return zip_with(plus, scanl1(plus, a), a); }, rows());
  everywhere(
      [](auto a) {
        return prescanl(plus, std::int64_t{0}, map([](auto x) { return cast<std::int64_t>(x > 0.0); }, a));
      },
      rows());
}

TEST_CASE("a seed and elements that depend on the item") {
  everywhere(
      [](auto a) {
        const auto n = cast<double>(size(a));
        return postscanl(plus, n, map([=](auto x) { return x / n; }, a));
      },
      rows());
}

TEST_CASE("a check that fails in a scan is an error with its item") {
  const std::vector<Vector<std::int32_t>> items{{1, 2}, {}, {3, 0, 4}, {0}};
  const auto inverse = [](auto x) { return Exp<std::int32_t>(12) / x; };
  const auto bad_elements = [=](auto a) { return scanl1(plus, map(inverse, a)); };
  fails<RunError>(consume(elements(map_seq(bad_elements, stream_in(items)))), {"divide", "item 2"});
  const auto bad_operator = [](auto a) { return scanl1([](auto x, auto y) { return x / y; }, a); };
  fails<RunError>(consume(elements(map_seq(bad_operator, stream_in(items)))), {"divide", "item 2"});
  fails<RunError>(bad_elements(use(items[2])), {"divide"});
}

}  // namespace
}  // namespace anabranch::testing
