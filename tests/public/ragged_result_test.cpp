#include <anabranch/io.h>

#include "agree.h"
#include "support/files.h"

// Items of sequences as one Ragged.
namespace anabranch::testing {
namespace {

const auto evens = [](auto row) { return std::get<0>(filter([](auto x) { return x % 2 == 0; }, row)); };
const auto total = [](auto row) { return sum(row); };

/// Items 0 to n - 1, item i of (i * 7) % 5 elements.
Seq<Vector<std::int64_t>> made(std::int64_t n) {
  return produce(n, [](auto i) { return generate(i * 7 % 5, [=](auto k) { return i * 10 + k; }); });
}
Ragged<std::int64_t> expected(std::int64_t n, bool only_even) {
  std::vector<std::vector<std::int64_t>> items;
  for (std::int64_t i = 0; i < n; ++i) {
    items.emplace_back();
    for (std::int64_t k = 0; k < i * 7 % 5; ++k)
      if (!only_even || (i * 10 + k) % 2 == 0) items.back().push_back(i * 10 + k);
  }
  return Ragged<std::int64_t>(items);
}

TEST_CASE("ragged results: the items, in every configuration") {
  const auto all = compile(consume(ragged(made(137))));
  const auto some = compile(consume(ragged(map_seq(evens, made(137)))));
  const auto none = compile(consume(ragged(made(0))));
  const auto equal = compile(consume(ragged(produce(9, [](auto i) { return fill(3, cast<float>(i)); }))));
  for (const RunOptions& options : configurations()) {
    INFO(to_string(options));
    CHECK(all.run(options) == expected(137, false));
    CHECK(some.run(options) == expected(137, true));
    CHECK(none.run(options).empty());
    const Ragged<float> rows = equal.run(options);
    CHECK(rows.size() == 9);
    CHECK(rows[8] == Vector<float>{8, 8, 8});
  }
}

TEST_CASE("ragged results: beside others, and of a source that is read once", "[once]") {
  const TemporaryDirectory dir;
  write_file(dir / "words", "some\nlines\n\nof text\n");
  const auto lines = stream_in(io::open_lines(dir / "words"));
  const auto [text, lengths, count] = run(std::tuple(
      consume(ragged(lines)), consume(elements(map_seq([](auto line) { return unit(size(line)); }, lines))),
      consume(fold_seq([](auto x, auto y) { return unit(the(x) + the(y)); }, unit(std::int64_t{0}),
                       map_seq([](auto line) { return unit(size(line) * 0 + 1); }, lines)))));
  CHECK(lengths == Vector<std::int64_t>{4, 5, 0, 7});
  CHECK(count[Index{}] == 4);
  REQUIRE(text.size() == 4);
  const auto word = [&](std::int64_t i) {
    const auto bytes = text[i].values();
    return std::string(bytes.begin(), bytes.end());
  };
  CHECK(word(0) == "some");
  CHECK(word(2).empty());
  CHECK(word(3) == "of text");
  // And again as a stream.
  CHECK(run(consume(elements(map_seq([](auto line) { return unit(size(line)); }, stream_in(text))))) ==
        Vector<std::int64_t>{4, 5, 0, 7});
}

TEST_CASE("ragged results: elements of several components, and functions of arguments") {
  const auto program = compile<Vector<float>>([](auto v) {
    return std::tuple(
        consume(ragged(
            produce(size(v), [=](auto i) { return generate(i, [=](auto k) { return pack(k, v[i]); }); }))),
        sum(v));
  });
  const auto [pairs, all] = program(Vector<float>{0.5f, 1.5f, 2.5f});
  CHECK(all[Index{}] == 4.5f);
  REQUIRE(pairs.size() == 3);
  CHECK(pairs.offsets() == Vector<std::int64_t>{0, 0, 1, 3});
  CHECK(std::get<0>(pairs[2][1]) == 1);
  CHECK(std::get<1>(pairs[2][1]) == 2.5f);
}

TEST_CASE("ragged results: into memory that is there") {
  const auto program = compile<Vector<std::int64_t>>([](auto lengths) {
    return consume(ragged(produce(size(lengths), [=](auto i) { return fill(lengths[i], i); })));
  });
  Ragged<std::int64_t> into =
      Ragged<std::int64_t>::from_lengths(Vector<std::int64_t>{4, 4, 4}, Vector<std::int64_t>(12));
  const auto* const values = into.values().data();
  program.run_into(into, Vector<std::int64_t>{1, 0, 2});
  CHECK(into == Ragged<std::int64_t>{{0}, {}, {2, 2}});
  CHECK(into.values().data() == values);
  CHECK_THROWS_AS(program.run_into(into, Vector<std::int64_t>{9, 9}), ResourceError);
  CHECK(into == Ragged<std::int64_t>{{0}, {}, {2, 2}});
  // The room stays where vectors were fewer, and shorter.
  program.run_into(into, Vector<std::int64_t>{1});
  CHECK(into == Ragged<std::int64_t>{{0}});
  program.run_into(into, Vector<std::int64_t>{4, 0, 8});
  CHECK(into.size() == 3);
  CHECK(into[2] == Vector<std::int64_t>{2, 2, 2, 2, 2, 2, 2, 2});
  CHECK_THROWS_AS(program.run_into(into, Vector<std::int64_t>{1, 1, 1, 1}), ResourceError);
  Ragged<std::int64_t> moved = std::move(into);
  // NOLINTNEXTLINE(bugprone-use-after-move): the case
  CHECK_THROWS_WITH(program.run_into(into, Vector<std::int64_t>{1}), Catch::Contains("an empty handle"));
  into = std::move(moved);
  // Of several results.
  const auto two = compile<Vector<std::int64_t>>([](auto lengths) {
    const auto items = produce(size(lengths), [=](auto i) { return fill(lengths[i], i); });
    return std::tuple(consume(ragged(items)), consume(elements(map_seq(total, items))));
  });
  Vector<std::int64_t> sums(3);
  two.run_into(std::tie(into, sums), Vector<std::int64_t>{0, 3, 1});
  CHECK(into == Ragged<std::int64_t>{{}, {1, 1, 1}, {2}});
  CHECK(sums == Vector<std::int64_t>{0, 3, 2});
}

TEST_CASE("ragged results: of items that are pushed", "[once]") {
  auto stream = push_stream<Vector<std::int64_t>>([](auto s) { return consume(ragged(map_seq(evens, s))); });
  stream.push(Vector<std::int64_t>{1, 2, 4});
  stream.push(Vector<std::int64_t>{});
  stream.push(Vector<std::int64_t>{6});
  CHECK(stream.finish() == Ragged<std::int64_t>{{2, 4}, {}, {6}});
}

}  // namespace
}  // namespace anabranch::testing
