#include "agree.h"
#include "support/memory_source.h"

// Arrays and signals cut into pieces: windows, tiles, slices.
namespace anabranch::testing {
namespace {

std::vector<Vector<double>> windows_of(const Vector<double>& a, std::int64_t size, std::int64_t hop) {
  std::vector<Vector<double>> out;
  for (std::int64_t k = 0; k + size <= a.size(); k += hop)
    out.push_back(vector_of(size, [&](std::int64_t i) { return a[k + i]; }));
  return out;
}

/// The signal in blocks of these lengths, again and again.
std::vector<Vector<double>> blocks_of(const Vector<double>& a, const std::vector<std::int64_t>& lengths) {
  std::vector<Vector<double>> out;
  for (std::int64_t at = 0; at < a.size();) {
    const std::int64_t n = std::min(lengths[out.size() % lengths.size()], a.size() - at);
    out.push_back(vector_of(n, [&](std::int64_t i) { return a[at + i]; }));
    at += n;
  }
  return out;
}

const auto squares = [](auto w) { return fold(plus, 0.0, map([](auto x) { return x * x; }, w)); };

TEST_CASE("windows of a vector, which may overlap or leave something out") {
  for (const std::int64_t n : {0, 1, 7, 8, 100, 257}) {
    const Vector<double> a = numbers<double>(n, 5);
    for (const auto& [size, hop] :
         {std::pair<std::int64_t, std::int64_t>{1, 1}, {8, 1}, {8, 3}, {8, 8}, {5, 11}, {100, 50}}) {
      INFO(n << " " << size << " " << hop);
      check_items(windows(use(a), size, hop), windows_of(a, size, hop));
    }
  }
  const Vector<double> a = numbers<double>(3000, 2);
  std::vector<Scalar<double>> expected;
  for (const auto& w : windows_of(a, 300, 70)) expected.push_back(reference(squares(use(w))));
  check_items(map_seq(squares, windows(use(a), 300, 70)), expected);
  // Of what is computed, and of a size that is computed.
  const auto b = map([](auto x) { return x + 1.0; }, use(a));
  const Vector<double> plus_one = vector_of(3000, [&](std::int64_t i) { return a[i] + 1.0; });
  check_items(windows(b, size(b) / 10, 1000), windows_of(plus_one, 300, 1000));
}

TEST_CASE("windows at places and of lengths that vectors give") {
  const Vector<double> a = numbers<double>(50, 3);
  const Vector<std::int32_t> starts{0, 49, 10, 10, 50};
  const Vector<std::int64_t> lengths{3, 1, 0, 30, 0, 7};
  std::vector<Vector<double>> expected;
  for (std::int64_t k = 0; k < 5; ++k)
    expected.push_back(vector_of(lengths[k], [&](std::int64_t i) { return a[starts[k] + i]; }));
  check_items(windows(use(a), use(starts), use(lengths)), expected);
  fails<RunError>(
      consume(elements(windows(use(a), use(Vector<std::int64_t>{0, 48}), use(Vector<std::int64_t>{3, 3})))),
      {"windows", "index 50 out of range 0..49", "windows_test.cpp"});
  fails<RunError>(
      consume(elements(windows(use(a), use(Vector<std::int64_t>{0}), use(Vector<std::int64_t>{-2})))),
      {"negative extent -2"});
}

TEST_CASE("windows of a signal that comes in blocks do not depend on how it is cut") {
  const Vector<double> a = numbers<double>(1000, 7);
  for (const auto& [size, hop] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {16, 5}, {64, 64}, {10, 33}, {700, 200}, {2000, 1}})
    for (const std::vector<std::int64_t>& lengths :
         {std::vector<std::int64_t>{1000}, {1}, {7, 0, 0, 130}, {64}, {0, 999}}) {
      INFO(size << " " << hop << " " << lengths[0]);
      const auto blocks = blocks_of(a, lengths);
      const auto s = windows(stream_in(blocks), size, hop);
      require_same(agree(consume(tabulate(s))), [&] {
        const auto expected = windows_of(a, size, hop);
        const auto count = std::ssize(expected);
        return array_of(Index{count, count == 0 ? 0 : size}, [&](std::int64_t i) {
          return expected[static_cast<std::size_t>(i / size)][i % size];
        });
      }());
    }
  const auto blocks = blocks_of(a, {13, 100});
  std::vector<Scalar<double>> expected;
  for (const auto& w : windows_of(a, 90, 40)) expected.push_back(reference(squares(use(w))));
  check_items(map_seq(squares, windows(map_seq([](auto b) { return b; }, stream_in(blocks)), 90, 40)),
              expected);
  check_items(windows(stream_in(std::vector<Vector<double>>{}), 4, 2), {});
}

/// `f` of every window of a signal is what it is of the window alone, however the signal is cut.
template <class F>
void of_each(F f, const Vector<double>& a, std::int64_t size, std::int64_t hop) {
  using Result = decltype(reference(f(use(a))));
  std::vector<Result> expected;
  for (const auto& w : windows_of(a, size, hop)) expected.push_back(reference(f(use(w))));
  for (const std::vector<std::int64_t>& lengths :
       {std::vector<std::int64_t>{5000}, {700, 0, 1}, {65}, {130, 999}}) {
    INFO(size << " " << hop << " " << lengths[0]);
    const auto blocks = blocks_of(a, lengths);
    check_items(map_seq(f, windows(stream_in(blocks), size, hop)), expected);
  }
}

TEST_CASE("long windows of a signal, which are read where they lie") {
  const auto mirrored = [](auto w) { return generate(size(w), [=](auto i) { return w[size(w) - 1 - i]; }); };
  const auto steps = [](auto w) {
    return generate(size(w), [=](auto i) { return w[i] - w[max(i - 1, std::int64_t{0})]; });
  };
  const auto pairs = [](auto w) {
    return map([](auto z) { return z * 2.0; },
               generate(size(w) / 2, [=](auto i) { return w[2 * i] + w[2 * i + 1]; }));
  };
  const auto in_pairs = [](auto w) { return reshape(make<Index<2>>(size(w) / 2, std::int64_t{2}), w); };
  const auto columns = [=](auto w) { return sum(transpose(in_pairs(w))); };
  for (const auto& [size, hop] :
       {std::pair<std::int64_t, std::int64_t>{64, 1}, {128, 32}, {90, 40}, {100, 100}, {70, 333}}) {
    const Vector<double> a = numbers<double>(hop == 1 ? 300 : 1200, 17);
    of_each(squares, a, size, hop);
    of_each(mirrored, a, size, hop);
    of_each(steps, a, size, hop);
    of_each(pairs, a, size, hop);
    of_each(columns, a, size, hop);
    of_each([](auto w) { return scanl1(plus, w); }, a, size, hop);
    // Routines take whole items, and so do inner sequences.
    of_each([](auto w) { return sort(w); }, a, size, hop);
    of_each(
        [=](auto w) {
          return consume(elements(map_seq([](auto row) { return sum(row); }, rows(in_pairs(w)))));
        },
        a, size, hop);
  }
}

TEST_CASE("long windows that are results, that others stand beside, and that are filtered") {
  const Vector<double> a = numbers<double>(1000, 23);
  const std::int64_t size = 80, hop = 30;
  const auto all = windows_of(a, size, hop);
  const auto blocks = blocks_of(a, {333, 5});
  const auto s = windows(stream_in(blocks), size, hop);
  check_items(s, all);
  const auto several = agree(std::tuple(consume(elements(map_seq(squares, s))), consume(tabulate(s))));
  std::vector<Vector<double>> numbered, large;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const double square = reference(squares(use(all[k])))[Index{}];
    CHECK(std::get<0>(several)[static_cast<std::int64_t>(k)] == square);
    for (std::int64_t i = 0; i < size; ++i)
      CHECK(std::get<1>(several)[Index{static_cast<std::int64_t>(k), i}] == all[k][i]);
    numbered.push_back(reference(map([&](auto x) { return x + static_cast<double>(k); }, use(all[k]))));
    if (all[k][0] > 0.0) large.push_back(numbered.back());
  }
  const auto add = [](auto w, auto k) { return map([=](auto x) { return x + cast<double>(the(k)); }, w); };
  const auto beside = produce(1000, [](auto k) { return unit(k); });
  check_items(zip_with_seq(add, s, beside), numbered);
  const auto some = filter_seq([](auto w, auto) { return unit(w[0] > 0.0); }, zip_seq(s, beside));
  check_items(map_seq(add, some), large);
  // Two streams of windows of one signal.
  const auto [sums, ends] = agree(std::tuple(
      consume(elements(map_seq(squares, windows(stream_in(blocks), 64, 16)))),
      consume(elements(map_seq([](auto w) { return unit(w[63]); }, windows(stream_in(blocks), 64, 32))))));
  CHECK(sums.size() == (1000 - 64) / 16 + 1);
  for (std::int64_t k = 0; k < ends.size(); ++k) CHECK(ends[k] == a[32 * k + 63]);
  // And of one that passes once: the two run at the same time.
  std::vector<std::vector<double>> given;
  for (const auto& block : blocks) given.emplace_back(block.values().begin(), block.values().end());
  const auto of_tape = [&](const RunOptions& options) {
    const auto tape = stream_in(Source<Vector<double>>(ragged<double>("tape", given, false)));
    return arrays_of(
        run(std::tuple(consume(elements(map_seq(squares, windows(tape, 64, 16)))),
                       consume(elements(map_seq([](auto w) { return unit(w[63]); }, windows(tape, 64, 32))))),
            options));
  };
  const HostArrays both = agree_erased(of_tape, Loc::current());
  require_same(both[0], sums.erased(), Loc::current());
  require_same(both[1], ends.erased(), Loc::current());
}

