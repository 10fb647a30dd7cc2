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

using Blocks = std::vector<Matrix<float>>;

/// Frames of so many channels: sample c of frame i is 100 i + c.
Matrix<float> frames(std::int64_t begin, std::int64_t n, std::int64_t channels) {
  return array_of(Index{n, channels}, [=](std::int64_t k) {
    return static_cast<float>(100 * (begin + k / channels) + k % channels);
  });
}
/// So many frames in blocks of these lengths, again and again.
Blocks blocks_of_frames(std::int64_t n, std::int64_t channels, const std::vector<std::int64_t>& lengths) {
  Blocks out;
  for (std::int64_t at = 0; at < n;) {
    const std::int64_t length = std::min(lengths[out.size() % lengths.size()], n - at);
    out.push_back(frames(at, length, channels));
    at += length;
  }
  return out;
}
Blocks windows_of_frames(std::int64_t n, std::int64_t channels, std::int64_t size, std::int64_t hop) {
  Blocks out;
  for (std::int64_t k = 0; k + size <= n; k += hop) out.push_back(frames(k, size, channels));
  return out;
}

/// One number of which each sample is a part: channels differ, and frames by their place.
const auto weighted = [](auto w) {
  const auto weights = imap([](auto ix, auto x) { return x * cast<float>(ix[0] * 3 + ix[1] + 1); }, w);
  return sum(flatten(weights));
};

TEST_CASE("windows of rows of a matrix, and of what lies along the outermost dimension of other arrays") {
  for (const std::int64_t n : {0, 1, 7, 8, 40})
    for (const std::int64_t channels : {1, 2, 5})
      for (const auto& [size, hop] :
           {std::pair<std::int64_t, std::int64_t>{1, 1}, {8, 3}, {8, 8}, {5, 11}, {20, 10}}) {
        INFO(n << " " << channels << " " << size << " " << hop);
        check_items(windows(use(frames(0, n, channels)), size, hop),
                    windows_of_frames(n, channels, size, hop));
      }
  const auto signal = map([](auto x) { return x + 0.5F; }, use(frames(0, 60, 3)));
  std::vector<Scalar<float>> expected;
  for (const auto& w : windows_of_frames(60, 3, 12, 5))
    expected.push_back(reference(weighted(map([](auto x) { return x + 0.5F; }, use(w)))));
  check_items(map_seq(weighted, windows(signal, extent(signal, 0) / 5, 5)), expected);
  Blocks of_all;
  for (const std::int64_t n : {3, 6})
    for (const auto& w : windows_of_frames(n, 2, 3, 2)) of_all.push_back(w);
  check_items(flat_map_seq([](auto m) { return windows(m, 3, 2); },
                           stream_in(Blocks{frames(0, 3, 2), frames(0, 2, 2), frames(0, 6, 2)})),
              of_all);
  const auto cube = array_of(Index{5, 2, 3}, [](std::int64_t i) { return static_cast<double>(i); });
  const auto part = [&](std::int64_t first) {
    return array_of(Index{3, 2, 3}, [=](std::int64_t i) { return static_cast<double>(6 * first + i); });
  };
  check_items(windows(use(cube), 3, 2), {part(0), part(2)});
  for (const std::int64_t size : {std::int64_t{6}, std::int64_t{1} << 61, INT64_MAX})
    check_items(windows(use(cube), size, 1), {});
  check_items(windows(use(cube), 3, INT64_MAX), {part(0)});
}

