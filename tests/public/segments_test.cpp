// Segments of a computed vector are computed where they are read; those that are not in the vector are refused before
// anything is read.
#include <functional>

#include "agree.h"

namespace anabranch::testing {
namespace {

using Ints = Vector<std::int64_t>;

/// Of 0 to 40 elements, or all of 7.
Ints lengths_of(bool equal, std::int64_t count = 3000) {
  return vector_of(count, [=](std::int64_t i) { return equal ? 7 : i * i % 41; });
}
std::int64_t total(const Ints& lengths) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < lengths.size(); ++i) sum += lengths[i];
  return sum;
}
Vector<double> numbers(std::int64_t n) {
  return vector_of(n, [](std::int64_t i) { return 1.0 / (1.0 + static_cast<double>(i % 977)); });
}

/// The sums of the segments of some elements, one after the other.
template <class F>
void check_sums(const Vector<double>& sums, const Ints& lengths, F element) {
  std::int64_t at = 0;
  for (std::int64_t s = 0; s < lengths.size(); ++s) {
    Vector<double> row = vector_of(lengths[s], [&](std::int64_t i) { return element(at + i); });
    at += lengths[s];
    REQUIRE(sums[s] == run(sum(use(row)), {.backend = Backend::interpreter})[Index{}]);
  }
}

/// What the library's routines read is stored, and nothing else is here.
void require_nothing_stored(const std::string& explained) {
  REQUIRE(explained.find("rearranged") == std::string::npos);
  REQUIRE(explained.find("fused into") != std::string::npos);
}

TEST_CASE("a product of vectors by segments stores no product", "[once]") {
  for (const bool equal : {false, true}) {
    const Ints lengths = lengths_of(equal);
    const std::int64_t n = total(lengths);
    const Vector<double> values = numbers(n);
    const auto columns = vector_of(n, [&](std::int64_t i) { return static_cast<std::int32_t>(i * 7 % n); });
    const auto program = compile<Ints, Vector<std::int32_t>, Vector<double>>([](auto l, auto c, auto v) {
      return fold_seg(plus, 0.0, zip_with(times, v, gather(c, v)), Segments(l));
    });
    require_nothing_stored(program.explain());
    check_sums(agree_on(program, lengths, columns, values), lengths,
               [&](std::int64_t i) { return values[i] * values[columns[i]]; });
    // The longest of the operands is as long as the segments, the other one longer.
    const auto longer = vector_of(n + 5, [](std::int64_t i) { return static_cast<std::int32_t>(i % 3); });
    check_sums(agree_on(program, lengths, longer, values), lengths,
               [&](std::int64_t i) { return values[i] * values[longer[i]]; });
  }
}

TEST_CASE("a part of a chunk begins where the chunk's items do") {
  // Lengths that are the source's own, and one of the segments' operands is an item.
  const Ints lengths = lengths_of(false);
  const auto made = [](auto l) {
    return map([](auto i) { return cast<double>(i) + 0.5; }, iota(the(sum(l))));
  };
  const auto sums = agree(fold_seg(plus, 0.0, made(use(lengths)), Segments(use(lengths))));
  check_sums(sums, lengths, [](std::int64_t i) { return static_cast<double>(i) + 0.5; });
  const auto scans = agree(scanl1_seg(plus, made(use(lengths)), Segments(use(lengths))));
  std::int64_t at = 0;
  for (std::int64_t s = 0; s < lengths.size(); at += lengths[s++])
    if (lengths[s] > 0) REQUIRE(scans[at] == static_cast<double>(at) + 0.5);
}