TEST_CASE("windows of a signal of pairs, of computed blocks, filtered, counted") {
  const auto blocks =
      produce(20, [](auto i) { return generate(i, [=](auto j) { return pack(cast<float>(i), j); }); });
  const auto s = windows(blocks, 6, 4);
  const auto sums = map_seq(
      [](auto w) { return fold_all(plus, std::int64_t{0}, map([](auto p) { return get<1>(p); }, w)); }, s);
  std::vector<std::int64_t> signal;
  for (std::int64_t i = 0; i < 20; ++i)
    for (std::int64_t j = 0; j < i; ++j) signal.push_back(j);
  std::vector<Scalar<std::int64_t>> expected;
  for (std::size_t k = 0; k + 6 <= signal.size(); k += 4)
    expected.push_back(Scalar<std::int64_t>(
        std::accumulate(signal.begin() + static_cast<std::ptrdiff_t>(k),
                        signal.begin() + static_cast<std::ptrdiff_t>(k) + 6, std::int64_t{0})));
  check_items(sums, expected);
}

TEST_CASE("a size or hop that is none is an error that names the line") {
  const Vector<double> a = numbers<double>(10, 1);
  for (const auto& [size, hop] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {1, 0}, {-3, 2}, {2, -1}}) {
    fails<RunError>(consume(elements(windows(use(a), size, hop))),
                    {"windows", "at least 1", "windows_test.cpp"});
    fails<RunError>(consume(elements(windows(stream_in(std::vector{a}), size, hop))),
                    {"windows", "at least 1", "windows_test.cpp"});
  }
  fails<RunError>(consume(elements(tiles(use(a), 0))), {"tiles", "at least 1", "windows_test.cpp"});
}