TEST_CASE("windows of frames that come in blocks do not depend on how they are cut") {
  for (const std::int64_t channels : {1, 2, 3})
    for (const auto& [size, hop] :
         {std::pair<std::int64_t, std::int64_t>{1, 1}, {16, 5}, {64, 16}, {10, 33}, {200, 1}})
      for (const std::vector<std::int64_t>& lengths :
           {std::vector<std::int64_t>{150}, {1}, {7, 0, 0, 60}, {64}, {0, 149}}) {
        INFO(channels << " " << size << " " << hop << " " << lengths[0]);
        const auto s = windows(stream_in(blocks_of_frames(150, channels, lengths)), {size, channels}, hop);
        const auto expected = windows_of_frames(150, channels, size, hop);
        std::vector<Scalar<float>> numbers;
        for (const auto& w : expected) numbers.push_back(reference(weighted(use(w))));
        const auto [all, each] =
            agree(std::tuple(consume(tabulate(s)), consume(elements(map_seq(weighted, s)))));
        REQUIRE(each.size() == std::ssize(expected));
        for (std::int64_t k = 0; k < each.size(); ++k) {
          CHECK(each[k] == numbers[static_cast<std::size_t>(k)][Index{}]);
          for (std::int64_t i = 0; i < size; ++i)
            for (std::int64_t c = 0; c < channels; ++c)
              REQUIRE(all[Index{k, i, c}] == expected[static_cast<std::size_t>(k)][Index{i, c}]);
        }
      }
  check_items(windows(stream_in(blocks_of_frames(90, 2, {13, 40})), {30, 2}, 20),
              windows_of_frames(90, 2, 30, 20));
  check_items(windows(stream_in(Blocks{}), {4, 2}, 2), {});
}

TEST_CASE(
    "windows of frames from blocks of one shape, computed, in pieces, read once, filtered, of a computed "
    "shape") {
  const auto regular_blocks = blocks_of_frames(120, 2, {10});
  const auto expected = windows_of_frames(120, 2, 25, 15);
  check_items(windows(stream_in(regular(Index{10, 2}), regular_blocks), {25, 2}, 15), expected);
  const auto computed = produce(12, [](auto b) {
    return generate(make<Index<2>>(std::int64_t{10}, std::int64_t{2}),
                    [=](auto ix) { return cast<float>(100 * (b * 10 + ix[0]) + ix[1]); });
  });
  check_items(windows(computed, {25, 2}, 15), expected);
  const Exp<std::int64_t> channels = the(use(Scalar<std::int64_t>(2)));
  check_items(windows(stream_in(regular_blocks), index_of(channels * 12 + 1, channels), 15), expected);
  const auto in_order = windows(stream_in(regular_blocks), {25, 2}, 15);
  check_items(filter_seq([](auto w) { return w[index_of(0, 0)] > 1600.0F; }, in_order),
              Blocks(expected.begin() + 2, expected.end()));
  check_items(drop_seq(4, in_order), Blocks(expected.begin() + 4, expected.end()));
  // One extent of the blocks is known, as of audio files.
  std::vector<Item> items;
  for (const auto& block : blocks_of_frames(120, 2, {9, 30, 1})) items.push_back({block.erased()});
  const auto source = [&](bool rewindable) {
    return std::make_shared<MemorySource>(
        "frames", std::vector{array_info({ScalarType::float32}, {std::nullopt, 2}, 0)}, items, rewindable);
  };
  for (const bool in_pieces : {false, true}) {
    const auto file = source(true);
    if (in_pieces) file->read_in_pieces();
    check_items(windows(stream_in(Source<Matrix<float>>(file)), {25, 2}, 15), expected);
  }
  const auto of_tape = [&](const RunOptions& options) {
    const auto tape = stream_in(Source<Matrix<float>>(source(false)));
    return arrays_of(run(consume(tabulate(windows(tape, {25, 2}, 15))), options));
  };
  HostArrays all;
  for (const auto& w : expected) all.push_back(w.erased());
  require_same(agree_erased(of_tape, Loc::current())[0], stacked(all, 2, {ScalarType::float32}),
               Loc::current());
}

