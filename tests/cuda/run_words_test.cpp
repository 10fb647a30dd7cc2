#include "tests/cuda/support/whole_runs.h"

// What is wrong at run time is said in the same words by interpreter, CPU and GPU, with the item of the stream.
namespace anabranch::testing {
namespace {

/// Everywhere this message, with the same place in this file.
template <class R>
void says(const R& computation, const std::string& before_place, bool in_chunks = true) {
  const auto run = [&](const RunOptions& options) { static_cast<void>(compile(computation).run(options)); };
  const std::string expected = message_of([&] { run({.backend = Backend::interpreter}); });
  CHECK_THAT(expected, Catch::StartsWith(before_place + " (run_words_test.cpp:"));
  for (const std::string scheduler : {"adaptive", "fixed:7"}) {
    if (!in_chunks && scheduler != "adaptive") continue;
    INFO(scheduler);
    CHECK(message_of([&] { run({.backend = Backend::cpu, .threads = 2, .scheduler = scheduler}); }) ==
          expected);
    const WithFakeGpu gpu;
    CHECK(message_of([&] { run({.backend = Backend::cuda, .scheduler = scheduler}); }) == expected);
    check_clean();
  }
}

using Ints = Vector<std::int64_t>;
const Ints five{4, 3, 2, 1, 0};

}  // namespace

TEST_CASE("words: outside of streams no item is named") {
  const Ints bad{0, 4, 7, -1};
  says(gather(use(bad), use(five)), "gather: index 7 out of range 0..4", false);
  says(gather(use(bad), use(Ints(Index{0}))), "gather: index 0 into an empty array", false);
  says(map([a = use(five)](auto i) { return a[i - 9]; }, use(bad)), "index: index -9 out of range 0..4",
       false);
  const Matrix<std::int64_t> m(Index{2, 3});
  says(map([a = use(m)](auto i) { return a[index_of(i % 2, i)]; }, use(bad)),
       "index: index 4 out of range 0..2", false);
  says(map([a = use(m)](auto i) { return a.linear(i); }, use(bad)), "linear: index 7 out of range 0..5",
       false);
  says(backpermute(
           4, [](auto i) { return index_of(i * 2); }, use(five)),
       "backpermute: index 6 out of range 0..4", false);
  says(map([](auto x) { return 12 / x; }, use(five)), "divide: integer division of 12 by zero", false);
  says(map([](auto x) { return x % 0; }, use(five)), "remainder: integer division of 4 by zero", false);
  says(map([](auto x) { return (x + INT64_MIN) / -1; }, use(Ints{0})),
       "divide: integer division of -9223372036854775808 by -1 overflows", false);
  says(map([](auto x) { return x / cast<std::int32_t>(Exp(0)); }, use(Vector<std::int32_t>{-5})),
       "divide: integer division of -5 by zero", false);
  says(minimum(use(Ints(Index{0}))), "minimum: no elements, and no value for that case", false);
  says(fold1([](auto x, auto y) { return x - y; }, use(Ints(Index{0}))),
       "fold1: no elements, and no value for that case", false);
  says(consume(elements(produce(the(sum(use(five))) - 13, [](auto k) { return unit(k); }))),
       "produce: the number of items is -3", false);
  says(generate(the(sum(use(five))) - 13, [](auto k) { return k; }), "generate: negative extent -3", false);
  // Fused away, as an operand, of another rank, or asked for its size only.
  const auto negative = the(sum(use(five))) - 13;
  const auto number = [](auto k) { return k; };
  const std::string wrong = "generate: negative extent -3";
  says(sum(generate(negative, number)), wrong, false);
  says(maximum(generate(negative, number)), wrong, false);
  says(map([](auto x) { return x + 1; }, generate(negative, number)), wrong, false);
  says(zip_with(plus, use(five), generate(negative, number)), wrong, false);
  says(unit(size(generate(negative, number))), wrong, false);
  says(sum(generate(Index{2, -3}, [](auto ix) { return ix[0]; })), wrong, false);
  says(sum(fill(-2, std::int64_t{5})), "fill: negative extent -2", false);
  says(sum(replicate(use(five), -2, all), 0), "replicate: negative extent -2", false);
  says(sum(backpermute(
           -1, [](auto i) { return index_of(i); }, use(five))),
       "backpermute: negative extent -1", false);
  says(reshape(the(sum(use(five))) - 4, use(five)),
       "reshape: the new shape has 1 more element than the array", false);
}

TEST_CASE("words: inside a stream the item is named") {
  says(consume(elements(produce(20'000, [](auto i) { return unit(1000 / (i - 7123)); }))),
       "divide: integer division of 1000 by zero in item 7,123", false);
  std::vector<Ints> rows(100, Ints{7, 3, -2});
  rows[3] = Ints(Index{0});
  rows[57] = Ints{1, 0, 0};
  rows[81] = Ints{0};
  says(consume(elements(
           map_seq([](auto row) { return map([](auto e) { return 100 / e; }, row); }, stream_in(rows)))),
       "divide: integer division of 100 by zero in item 57");
  says(consume(elements(
           map_seq([](auto row) { return sum(map([](auto e) { return 100 / e; }, row)); }, stream_in(rows)))),
       "divide: integer division of 100 by zero in item 57");
  says(consume(elements(map_seq([](auto row) { return minimum(row); }, stream_in(rows)))),
       "minimum: no elements, and no value for that case in item 3");
  says(consume(elements(map_seq([x = use(five)](auto row) { return gather(row, x); }, stream_in(rows)))),
       "gather: index 7 out of range 0..4 in item 0");
  std::vector<Ints> sizes(100, Ints{2, 1});
  sizes[57] = Ints{2, -6};
  sizes[91] = Ints{-8};
  says(consume(elements(map_seq([](auto row) { return generate(the(sum(row)), [](auto k) { return k; }); },
                                stream_in(sizes)))),
       "generate: negative extent -4 in item 57");
  says(consume(elements(
           map_seq([](auto row) { return reshape(max(the(sum(row)) - 1, 0), row); }, stream_in(sizes)))),
       "reshape: the new shape has 2 fewer elements than the array in item 57", false);
  says(consume(elements(
           map_seq([](auto row) { return backpermute(3, [](auto i) { return index_of(2 - i); }, row); },
                   stream_in(sizes)))),
       "backpermute: index 2 out of range 0..1 in item 0");
  says(consume(elements(map_seq([](auto row) { return map([=](auto e) { return row.linear(e); }, row); },
                                stream_in(sizes)))),
       "linear: index 2 out of range 0..1 in item 0");
  says(consume(elements(map_seq([](auto row) { return fold1([](auto x, auto y) { return x - y; }, row); },
                                stream_in(rows)))),
       "fold1: no elements, and no value for that case in item 3");
  const auto shrinking = [](auto f) {
    return consume(
        elements(produce(50, [f](auto k) { return f(generate(3 - k, [](auto i) { return i; })); })));
  };
  const std::string too_small = "generate: negative extent -1 in item 4";
  says(shrinking([](auto a) { return sum(a); }), too_small);
  says(shrinking([](auto a) { return map([](auto x) { return x + 1; }, a); }), too_small);
  says(shrinking([](auto a) { return unit(size(a)); }), too_small);
  says(shrinking([x = use(five)](auto a) { return sum(zip_with(plus, x, a)); }), too_small);
  says(consume(elements(produce(50, [x = use(five)](auto k) { return sum(replicate(x, 3 - k, all), 0); }))),
       "replicate: negative extent -1 in item 4");
  // Arrays that values give their shape.
  std::vector<Ints> counts(100, Ints{4});
  says(consume(elements(map_seq(
           [](auto row) {
             const auto n = the(sum(row));
             return map([n](auto k) { return 10 / (k - n + 1); }, generate(n, [](auto k) { return k; }));
           },
           stream_in(counts)))),
       "divide: integer division of 10 by zero in item 0");
  // Items of one shape.
  Matrix<std::int64_t> all(Index{64, 5});
  for (std::int64_t i = 0; i < 64; ++i)
    for (std::int64_t j = 0; j < 5; ++j) all.set(Index{i, j}, i == 41 && j == 2 ? 0 : 1);
  says(consume(elements(map_seq([](auto row) { return map([](auto e) { return 6 % e; }, row); },
                                anabranch::rows(use(all))))),
       "remainder: integer division of 6 by zero in item 41");
}

TEST_CASE("words: of a long row the first element that fails") {
  std::vector<Ints> rows;
  for (int item = 0; item < 6; ++item) {
    rows.emplace_back(Index{20'000});
    for (std::int64_t i = 0; i < 20'000; ++i) rows.back().set(i, 1 + i);
  }
  for (const std::int64_t at : {9'000, 19'999}) rows[4].set(at, -at);
  says(consume(elements(map_seq([x = use(Ints(Index{20'001}))](auto row) { return sum(gather(row, x)); },
                                stream_in(rows)))),
       "gather: index -9000 out of range 0..20000 in item 4");
}

}  // namespace anabranch::testing