TEST_CASE("every producer of the vector with every reader of the segments, short, long, equal and none") {
  const auto law = GENERATE(0, 1, 2, 3);
  const Ints lengths = vector_of(400, [=](std::int64_t i) {
    return law == 0 ? i * i % 5 : law == 1 ? (i % 97 == 3 ? 900 : i % 3) : law == 2 ? 3 : std::int64_t{0};
  });
  const std::int64_t n = total(lengths);
  const auto values = use(numbers(n)), more = use(numbers(n + 9));
  const auto at = use(vector_of(n, [=](std::int64_t i) { return (i * 31 + 7) % n; }));
  const Segments segments(use(lengths));
  const auto each = [&](auto readers) {
    readers(values);
    readers(map([](auto x) { return sqrt(x) + 1.0; }, values));
    readers(generate(n, [](auto i) { return cast<double>(i % 10) * 0.25; }));
    readers(zip_with(times, gather(at, more), map([](auto x) { return x + x; }, more)));
    readers(reverse(values));
    readers(compute(map([](auto x) { return exp(x); }, values)));
  };
  each([&](auto v) { agree(fold_seg([](auto x, auto y) { return y - x; }, 0.5, v, segments)); });
  each([&](auto v) { agree(std::tuple(fold_seg(plus, 0.0, v, segments), scanl1_seg(plus, v, segments))); });
  each([&](auto v) { agree(sort_seg(v, segments)); });
  each([&](auto v) {
    const auto f = [](auto s) { return zip_with(times, map([](auto x) { return x * x; }, s), reverse(s)); };
    agree(consume(elements(map_seq(f, from_segments(segments, v)))));
  });
}

TEST_CASE("what is read besides its segments is computed once") {
  const Ints lengths = lengths_of(false);
  const auto squares = map([](auto x) { return x * x; }, use(numbers(total(lengths))));
  const auto program =
      compile(std::tuple(fold_seg(plus, 0.0, squares, Segments(use(lengths))), maximum(squares)));
  REQUIRE(program.explain().find("rearranged") != std::string::npos);
  const auto [sums, largest] = agree_on(program);
  REQUIRE(largest[Index{}] == 1.0);
  // Two streams read them.
  agree(std::tuple(
      fold_seg(plus, 0.0, squares, Segments(use(lengths))),
      fold1_seg([](auto x, auto y) { return min(x, y); }, squares, Segments(use(Ints{total(lengths)})))));
}

TEST_CASE("segments of a vector that all items of a sequence read") {
  // Each item goes through all segments from the first on.
  const Ints lengths{2, 0, 3, 1};
  const auto values = map([](auto x) { return x + 0.25; }, use(Vector<double>{1, 2, 3, 4, 5, 6}));
  const std::vector<Ints> items{{1, 2}, {}, {3}};
  const auto f = [&](auto item) {
    const auto scaled = map_seq([=](auto s) { return unit(the(sum(s)) * cast<double>(the(sum(item)))); },
                                from_segments(Segments(use(lengths)), values));
    return consume(elements(scaled));
  };
  const std::vector<Vector<double>> expected{{10.5, 0, 38.25, 18.75}, {0, 0, 0, 0}, {10.5, 0, 38.25, 18.75}};
  check_items(map_seq(f, stream_in(items)), expected);
}

TEST_CASE("segments in the body of a loop") {
  const auto lengths = use(Ints{2, 0, 3, 1});
  const auto spread = gather(use(Vector<std::int32_t>{0, 0, 2, 2, 2, 3}), iota(4));
  const auto round = [=](auto x) {
    return fold_seg(plus, 0.0, map([](auto y) { return y * 0.25; }, gather(spread, x)), Segments(lengths));
  };
  const auto result =
      agree(awhile([](auto x) { return the(sum(x)) > 1.0; }, round, use(Vector<double>{9, 2, 5, 3})));
  REQUIRE(result.size() == 4);
}