TEST_CASE("blocks of frames of pairs, and of three dimensions") {
  const auto pairs = produce(9, [](auto b) {
    return generate(make<Index<2>>(b, std::int64_t{3}),
                    [=](auto ix) { return pack(cast<float>(b), ix[0] * 3 + ix[1]); });
  });
  const auto second = [](auto w) { return map([](auto p) { return get<1>(p); }, flatten(w)); };
  std::vector<std::int64_t> signal;
  for (std::int64_t b = 0; b < 9; ++b)
    for (std::int64_t i = 0; i < 3 * b; ++i) signal.push_back(i);
  std::vector<Vector<std::int64_t>> expected;
  for (std::int64_t k = 0; 3 * (k + 4) <= std::ssize(signal); k += 3)
    expected.push_back(
        vector_of(12, [&](std::int64_t i) { return signal[static_cast<std::size_t>(3 * k + i)]; }));
  check_items(map_seq(second, windows(pairs, {4, 3}, 3)), expected);
  const auto cubes = produce(7, [](auto b) {
    return generate(make<Index<3>>(std::int64_t{2}, std::int64_t{2}, std::int64_t{3}),
                    [=](auto ix) { return cast<double>(((b * 2 + ix[0]) * 2 + ix[1]) * 3 + ix[2]); });
  });
  std::vector<Array<3, double>> parts;
  for (std::int64_t k = 0; k + 5 <= 14; k += 4)
    parts.push_back(array_of(Index{5, 2, 3}, [=](std::int64_t i) { return static_cast<double>(6 * k + i); }));
  check_items(windows(cubes, {5, 2, 3}, 4), parts);
}

TEST_CASE("a block with rows of another shape is an error, when a window needs it") {
  Blocks blocks = blocks_of_frames(40, 2, {8});
  blocks.insert(blocks.begin() + 1, Matrix<float>(Index{0, 7}));  // no rows
  blocks.insert(blocks.begin() + 3, Matrix<float>(Index{4, 3}));
  const auto s = windows(stream_in(blocks), {8, 2}, 4);
  fails<RunError>(consume(elements(s)),
                  {"windows", "block 3 has shape (4, 3)", "windows have shape (8, 2)", "windows_test.cpp"});
  check_items(take_seq(3, s), windows_of_frames(16, 2, 8, 4));
  fails<RunError>(consume(elements(take_seq(4, s))), {"windows", "block 3 has shape (4, 3)"});
  fails<RunError>(
      consume(elements(windows(stream_in(regular(Index{8, 2}), blocks_of_frames(40, 2, {8})), {8, 3}, 4))),
      {"windows", "block 0 has shape (8, 2)", "windows have shape (8, 3)"});
}

TEST_CASE("shapes and hops of windows of frames that are none") {
  const auto signal = stream_in(blocks_of_frames(40, 2, {8}));
  for (const auto& [size, channels, hop] :
       {std::array<std::int64_t, 3>{0, 2, 1}, {4, 0, 1}, {4, 2, 0}, {-3, 2, 2}, {3, -2, 2}, {2, 2, -1}}) {
    fails<RunError>(consume(elements(windows(signal, {size, channels}, hop))),
                    {"windows", "at least 1", "windows_test.cpp"});
    if (channels == 2)
      fails<RunError>(consume(elements(windows(use(frames(0, 40, 2)), size, hop))),
                      {"windows", "at least 1", "windows_test.cpp"});
  }
  fails<RunError>(consume(elements(windows(signal, {std::int64_t{1} << 59, 2}, 1))),
                  {"windows", "too many elements"});
  fails<RunError>(consume(elements(windows(signal, {INT64_MAX, 2}, 1))), {"windows", "too many elements"});
  check_items(windows(signal, {std::int64_t{1} << 40, 2}, 1), {});
  check_items(windows(signal, {5, 2}, INT64_MAX), {frames(0, 5, 2)});
}

TEST_CASE("frames without an end have windows") {
  std::int64_t next = 0;
  const auto source = std::views::iota(std::int64_t{0}) | std::views::transform([&](std::int64_t k) {
                        next = k;
                        return frames(3 * k, 3, 2);
                      });
  std::int64_t given = 0;
  for (const auto& w : stream_out(windows(stream_in(source), {5, 2}, 2))) {
    require_same(w, frames(2 * given, 5, 2));
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
