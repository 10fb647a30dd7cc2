#include <atomic>
#include <ranges>

#include <anabranch/io.h>

#include "agree.h"

// Mistakes that an earlier system made with chunks, one test case each (the others: known_mistakes_test.cpp).
// `elements` copies quadratically: where results lie shows inside only, in tests/whole/results_test.cpp.
namespace anabranch::testing {
namespace {

using Ints = Vector<std::int64_t>;

std::vector<Ints> rows_of(const Ints& lengths) {
  std::vector<Ints> rows;
  for (std::int64_t r = 0; r < lengths.size(); ++r)
    rows.push_back(vector_of(lengths[r], [=](std::int64_t i) { return (r * 31 + i * 7) % 19; }));
  return rows;
}

TEST_CASE("a chunk of from_segments has its own segments only", "[once]") {
  constexpr std::int64_t segments = 2000;
  const Ints lengths = vector_of(segments, [](std::int64_t i) { return i * 7 % 41; });
  const std::vector<Ints> rows = rows_of(lengths);
  Ints values = run(consume(elements(stream_in(rows))));
  // Each chunk stores the scans of its segments. Were they those of all the rest, the first chunk would have two more
  // arrays as long as the values.
  const auto twice = [](auto s) { return scanl1(plus, scanl1(plus, s)); };
  const auto program =
      compile(consume(elements(map_seq(twice, from_segments(Segments(use(lengths)), use(values))))));
  RunReport report;
  const Ints result = program.run({.scheduler = "fixed:1"}, &report);
  const std::int64_t held = 2 * 8 * values.size() + 2 * 8 * segments;  // values, results; lengths, begins
  CHECK(report.chunks == segments);
  CHECK(report.peak_bytes < held + 16'000);
  program.run({.scheduler = "fixed:2000"}, &report);
  CHECK(report.peak_bytes > held + 8 * values.size());  // such arrays do count
  std::int64_t at = 0;
  for (const Ints& row : rows) {
    std::int64_t once = 0, again = 0;
    for (std::int64_t i = 0; i < row.size(); ++i) REQUIRE(result[at++] == (again += (once += row[i])));
  }
  REQUIRE(at == result.size());
}

TEST_CASE("a chunk of a ragged file has its own rows only", "[once]") {
  const Ints lengths{3, 0, 5, 1, 1, 0, 0, 9, 2, 4, 7, 0};
  Ints offsets{Index{lengths.size() + 1}};
  for (std::int64_t r = 0; r < lengths.size(); ++r) offsets.set(r + 1, offsets[r] + lengths[r]);
  const std::int64_t entries = offsets[lengths.size()];
  const auto columns = vector_of(entries, [](std::int64_t i) { return static_cast<std::int32_t>(i % 8); });
  const auto source = io::csr_view(lengths.size(), 8, offsets, columns, numbers<double>(entries));
  for (const std::int64_t size : {1, 2, 5, 12}) {
    source.erased()->rewind();
    std::int64_t row = 0;
    SourceChunk chunk;
    while (source.erased()->next({.items = size}, chunk)) {
      const std::int64_t end = std::min(row + size, lengths.size());
      CHECK(chunk.items == end - row);
      CHECK(chunk.work == offsets[end] - offsets[row]);
      row = end;
    }
    CHECK(row == lengths.size());
    RunReport report;
    const auto program =
        compile(consume(elements(map_seq([](auto r) { return sum(get<1>(unzip(r))); }, stream_in(source)))));
    program.run({.scheduler = "fixed:" + std::to_string(size)}, &report);
    CHECK(report.work == entries);
    std::int64_t first = 0;
    for (const ChunkRecord& record : report.stages.at(0).records) {
      CHECK(record.work == offsets[first + record.items] - offsets[first]);
      first += record.items;
    }
    CHECK(first == lengths.size());
  }
}

TEST_CASE("chunks have at least one item, and no more than fit the memory", "[once]") {
  // Some items have no elements, some have many, so costs go up and down: what no policy may answer by 0.
  const Ints lengths = vector_of(5000, [](std::int64_t i) {
    return i % 500 == 0 ? 20'000 : i / 700 % 2 == 0 ? 0 : i % 50;
  });
  auto items = std::views::iota(std::int64_t{0}, lengths.size()) |
               std::views::transform([&](std::int64_t i) { return Ints{Index{lengths[i]}}; });
  const auto program = compile(
      consume(elements(map_seq([](auto row) { return sum(row); }, stream_in(items, {.live = false})))));
  for (const char* scheduler : {"adaptive", "paper", "fixed:1000000"}) {
    RunReport report;
    constexpr std::int64_t memory = 1'000'000;
    REQUIRE(program.run({.threads = 2, .memory = memory, .scheduler = scheduler}, &report).size() == 5000);
    INFO(scheduler);
    CHECK(report.peak_bytes <= memory);
    CHECK(report.items == 5000);
    REQUIRE(report.stages.at(0).records.size() == static_cast<std::size_t>(report.chunks));
    for (const ChunkRecord& record : report.stages.at(0).records) {
      CHECK(record.items >= 1);
      CHECK(record.bytes <= memory);
    }
  }
}

TEST_CASE("the next chunk is read while this one is computed", "[once]") {
  // Computing an item takes some milliseconds, until the source has once been asked for the next one meanwhile.
  // tests/scheduler/pipeline_test.cpp shows it of every chunk, and of writing.
  constexpr int items = 100;
  std::atomic<int> finished = 0;
  std::atomic<bool> meanwhile = false;
  auto source = std::views::iota(0, items) | std::views::transform([&](int i) {
                  if (finished < i) meanwhile = true;
                  return Ints{meanwhile ? 0 : 2'000'000};
                });
  const auto slow = [](auto rounds) {
    const auto start = pack(rounds, Exp<std::int64_t>(1));
    return get<1>(while_loop([](auto s) { return get<0>(s) > 0; },
                             [](auto s) { return pack(get<0>(s) - 1, get<1>(s) * get<1>(s) + get<0>(s)); },
                             start));
  };
  const auto program = compile(consume(
      elements(map_seq([=](auto row) { return map(slow, row); }, stream_in(source, {.live = false})))));
  const auto count = [&](const Progress& progress) { finished = static_cast<int>(progress.items); };
  const Ints result = program.run({.threads = 4, .scheduler = "fixed:1", .progress = count});
  CHECK(meanwhile);
  CHECK(result.size() == items);
}

TEST_CASE("no last chunk of a regular source is lost") {
  const auto some = [](auto row) { return map([](auto x) { return 3 * x + 1; }, row); };
  const auto of_rows = compile<Matrix<std::int64_t>>([=](auto m) {
    const auto s = map_seq(some, rows(m));
    return std::tuple(consume(elements(s)), consume(tabulate(s)));
  });
  const auto of_numbers = compile<Scalar<std::int64_t>>([](auto n) {
    return consume(elements(
        produce(the(n), [](auto i) { return generate(3, [=](auto k) { return 9 * i + 3 * k + 1; }); })));
  });
  const auto of_both = compile<Matrix<std::int64_t>, Scalar<std::int64_t>>([](auto m, auto n) {
    const auto others = produce(the(n), [](auto i) { return fill(3, i); });
    return consume(
        elements(zip_with_seq([](auto a, auto b) { return zip_with(plus, a, b); }, rows(m), others)));
  });
  // Around multiples of 1, 2, 7 and 64 items, which are the chunks.
  for (const std::int64_t n : {0, 1, 2, 3, 6, 7, 8, 13, 14, 15, 62, 63, 64, 65, 127, 128, 129, 449}) {
    const auto matrix = array_of(Index{n, 3}, [](std::int64_t i) { return i; });
    const Ints expected = vector_of(3 * n, [](std::int64_t i) { return 3 * i + 1; });
    const auto [flat, stacked] = agree_on(of_rows, matrix);
    require_same(flat, expected);
    // Without items all extents are 0.
    require_same(stacked, array_of(Index{n, n == 0 ? 0 : 3}, [](std::int64_t i) { return 3 * i + 1; }));
    require_same(agree_on(of_numbers, Scalar<std::int64_t>(n)), expected);
    std::vector<Ints> list;
    for (std::int64_t i = 0; i < n; ++i) list.push_back({3 * i, 3 * i + 1, 3 * i + 2});
    require_same(agree(consume(elements(map_seq(some, stream_in(regular(Index{3}), list))))), expected);
    for (const std::int64_t other : {n - 1, n + 1}) {
      const std::int64_t both = std::min(n, other);
      if (both < 0) continue;
      require_same(agree_on(of_both, matrix, Scalar<std::int64_t>(other)),
                   vector_of(3 * both, [](std::int64_t i) { return i + i / 3; }));
    }
  }
}

}  // namespace
}  // namespace anabranch::testing
