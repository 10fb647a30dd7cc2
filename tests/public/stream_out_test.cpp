#include <ranges>

#include "agree.h"

// Sequences as C++ ranges of host arrays.
namespace anabranch::testing {
namespace {

using Catch::Matchers::Contains;

TEST_CASE("stream_out contracts as run does") {
  const std::vector rows{numbers<double>(67, 1), Vector<double>{}, numbers<double>(5, 2)};
  const auto body = [](auto row) { return map([](auto x) { return x * x + 0.1 * x; }, row); };
  std::vector<Vector<double>> expected;
  for (const auto& row : rows) expected.push_back(agree(body(use(row))));
  check_items(map_seq(body, stream_in(rows)), expected);
}

TEST_CASE("items of several arrays") {
  const std::vector rows{numbers<double>(67, 1), Vector<double>{}, numbers<double>(5, 2)};
  const auto captured = Vector<float>{1.5F, 2.5F};
  auto s =
      map_seq([&](auto row) { return std::tuple(row, unit(size(row)), use(captured)); }, stream_in(rows));
  for (Backend backend : {Backend::interpreter, Backend::cpu}) {
    std::size_t i = 0;
    for (const auto& [row, n, same] : stream_out(s, {.backend = backend})) {
      require_same(row, rows[i]);
      REQUIRE(n[0] == rows[i].size());
      require_same(same, captured);
      ++i;
    }
    REQUIRE(i == 3);
  }
}

TEST_CASE("it is an input range, read lazily") {
  using Out = StreamOut<Vector<double>>;
  static_assert(std::ranges::input_range<Out>);
  for (Backend backend : {Backend::interpreter, Backend::cpu}) {
    int pulled = 0;
    auto endless = std::views::iota(0) | std::views::transform([&](int i) {
                     ++pulled;
                     return numbers<double>(1000, static_cast<std::uint64_t>(i));
                   });
    auto out =
        stream_out(map_seq([](auto row) { return map([](auto x) { return -x; }, row); }, stream_in(endless)),
                   {.backend = backend});
    std::int64_t seen = 0;
    for (const Vector<double>& item : out) {
      REQUIRE(item[7] == -number<double>(7 + 1000003 * static_cast<std::uint64_t>(seen)));
      if (++seen == 5) break;
    }
    REQUIRE(seen == 5);
    REQUIRE(pulled < 2000);
  }
}

TEST_CASE("a range that has been read to its end is not read again, one that has been left is gone on with") {
  const auto squares = map_seq([](auto row) { return map([](auto x) { return x * x; }, row); },
                               rows(use(Matrix<double>{{1, 2}, {3, 4}, {5, 6}})));
  for (const Backend backend : {Backend::cpu, Backend::interpreter}) {
    auto range = stream_out(squares, {.backend = backend});
    int items = 0;
    for (const auto& item : range) {
      CHECK(item[Index{0}] == 1.0);
      ++items;
      break;
    }
    for (const auto& item : range) items += item.size() == 2 ? 1 : 0;
    CHECK(items == 3);
    CHECK_THROWS_WITH(range.begin(), Contains("its items have been read"));
  }
}

TEST_CASE("items kept after the range is gone") {
  std::vector<Vector<std::int64_t>> kept;
  {
    auto s = produce(40, [](auto i) { return generate(i, [=](auto k) { return i * k; }); });
    for (const auto& item : stream_out(s, {.backend = Backend::cpu})) kept.push_back(item);
  }
  REQUIRE(kept.size() == 40);
  for (std::int64_t i = 0; i < 40; ++i)
    require_same(kept[static_cast<std::size_t>(i)], vector_of(i, [=](std::int64_t k) { return i * k; }));
}

TEST_CASE("a stream that depends on another one, streamed out, and streamed in again") {
  const std::vector rows{numbers<double>(67, 1), Vector<double>{}, numbers<double>(5, 2)};
  auto total = sum(consume(elements(stream_in(rows))));
  const auto value = agree(total);
  auto s =
      map_seq([=](auto row) { return map([=](auto x) { return x / the(total); }, row); }, stream_in(rows));
  std::vector<Vector<double>> expected;
  for (const auto& row : rows)
    expected.push_back(vector_of(row.size(), [&](std::int64_t i) { return row[i] / value[0]; }));
  check_items(s, expected);

  std::vector<Vector<double>> first;
  for (const auto& item : stream_out(s)) first.push_back(item);
  check_items(map_seq([](auto row) { return row; }, stream_in(first)), expected);
}

TEST_CASE("an error while streaming out comes at its item") {
  const std::vector rows{Vector<std::int32_t>{1}, Vector<std::int32_t>{2}, Vector<std::int32_t>{0}};
  auto s = map_seq([](auto row) { return map([](auto x) { return 10 / x; }, row); }, stream_in(rows));
  for (Backend backend : {Backend::interpreter, Backend::cpu}) {
    const auto read = [&] {
      for (const auto& item : stream_out(s, {.backend = backend})) REQUIRE(item.size() == 1);
    };
    REQUIRE_THROWS_AS(read(), RunError);
  }
}

TEST_CASE("a memory bound for streaming out") {
  const std::vector<Vector<double>> rows{numbers<double>(1000000)};
  auto s = map_seq([](auto row) { return map([](auto x) { return -x; }, row); }, stream_in(rows));
  const auto read = [&](std::int64_t memory) {
    for (const auto& item : stream_out(s, {.backend = Backend::cpu, .memory = memory}))
      REQUIRE(item.size() == 1000000);
  };
  REQUIRE_THROWS_AS(read(100000), ResourceError);
  read(64 << 20);
}

}  // namespace
}  // namespace anabranch::testing