TEST_CASE("sizes and hops near the largest integer") {
  const std::int64_t largest = INT64_MAX;
  const std::vector<Vector<double>> blocks{{1, 2, 3}, {4}, {5, 6, 7}};
  const auto signal = stream_in(blocks);
  for (const std::int64_t size : {std::int64_t{1} << 60, std::int64_t{1} << 61, largest})
    check_items(windows(signal, size, 1), {});
  for (const std::int64_t hop : {largest, largest - 2})
    check_items(windows(signal, 2, hop), {Vector<double>{1, 2}});
  const Vector<double> a{1, 2, 3};
  for (const std::int64_t tile : {largest, largest - 1, largest - 8})
    check_items(tiles(use(a), {tile}), std::vector<Vector<double>>{a});
  check_items(tiles(use(Vector<double>{}), {largest}), {});
}

TEST_CASE("a signal without an end has windows") {
  std::int64_t next = 0;
  const auto source = std::views::iota(std::int64_t{0}) | std::views::transform([&](std::int64_t k) {
                        next = k;
                        return vector_of(3, [=](std::int64_t i) { return static_cast<double>(3 * k + i); });
                      });
  std::int64_t given = 0;
  for (const auto& w : stream_out(windows(stream_in(source), 5, 2))) {
    for (std::int64_t i = 0; i < 5; ++i) REQUIRE(w[i] == static_cast<double>(2 * given + i));
    if (++given == 100) break;
  }
  REQUIRE(next <= 3 * 100);
}