TEST_CASE("segments by where they begin are those by their lengths") {
  const auto check = [](auto first, const Ints& lengths) {
    using I = decltype(first);
    std::vector<I> begins{first};
    for (const std::int64_t n : lengths) begins.push_back(static_cast<I>(begins.back() + static_cast<I>(n)));
    const auto offsets = use(begins);
    const auto values = use(numbers(total(lengths)));
    const auto all_of = [&](const Segments& segments) {
      return std::tuple(fold_seg(plus, 0.0, values, segments), scanl_seg(plus, 1.0, values, segments),
                        sort_seg(map([](auto x) { return 1.0 - x; }, values), segments));
    };
    REQUIRE(agree(all_of(segments_of_offsets(offsets))) == agree(all_of(segments_of_lengths(use(lengths)))));
  };
  check(std::int64_t{0}, lengths_of(false));
  for (const Ints& lengths : {lengths_of(false, 300), lengths_of(true, 300), Ints{3}, Ints{0, 0}, Ints{}}) {
    check(std::int64_t{0}, lengths);
    check(std::int32_t{0}, lengths);
    check(std::uint64_t{7}, lengths);  // counted from the first
    check(std::int64_t{-5}, lengths);
  }
  // No offset at all: no segment.
  REQUIRE(agree(fold_seg(plus, 0.0, use(Vector<double>{}), segments_of_offsets(use(Ints{})))).size() == 0);
  // Of each item of a stream.
  const std::vector<Ints> items{{0, 2, 2, 5}, {}, {0}, {1, 4}};
  const auto f = [](auto item) {
    const auto length = cond(size(item) > 0, item[size(item) - 1] - item[0], 0);
    const auto halves = map([](auto i) { return cast<double>(i) * 0.5; }, iota(length));
    return fold_seg(plus, 0.0, halves, segments_of_offsets(item));
  };
  check_items(map_seq(f, stream_in(items)), std::vector<Vector<double>>{{0.5, 0.0, 4.5}, {}, {}, {1.5}});
}

TEST_CASE("the items of a stream are segments of one vector, made in one pass") {
  int asked = 0;
  const std::vector<Vector<double>> rows{{1, 2}, {}, {5, 3, 7}, {4}};
  const auto source = rows | std::views::transform([&](const Vector<double>& row) {
                        ++asked;
                        return row;
                      });
  const auto results = [](const auto& items) {
    const auto [where, values] =
        segments(map_seq([](auto row) { return map([](auto x) { return x * 2.0; }, row); }, items));
    return std::tuple(values, fold_seg(plus, 0.0, values, where), sort_seg(values, where));
  };
  const auto [values, sums, sorted] = run(results(stream_in(source)));
  CHECK(asked == 4);
  CHECK(values == Vector<double>{2, 4, 10, 6, 14, 8});
  CHECK(sums == Vector<double>{6, 0, 30, 8});
  CHECK(sorted == Vector<double>{2, 4, 6, 10, 14, 8});
  CHECK((agree(results(stream_in(rows))) == std::tuple(values, sums, sorted)));
}

TEST_CASE("segments that are not in the vector are refused before one is read") {
  const auto values = use(Vector<double>{1, 2, 3});
  const std::int64_t large = std::int64_t{1} << 62;
  const auto sums = [&](const Ints& lengths) { return fold_seg(plus, 0.0, values, Segments(use(lengths))); };
  fails<RunError>(sums({5, -2}), {"fold_seg", "negative extent -2"});
  fails<RunError>(sums({1'000'000, -999'997}), {"fold_seg", "negative extent -999997"});
  fails<RunError>(sums({large, large, large, large, 3}), {"fold_seg"});
  fails<RunError>(sums({INT64_MAX, INT64_MAX, 5}), {"fold_seg"});
  fails<RunError>(sums({2, 2}), {"fold_seg", "1 more element"});
  fails<RunError>(sums({}), {"fold_seg"});
  fails<RunError>(fold_seg(plus, 0.0, values, segments_of_offsets(use(Ints{0, 5, 3}))), {"fold_seg"});
  fails<RunError>(fold_seg(plus, 0.0, map([](auto x) { return x + 1; }, values),
                           Segments(use(Vector<std::uint64_t>{~std::uint64_t{0}, 4}))),
                  {"fold_seg"});
  for (const Backend backend : {Backend::interpreter, Backend::cpu}) {
    const auto items = from_segments(Segments(use(Ints{5, -2})), values);
    const auto take_all = [&] {
      for (const auto& item : stream_out(items, {.backend = backend})) FAIL("an item of " << item.size());
    };
    REQUIRE_THROWS_AS(take_all(), RunError);
  }
}

}  // namespace
}  // namespace anabranch::testing
