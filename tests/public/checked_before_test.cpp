// Reads that are known to be in range because an extent is none of those that are errors: that is found out before they are
// made, be the array whose extent it is never computed. (Where it is not known, without ranges, the read itself may fail first.)
#include "agree.h"

namespace anabranch::testing {
namespace {

constexpr std::int64_t far = -1'000'000'000'000;  // what lies there is not ours

Exp<std::int64_t> number(std::int64_t value) { return the(use(Scalar<std::int64_t>(value))); }
const auto to_double = [](auto i) { return cast<double>(i); };
const auto itself = [](auto j) { return unit(j); };

/// Ten elements of ten, at positions that are not below the extent.
auto reads(const Acc<Vector<double>>& ten, const Exp<std::int64_t>& extent) {
  return generate(size(ten), [=](auto i) { return ten[min(i, extent)] * 2.0; });
}

TEST_CASE("an array that only its extent is used of") {
  const auto ten = use(numbers<double>(10));
  for (const std::int64_t n : {std::int64_t{-3}, far}) {
    INFO(n);
    const auto count = number(n);
    fails<RunError>(reads(ten, extent(generate(count, to_double), 0)), {"generate", "negative extent"});
    fails<RunError>(reads(ten, extent(replicate(unit(1.0), count), 0)), {"negative extent"});
    fails<RunError>(reads(ten, extent(histogram(count, use(Vector<std::int64_t>{0, 0})), 0)),
                    {"negative extent"});
    // What is made of it says the same.
    fails<RunError>(generate(extent(generate(count, to_double), 0) + 1, to_double), {"negative extent"});
  }
  require_same(agree(reads(ten, extent(generate(number(4), to_double), 0))),
               reference(reads(ten, number(4))));
}

TEST_CASE("an array of an item that only its extent is used of") {
  const auto ten = use(numbers<double>(10));
  for (const std::int64_t n : {std::int64_t{-3}, far}) {
    INFO(n);
    const auto items = rows(use(Vector<std::int64_t>{1, 2, n, 3}));
    const auto of = [&](auto f) { return consume(elements(map_seq(f, items))); };
    fails<RunError>(of([=](auto x) { return reads(ten, extent(generate(the(x), to_double), 0)); }),
                    {"negative extent|index -", "item 2"});
    fails<RunError>(
        of([=](auto x) { return reads(ten, extent(histogram(the(x), use(Vector<std::int64_t>{0, 0})), 0)); }),
        {"negative extent|index -", "item 2"});
  }
}

TEST_CASE("inner items that only their number is used of") {
  const auto ten = use(numbers<double>(10));
  for (const std::int64_t n : {std::int64_t{-3}, far}) {
    INFO(n);
    const auto items = rows(use(Vector<std::int64_t>{1, 2, n, 3}));
    const auto of = [&](auto f) { return consume(elements(map_seq(f, items))); };
    const auto inner = [](const auto& count) {
      return map_seq([](auto j) { return unit(the(j) * 2); }, produce(count, itself));
    };
    const std::vector<std::string> says{"the number of items is|negative extent|index -"};
    fails<RunError>(of([=](auto x) { return reads(ten, extent(consume(tabulate(inner(the(x)))), 0)); }),
                    says);
    fails<RunError>(of([=](auto x) { return reads(ten, extent(consume(elements(inner(the(x)))), 0)); }),
                    says);
    fails<RunError>(of([=](auto x) { return unit(extent(consume(tabulate(inner(the(x)))), 0) + 1); }), says);
    const auto same = number(n);
    fails<RunError>(of([=](auto x) {
                      const auto m = consume(tabulate(
                          map_seq([=](auto j) { return unit(the(j) + the(x)); }, produce(same, itself))));
                      return reads(ten, extent(m, 0));
                    }),
                    {"the number of items is|negative extent|index -"});
  }
}

TEST_CASE("an array outside of a stream does not rely on what is compared in it") {
  const auto ten = use(numbers<double>(10));
  const std::vector<Vector<double>> blocks{{1, 2, 3}, {4, 5, 6}};
  for (const std::int64_t n : {std::int64_t{-3}, far}) {
    INFO(n);
    const auto count = number(n);
    const auto sums = [=](auto x) {
      const auto own = generate(count, [=](auto i) { return cast<double>(i) + the(sum(x)); });
      const auto once =
          generate(size(ten), [=](auto i) { return ten[min(i, count)] * cast<double>(size(x)); });
      return std::tuple(sum(own), sum(once));
    };
    const auto [own, once] = unzip_seq(map_seq(sums, stream_in(regular(Index{3}), blocks)));
    fails<RunError>(std::tuple(consume(elements(own)), consume(elements(once))), {"negative extent|index -"});
    const auto of_windows = [=](auto w) { return unit(the(sum(w)) + the(sum(reads(ten, size(w))))); };
    fails<RunError>(consume(elements(map_seq(of_windows, windows(stream_in(blocks), count, 1)))),
                    {"windows|index -"});
  }
}

TEST_CASE("the order of a fold is that of the operator as it is written") {
  const auto a = use(vector_of(1000, [](std::int64_t i) {
    return std::sin(1.7 * static_cast<double>(i)) * std::pow(10.0, static_cast<double>(i % 9));
  }));
  const auto b = map([](auto x) { return x * 2.0; }, a);
  // Lifting finds out that the extents are equal, and which side of the condition it is.
  const auto join = [=](auto x, auto y) { return cond(extent(a, 0) == extent(b, 0), x + y, x - y); };
  agree(fold(join, 0.0, a));
  agree(consume(elements(map_seq(
      [](auto v) {
        const auto w = map([](auto x) { return x * 2.0; }, v);
        return fold([=](auto x, auto y) { return cond(extent(v, 0) == extent(w, 0), x + y, x - y); }, 0.0, v);
      },
      rows(use(Matrix<double>(Index{4, 250}, numbers<double>(1000).values())))))));
}

TEST_CASE("nothing is asked of inner items that are none") {
  const auto outer = rows(use(Vector<std::int64_t>{3, 0, 1, 2, 5}));
  const auto divided = [](auto x) {
    return consume(elements(map_seq(
        [=](auto j) { return generate(10 / the(x), [=](auto k) { return cast<double>(k + the(j)); }); },
        produce(the(x), itself))));
  };
  REQUIRE(agree(consume(elements(map_seq(divided, outer)))).size() == 39);
  const auto first = [](auto own) {
    return consume(elements(map_seq(
        [=](auto j) { return generate(own[0] + 2, [=](auto k) { return k + the(j); }); }, rows(own))));
  };
  const std::vector<Vector<std::int64_t>> given{{1, 2}, {}, {3}};
  agree(consume(elements(map_seq(first, stream_in(given)))));
}

TEST_CASE("an array of no elements is none of too many, whatever its other extents are") {
  const auto c = number(std::int64_t{1} << 40), none = number(0);
  const auto at = [](auto ix) { return ix[0] + ix[1] + ix[2]; };
  REQUIRE(agree(flatten(compute(generate(index_of(c, c, none), at)))).size() == 0);
  REQUIRE(agree(flatten(generate(index_of(c, c, none), at))).size() == 0);
  const auto of_item = [=](auto x) { return flatten(compute(generate(index_of(c + the(x), c, none), at))); };
  REQUIRE(agree(consume(elements(map_seq(of_item, rows(use(Vector<std::int64_t>{1, 2})))))).size() == 0);
  fails<RunError>(flatten(compute(generate(index_of(c, c, number(1)), at))), {"too many elements"});
}

TEST_CASE("an element of an array without dimensions, by its position") {
  const auto items = produce(3, itself);
  fails<RunError>(consume(elements(map_seq([](auto i) { return unit(i.linear(5)); }, items))),
                  {"index 5", "0"});
  fails<RunError>(consume(elements(map_seq([](auto i) { return unit(i.linear(the(i))); }, items))),
                  {"index 1", "0"});
  require_same(agree(consume(elements(map_seq([](auto i) { return unit(i.linear(0)); }, items)))),
               Vector<std::int64_t>{0, 1, 2});
  fails<RunError>(consume(elements(scan_seq([](auto s, auto x) { return unit(s.linear(2) + the(x)); },
                                            unit(std::int64_t{0}), items))),
                  {"index 2"});
}

}  // namespace
}  // namespace anabranch::testing