TEST_CASE("slices along any dimension") {
  const Array<3, std::int32_t> a =
      array_of(Index{3, 4, 5}, [](std::int64_t i) { return static_cast<std::int32_t>(i * 7 % 61); });
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<Matrix<std::int32_t>> expected;
    const std::vector<std::int64_t> extents{3, 4, 5};
    for (std::int64_t k = 0; k < extents[static_cast<std::size_t>(axis)]; ++k) {
      const Index<2> shape = axis == 0 ? Index{4, 5} : axis == 1 ? Index{3, 5} : Index{3, 4};
      expected.push_back(array_of(shape, [&](std::int64_t i) {
        const std::int64_t x = i / shape[1], y = i % shape[1];
        return axis == 0 ? a[Index{k, x, y}] : axis == 1 ? a[Index{x, k, y}] : a[Index{x, y, k}];
      }));
    }
    check_items(slices(use(a), axis), expected);
  }
  check_items(slices(use(Vector<double>{1, 2, 3}), 0),
              {Scalar<double>(1), Scalar<double>(2), Scalar<double>(3)});
  REQUIRE_THROWS_AS(slices(use(a), 3), ProgramError);
}

TEST_CASE("tiles cover an array once, the last ones of a dimension may be smaller") {
  const Matrix<double> m = array_of(Index{7, 10}, [](std::int64_t i) { return static_cast<double>(i); });
  for (const Index<2> tile : {Index{2, 3}, Index{7, 10}, Index{1, 1}, Index{4, 5}, Index{100, 3}}) {
    std::vector<Matrix<double>> expected;
    for (std::int64_t y = 0; y < 7; y += tile[0])
      for (std::int64_t x = 0; x < 10; x += tile[1]) {
        const Index<2> shape{std::min(tile[0], 7 - y), std::min(tile[1], 10 - x)};
        expected.push_back(
            array_of(shape, [&](std::int64_t i) { return m[Index{y + i / shape[1], x + i % shape[1]}]; }));
      }
    check_items(tiles(use(m), tile), expected);
  }
  check_items(tiles(use(Vector<double>{1, 2, 3, 4, 5}), 2), {{1, 2}, {3, 4}, {5}});
  check_items(tiles(use(Vector<double>{}), 2), {});
  check_items(tiles(use(Matrix<double>(Index{0, 5})), {2, 2}), {});
}

TEST_CASE("shapes of items, zipped items") {
  const std::vector<Vector<double>> rows_{{1, 2}, {}, {5, 3, 7}};
  require_same(agree(consume(shapes(stream_in(rows_)))), Vector<Index<1>>{Index{2}, Index{0}, Index{3}});
  const auto grid = [](auto row) {
    return generate(make<Index<2>>(size(row), size(row) + 1), [](auto at) { return at[0] + at[1]; });
  };
  require_same(agree(consume(shapes(map_seq(grid, stream_in(rows_))))),
               Vector<Index<2>>{Index{2, 3}, Index{0, 1}, Index{3, 4}});
  const auto [a, b] = unzip_seq(zip_seq(stream_in(rows_), drop_seq(1, stream_in(rows_))));
  check_items(a, {{1, 2}, {}});
  check_items(b, {{}, {5, 3, 7}});
}

// Of what lies between windows nobody knows the size but the stream of windows; and memory that lies idle between chunks is
// given back before a block does not fit.
TEST_CASE("windows of a stream that lie far apart, in little memory", "[once]") {
  const auto blocks =
      produce(300, [](auto i) { return generate(4096, [=](auto k) { return cast<float>(i * 4096 + k); }); });
  const auto program = compile(consume(
      elements(map_seq([](auto w) { return sum(map([](auto x) { return sqrt(x); }, scanl1(plus, w))); },
                       windows(blocks, 64, 20'000)))));
  const auto expected = program.run({.threads = 1});
  REQUIRE(expected.size() == 62);
  for (const char* scheduler : {"adaptive", "paper", "fixed:1", "fixed:1000"})
    for (const int threads : {1, 2})
      for (const std::int64_t kib : {96, 160, 512}) {
        INFO(scheduler << ", " << threads << " threads, " << kib << " KiB");
        CHECK(program.run({.threads = threads, .memory = kib << 10, .scheduler = scheduler}) == expected);
      }
}

}  // namespace
}  // namespace anabranch::testing
