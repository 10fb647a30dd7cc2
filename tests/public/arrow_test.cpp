#include <anabranch/io/arrow.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <ranges>
#include <thread>

#include "agree.h"
#include "arrow_given.h"
#include "support/memory_source.h"

// The Arrow C stream interface, in and out: streams made by hand, and ours read again.
namespace anabranch::testing {
namespace {

using Catch::Matchers::Contains;
using namespace std::chrono_literals;

template <class A>
void check_rows(const std::vector<Given>& batches, const std::vector<A>& expected, Loc at = Loc::current()) {
  for (const RunOptions& options :
       {RunOptions{.backend = Backend::interpreter}, RunOptions{.threads = 1, .scheduler = "fixed:1"},
        RunOptions{.threads = 2, .scheduler = "fixed:2"}, RunOptions{.threads = 2}}) {
    ArrowArrayStream stream = stream_of(batches);
    std::size_t i = 0;
    for (const A& item : stream_out(stream_in(io::from_arrow<A>(&stream)), options)) {
      REQUIRE(i < expected.size());
      require_same(item, expected[i++], at);
    }
    CHECK(stream.release == nullptr);
    CHECK(i == expected.size());
  }
  CHECK(alive == 0);
}

using V = Vector<std::int32_t>;

const std::vector<std::int32_t> some{10, 11, 12, 13, 14, 15, 16, 17};

TEST_CASE("arrow in: lists with both widths of offsets, slices of them, batches without rows", "[once]") {
  const Given child = numbers_of(some, "i");
  const std::vector<V> rows{{10, 11, 12}, {}, {13}, {14, 15}};
  check_rows<V>({list_of(std::vector<std::int32_t>{0, 3, 3, 4, 6}, child)}, rows);
  check_rows<V>({list_of(std::vector<std::int64_t>{0, 3, 3, 4, 6}, child)}, rows);
  check_rows<V>(
      {list_of(std::vector<std::int64_t>{0, 3, 3}, child), list_of(std::vector<std::int64_t>{0}, child),
       list_of(std::vector<std::int64_t>{3, 4, 6}, child)},
      rows);
  check_rows<V>({list_of(std::vector<std::int64_t>{0}, child)}, {});
  check_rows<V>({sliced(list_of(std::vector<std::int32_t>{0, 1, 3, 3, 4, 6, 8}, child), 1, 3)},
                {{11, 12}, {}, {13}});
  check_rows<V>({list_of(std::vector<std::int32_t>{0, 2, 4}, sliced(child, 3, 4))}, {{13, 14}, {15, 16}});
}

TEST_CASE("arrow in: numbers, bools, strings", "[once]") {
  check_rows<Scalar<std::int32_t>>(
      {sliced(numbers_of(some, "i"), 2, 2), numbers_of(some, "i")},
      {Scalar<std::int32_t>(12), Scalar<std::int32_t>(13), Scalar<std::int32_t>(10), Scalar<std::int32_t>(11),
       Scalar<std::int32_t>(12), Scalar<std::int32_t>(13), Scalar<std::int32_t>(14), Scalar<std::int32_t>(15),
       Scalar<std::int32_t>(16), Scalar<std::int32_t>(17)});
  check_rows<Scalar<half>>({numbers_of(std::vector<half>{half(0.5)}, "e")}, {Scalar<half>(half(0.5))});
  const Given bits{.format = "b", .length = 10, .buffers = {std::nullopt, std::string("\xb2\x01", 2)}};
  check_rows<Vector<bool>>({list_of(std::vector<std::int32_t>{1, 4, 9}, bits)},
                           {Vector<bool>{true, false, false}, Vector<bool>{true, true, false, true, true}});
  check_rows<Scalar<bool>>({sliced(bits, 7, 2)}, {Scalar<bool>(true), Scalar<bool>(true)});
  using Bytes = Vector<std::uint8_t>;
  for (const char* format : {"u", "z"})
    check_rows<Bytes>(
        {Given{.format = format,
               .length = 3,
               .buffers = {std::nullopt, bytes_of(std::vector<std::int32_t>{0, 2, 2, 5}), "hi you"}}},
        {Bytes{'h', 'i'}, Bytes{}, Bytes{' ', 'y', 'o'}});
  check_rows<Bytes>({Given{.format = "U",
                           .length = 1,
                           .buffers = {std::nullopt, bytes_of(std::vector<std::int64_t>{0, 1, 3}), "abc"},
                           .offset = 1}},
                    {Bytes{'b', 'c'}});
}

TEST_CASE("arrow in: what has to be copied is asked for before it is", "[once]") {
  constexpr std::int32_t count = 2'000'000;
  const Given bits{.format = "b", .length = count, .buffers = {std::nullopt, std::string(count / 8, '\xff')}};
  const auto sum_of = [&](std::int64_t memory) {
    ArrowArrayStream stream = stream_of({list_of(std::vector<std::int32_t>{0, 3, count}, bits)});
    const auto ones = [](auto row) { return sum(map([](auto b) { return cond(b, 1, 0); }, row)); };
    const auto counts =
        run(consume(elements(map_seq(ones, stream_in(io::from_arrow<Vector<bool>>(&stream))))),
            {.threads = 1, .memory = memory});
    return counts[0] + counts[1];
  };
  CHECK(sum_of(16 << 20) == count);
  CHECK_THROWS_WITH(sum_of(1 << 20), Catch::Contains("row 1 takes 1999997 bytes of memory"));
  CHECK_THROWS_AS(sum_of(1 << 20), ResourceError);
  CHECK(alive == 0);
}

TEST_CASE("arrow in: fixed-size lists, also inside of lists", "[once]") {
  check_rows<V>({fixed_of(2, numbers_of(some, "i"), 4), sliced(fixed_of(2, numbers_of(some, "i"), 4), 1, 2)},
                {{10, 11}, {12, 13}, {14, 15}, {16, 17}, {12, 13}, {14, 15}});
  check_rows<V>({fixed_of(3, sliced(numbers_of(some, "i"), 1, 6), 2)}, {{11, 12, 13}, {14, 15, 16}});
  check_rows<V>({fixed_of(0, numbers_of(some, "i"), 2)}, {V{}, V{}});
  using M = Matrix<std::int32_t>;
  check_rows<M>({fixed_of(2, fixed_of(2, numbers_of(some, "i"), 4), 2)},
                {M(Index{2, 2}, {10, 11, 12, 13}), M(Index{2, 2}, {14, 15, 16, 17})});
  check_rows<M>({list_of(std::vector<std::int32_t>{0, 1, 1, 3}, fixed_of(2, numbers_of(some, "i"), 4))},
                {M(Index{1, 2}, {10, 11}), M(Index{0, 2}), M(Index{2, 2}, {12, 13, 14, 15})});
  check_rows<M>({list_of(std::vector<std::int32_t>{0, 1, 1, 3}, fixed_of(0, numbers_of(some, "i"), 4))},
                {M(Index{1, 0}), M(Index{0, 0}), M(Index{2, 0})});
  // Slices at every level.
  check_rows<M>({sliced(list_of(std::vector<std::int32_t>{0, 1, 2, 3},
                                sliced(fixed_of(2, sliced(numbers_of(some, "i"), 1, 7), 3), 0, 3)),
                        1, 2)},
                {M(Index{1, 2}, {13, 14}), M(Index{1, 2}, {15, 16})});
}

TEST_CASE("arrow in: structs as elements, record batches as tuples, columns by name", "[once]") {
  using Entry = std::tuple<std::int32_t, double>;
  const Given values = numbers_of(std::vector<double>{0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5}, "g", "value");
  const Given entries = struct_of({numbers_of(some, "i", "column"), values}, 8);
  check_rows<Vector<Entry>>({list_of(std::vector<std::int32_t>{0, 2, 3}, entries)},
                            {Vector<Entry>{{10, 0.5}, {11, 1.5}}, Vector<Entry>{{12, 2.5}}});
  // A slice of structs is one of their children.
  check_rows<Vector<Entry>>({list_of(std::vector<std::int32_t>{0, 2}, sliced(entries, 5, 3))},
                            {Vector<Entry>{{15, 5.5}, {16, 6.5}}});
  check_rows<Scalar<Entry>>({sliced(entries, 6, 2)}, {Scalar<Entry>({16, 6.5}), Scalar<Entry>({17, 7.5})});
  check_rows<Scalar<std::complex<double>>>({struct_of({values, values}, 1)},
                                           {Scalar<std::complex<double>>({0.5, 0.5})});
  // One column of a batch, and two.
  check_rows<V>({struct_of({list_of(std::vector<std::int32_t>{0, 2, 3}, numbers_of(some, "i"))}, 2)},
                {{10, 11}, {12}});
  const Given table = struct_of({list_of(std::vector<std::int32_t>{0, 2, 3, 3}, numbers_of(some, "i"), "x"),
                                 sliced(values, 1, 3), numbers_of(some, "i", "n")},
                                3);
  for (const bool cut : {false, true}) {
    ArrowArrayStream stream = stream_of({cut ? sliced(table, 1, 2) : table});
    const auto rows =
        stream_in(io::from_arrow<std::tuple<Scalar<std::int32_t>, V>>(&stream, {.columns = {"n", "x"}}));
    auto [n, x] = unzip_seq(rows);
    auto [all, lists] = run(std::tuple(consume(elements(n)), consume(elements(x))));
    CHECK(all == (cut ? V{11, 12} : V{10, 11, 12}));
    CHECK(lists == (cut ? V{12} : V{10, 11, 12}));
  }
  ArrowArrayStream stream = stream_of({table});
  const auto rows = stream_in(io::from_arrow<std::tuple<V, Scalar<double>, Scalar<std::int32_t>>>(&stream));
  const auto sums = map_seq(
      [](auto x, auto v, auto n) {
        return map([=](auto s) { return cast<std::int32_t>(s) + the(n) + cast<std::int32_t>(the(v)); },
                   sum(x));
      },
      rows);
  CHECK(run(consume(elements(sums))) == V{10 + 11 + 10 + 1, 12 + 11 + 2, 0 + 12 + 3});
}

TEST_CASE("arrow in: chunks are views of the batch, which is released with the last of them", "[once]") {
  const Given given = list_of(std::vector<std::int32_t>{0, 3, 3, 4}, numbers_of(some, "i"));
  ArrowArrayStream stream = stream_of({given, given});
  SourceChunk first, second;
  {
    const auto source = io::from_arrow<V>(&stream);
    CHECK_FALSE(source.info().live);
    CHECK_FALSE(source.info().rewindable);
    CHECK(source.info().arrays[0].offsets == OffsetType::int32);
    REQUIRE(source.erased()->next({2}, first));
    CHECK(first.items == 2);
    CHECK(first.bytes == 3 * 4 + 3 * 4);
    REQUIRE(source.erased()->next({2}, second));
    CHECK(second.items == 1);
    CHECK(second.arrays[0].data[0] == first.arrays[0].data[0]);
    REQUIRE(source.erased()->next({2}, second));  // of the next batch
    CHECK(second.items == 2);
    CHECK(static_cast<const std::int32_t*>(first.arrays[0].data[0].get())[2] == 12);
  }
  CHECK(alive == 4);  // two lists and what is in them
  first = {};
  CHECK(alive == 2);
  second = {};
  CHECK(alive == 0);
}

template <class A>
std::string fault(const std::vector<Given>& batches, const io::ArrowOptions& options = {}) {
  ArrowArrayStream stream = stream_of(batches);
  std::string said;
  try {
    const auto source = io::from_arrow<A>(&stream, options);
    SourceChunk chunk;
    while (source.erased()->next({}, chunk)) {
    }
  } catch (const DataError& e) {
    said = e.what();
  }
  if (stream.release) stream.release(&stream);
  CHECK(alive == 0);
  return said;
}

TEST_CASE("arrow in: nulls are refused, with column and row", "[once]") {
  const auto with_nulls = [](Given given, const char* bits) {
    given.buffers[0] = bits;
    given.null_count = -1;
    return given;
  };
  const Given numbers = numbers_of(some, "i", "x");
  CHECK(fault<Scalar<std::int32_t>>({with_nulls(numbers, "\xff")}).empty());
  CHECK_THAT(fault<Scalar<std::int32_t>>({numbers, with_nulls(numbers, "\xdf")}),
             Contains("column 'x', row 13: a null"));
  const std::vector<std::int32_t> offsets{0, 2, 2, 5, 8};
  const Given lists = list_of(offsets, numbers, "l");
  CHECK_THAT(fault<V>({with_nulls(lists, "\x0d")}), Contains("column 'l', row 1: a null"));
  CHECK_THAT(fault<V>({list_of(offsets, with_nulls(numbers, "\xf7"))}), Contains("row 2: a null in it"));
  CHECK(fault<V>({sliced(with_nulls(lists, "\x0d"), 2, 2)}).empty());
  CHECK_THAT(fault<V>({fixed_of(2, with_nulls(numbers, "\xf7"), 4)}), Contains("row 1: a null in it"));
  using M = Matrix<std::int32_t>;
  CHECK_THAT(
      fault<M>({list_of(std::vector<std::int32_t>{0, 1, 4}, with_nulls(fixed_of(2, numbers, 4), "\x07"))}),
      Contains("row 1: a null in it"));
  CHECK_THAT(
      fault<M>({list_of(std::vector<std::int32_t>{0, 1, 4}, fixed_of(2, with_nulls(numbers, "\xfd"), 4))}),
      Contains("row 0: a null in it"));
  using Entry = std::tuple<std::int32_t, std::int32_t>;
  const Given entries = struct_of({numbers, with_nulls(numbers, "\xef")}, 8);
  CHECK_THAT(fault<Vector<Entry>>({list_of(offsets, entries)}), Contains("row 2: a null in it"));
  CHECK_THAT(fault<Vector<Entry>>({list_of(offsets, with_nulls(struct_of({numbers, numbers}, 8), "\x7f"))}),
             Contains("row 3: a null in it"));
}

TEST_CASE("arrow in: offsets and elements that are not aligned", "[once]") {
  const auto both = [](const auto& offsets) {
    const Given lists = list_of(offsets, numbers_of(some, "i"));
    Given other = skewed(lists);
    other.children = {skewed(lists.children[0])};
    check_rows<V>({other, sliced(other, 1, 2)}, {V{10, 11}, V{}, V{12, 13, 14}, V{}, V{12, 13, 14}});
    const auto wrong = [&](std::size_t byte, char value) {
      Given given = other;
      (*given.buffers[1])[given.skew + byte] = value;
      return fault<V>({given});
    };
    constexpr std::size_t width = sizeof(offsets[0]);
    CHECK_THAT(wrong(width, 9), Contains("the offset of row 2 is 2: negative, or smaller"));
    CHECK_THAT(wrong(width - 1, '\x80'), Contains("the offset of row 0 is -"));
  };
  both(std::vector<std::int32_t>{0, 2, 2, 5});
  both(std::vector<std::int64_t>{0, 2, 2, 5});
}

TEST_CASE("arrow in: other types than asked for are refused", "[once]") {
  const Given numbers = numbers_of(some, "i", "x");
  const Given lists = list_of(std::vector<std::int32_t>{0, 2}, numbers);
  CHECK_THAT(fault<Vector<float>>({lists}),
             Contains("its rows are list of int32, but 1 arrays were asked for"));
  CHECK_THAT(fault<Scalar<std::int32_t>>({lists}), Contains("rank 0 of int32"));
  CHECK_THAT(fault<Matrix<std::int32_t>>({lists}), Contains("rank 2 of int32"));
  CHECK_THAT(fault<V>({list_of(std::vector<std::int32_t>{0, 1}, lists)}), Contains("list of list of int32"));
  CHECK_THAT(fault<Matrix<std::int32_t>>({list_of(std::vector<std::int32_t>{0, 1}, lists)}),
             Contains("list of list"));
  CHECK_THAT(fault<V>({struct_of({numbers}, 8)}),
             Contains("column 'x' is int32, but rank 1 of int32 was asked for"));
  CHECK_THAT(fault<V>({struct_of({numbers, numbers}, 8)}), Contains("2 columns, but 1 arrays"));
  CHECK_THAT(fault<V>({struct_of({numbers, numbers}, 8)}, {.columns = {"y"}}), Contains("no column 'y'"));
  // Without a format, which no schema may be.
  CHECK_THAT(fault<V>({Given{.format = "", .length = 0, .buffers = {}}}), Contains("it has no schema"));
  CHECK_THAT(
      fault<V>({list_of(std::vector<std::int32_t>{0}, Given{.format = "", .length = 0, .buffers = {}})}),
      Contains("list of ''"));
  Given coded = numbers;
  coded.dictionary = {
      Given{.format = "u", .length = 0, .buffers = {std::nullopt, std::nullopt, std::nullopt}}};
  CHECK_THAT(fault<Scalar<std::int32_t>>({struct_of({coded}, 8)}),
             Contains("column 'x' is dictionary of string, but rank 0 of int32 was asked for"));
  CHECK_THAT(fault<V>({Given{.format = "tdD", .length = 0, .buffers = {}}}), Contains("date ('tdD')"));
  CHECK_THAT(fault<V>({Given{.format = "vu", .length = 0, .buffers = {}}}), Contains("string_view ('vu')"));
  CHECK_THAT(fault<V>({Given{.format = "+vl", .length = 0, .buffers = {}, .children = {numbers}}}),
             Contains("list_view of int32"));
  CHECK_THAT(
      fault<V>({Given{.format = "+w:x", .length = 0, .buffers = {std::nullopt}, .children = {numbers}}}),
      Contains("fixed_size_list[x]"));
}

TEST_CASE("arrow in: batches that contradict themselves are refused", "[once]") {
  const Given numbers = numbers_of(some, "i");
  const auto lists = [&](std::vector<std::int32_t> offsets) { return list_of(offsets, numbers); };
  CHECK_THAT(fault<V>({lists({0, 3, 2})}), Contains("the offset of row 2 is 2"));
  CHECK_THAT(fault<V>({lists({-1, 3})}), Contains("the offset of row 0 is -1: negative"));
  CHECK_THAT(fault<V>({lists({0, 9})}), Contains("8 elements are there, 9 are needed"));
  CHECK_THAT(fault<V>({fixed_of(3, numbers, 3)}), Contains("8 elements are there, 9 are needed"));
  CHECK_THAT(fault<V>({fixed_of(INT64_MAX, numbers, 3)}), Contains("overflows"));
  Given changed = lists({0, 3});
  changed.length = -1;
  CHECK_FALSE(fault<V>({changed}).empty());
  changed = lists({0, 3});
  changed.buffers[1] = std::nullopt;
  CHECK_THAT(fault<V>({changed}), Contains("no offsets"));
  changed = lists({0, 3});
  changed.children[0].buffers[1] = std::nullopt;
  CHECK_THAT(fault<V>({changed}), Contains("no elements"));
  changed = lists({0, 3});
  changed.buffers.pop_back();
  CHECK_THAT(fault<V>({changed}), Contains("1 buffers"));
  Given batch = struct_of({numbers}, 9);
  CHECK_THAT(fault<Scalar<std::int32_t>>({struct_of({numbers}, 8), batch}), Contains("9 are needed"));
}

TEST_CASE("arrow in: what get_next refuses, and streams that are gone", "[once]") {
  ArrowArrayStream stream = stream_of({numbers_of(some, "i"), numbers_of(some, "i")}, 1);
  const auto source = io::from_arrow<Scalar<std::int32_t>>(&stream);
  CHECK_THROWS_WITH(run(consume(elements(stream_in(source)))), "arrow stream: get_next: the server is gone");
  CHECK_THROWS_AS(io::from_arrow<V>(&stream), DataError);
  CHECK_THROWS_AS(io::from_arrow<V>(nullptr), DataError);
}

// ---- Out

template <class A>
std::vector<A> sent(const Seq<A>& sequence, const RunOptions& options) {
  ArrowArrayStream stream;
  io::to_arrow(sequence, &stream, {.run = options});
  std::vector<A> items;
  for (const A& item : stream_out(stream_in(io::from_arrow<A>(&stream)))) items.push_back(item);
  CHECK(stream.release == nullptr);
  return items;
}

template <class A>
void check_sent(const Seq<A>& sequence, std::size_t count) {
  std::vector<A> expected;
  for (const A& item : stream_out(sequence, {.backend = Backend::interpreter})) expected.push_back(item);
  REQUIRE(expected.size() == count);
  for (const RunOptions& options :
       {RunOptions{.backend = Backend::interpreter}, RunOptions{.scheduler = "fixed:1"},
        RunOptions{.scheduler = "fixed:7"}, RunOptions{}}) {
    const auto items = sent(sequence, options);
    REQUIRE(items.size() == count);
    for (std::size_t i = 0; i < count; ++i) require_same(items[i], expected[i]);
  }
}

TEST_CASE("arrow out: read again as what was sent", "[once]") {
  check_sent(produce(20, [](auto i) { return fill(i % 5, cast<float>(i)); }), 20);
  check_sent(produce(20, [](auto i) { return unit(i * i); }), 20);
  check_sent(produce(20, [](auto i) { return fill(3, i % 2 == 0); }), 20);
  check_sent(
      produce(20, [](auto i) { return generate(i % 4, [=](auto k) { return pack(k, cast<double>(i)); }); }),
      20);
  check_sent(produce(0, [](auto i) { return fill(i % 5, i); }), 0);
}

TEST_CASE("arrow out: several arrays, and lists in lists", "[once]") {
  const auto items = produce(6, [](auto i) {
    return std::tuple(
        generate(index_of(i % 3, i % 2 + 1), [=](auto ix) { return i * 100 + ix[0] * 10 + ix[1]; }),
        fill(2, cast<float>(i)), unit(i));
  });
  ArrowArrayStream stream;
  io::to_arrow(items, &stream, {.names = {"m", "f", "i"}, .run = {.scheduler = "fixed:4"}});
  ArrowSchema schema;
  REQUIRE(stream.get_schema(&stream, &schema) == 0);
  CHECK(schema.format == std::string("+s"));
  REQUIRE(schema.n_children == 3);
  CHECK(schema.children[0]->name == std::string("m"));
  CHECK(schema.children[0]->format == std::string("+L"));
  CHECK(schema.children[0]->children[0]->format == std::string("+L"));
  CHECK(schema.children[0]->children[0]->children[0]->format == std::string("l"));
  CHECK(schema.children[1]->children[0]->format == std::string("f"));
  CHECK(schema.children[2]->format == std::string("l"));
  schema.release(&schema);
  ArrowArray batch;
  REQUIRE(stream.get_next(&stream, &batch) == 0);
  REQUIRE(batch.length == 4);
  const auto numbers = [](const ArrowArray& array, std::int64_t count) {
    const auto* at = static_cast<const std::int64_t*>(array.buffers[1]);
    return std::vector<std::int64_t>(at, at + count);
  };
  const ArrowArray& matrices = *batch.children[0];
  CHECK(numbers(matrices, 5) == std::vector<std::int64_t>{0, 0, 1, 3, 3});  // rows of items 0 to 3
  const ArrowArray& inner = *matrices.children[0];
  CHECK(inner.length == 3);
  CHECK(numbers(inner, 4) == std::vector<std::int64_t>{0, 2, 3, 4});
  CHECK(numbers(*inner.children[0], 4) == std::vector<std::int64_t>{100, 101, 200, 210});
  CHECK(numbers(*batch.children[1], 5) == std::vector<std::int64_t>{0, 2, 4, 6, 8});
  CHECK(numbers(*batch.children[2], 4) == std::vector<std::int64_t>{0, 1, 2, 3});
  // A child that somebody moves out lives on.
  ArrowArray moved = *batch.children[2];
  batch.children[2]->release = nullptr;
  batch.release(&batch);
  CHECK(numbers(moved, 4)[3] == 3);
  moved.release(&moved);
  REQUIRE(stream.get_next(&stream, &batch) == 0);
  CHECK(batch.length == 2);
  stream.release(&stream);
  CHECK(batch.length == 2);  // a batch outlives its stream
  CHECK(numbers(*batch.children[2], 2)[1] == 5);
  batch.release(&batch);
}

TEST_CASE("arrow out: errors are codes and words, and a stream may be given up", "[once]") {
  const auto code_of = [](const auto& sequence, const RunOptions& options, const char* words) {
    ArrowArrayStream stream;
    io::to_arrow(sequence, &stream, {.run = options});
    ArrowArray batch;
    int code = 0;
    for (;;) {
      code = stream.get_next(&stream, &batch);
      if (code != 0 || !batch.release) break;
      batch.release(&batch);
    }
    if (code != 0) CHECK_THAT(stream.get_last_error(&stream), Contains(words));
    stream.release(&stream);
    return code;
  };
  const auto items = produce(100, [](auto i) { return fill(3, std::int64_t{1} / (i - 50)); });
  CHECK(code_of(items, {.scheduler = "fixed:7"}, "by zero") == EINVAL);
  const auto large = produce(10, [](auto i) { return fill(100'000, i); });
  CHECK(code_of(large, {.memory = 100'000}, "memory") == ENOMEM);
  CHECK(code_of(large, {}, "") == 0);
  // Each batch is given back before the next one is asked for, soon or late.
  const auto many = produce(200, [](auto i) { return fill(10'000, i); });
  for (const int ms : {0, 2}) {
    ArrowArrayStream stream;
    io::to_arrow(many, &stream, {.run = {.memory = 1 << 20}});
    ArrowArray batch;
    std::int64_t rows = 0;
    while (stream.get_next(&stream, &batch) == 0 && batch.release) {
      rows += batch.length;
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
      batch.release(&batch);
    }
    CHECK(rows == 200);
    stream.release(&stream);
  }
  std::stop_source stop;
  stop.request_stop();
  CHECK(code_of(large, {.stop = stop.get_token()}, "cancelled") == ECANCELED);
  // Endless, more than anybody takes.
  const auto endless = produce(INT64_MAX, [](auto i) { return fill(10, i); });
  ArrowArrayStream stream;
  io::to_arrow(endless, &stream, {.run = {.scheduler = "fixed:100"}});
  ArrowArray batch;
  REQUIRE(stream.get_next(&stream, &batch) == 0);
  batch.release(&batch);
  stream.release(&stream);
  // Never asked for anything.
  io::to_arrow(endless, &stream);
  stream.release(&stream);
  CHECK_THROWS_AS(io::to_arrow(endless, &stream, {.names = {"a", "b"}}), ProgramError);
}

TEST_CASE("arrow out: batches that are kept count, be the items read in pieces", "[once]") {
  const auto source =
      ragged<double>("rows", std::vector<std::vector<double>>(500, std::vector<double>(1000, 0.5)));
  source->read_in_pieces();
  const auto halves = map_seq([](auto row) { return map([](auto x) { return x * 0.5; }, row); },
                              stream_in(Source<Vector<double>>(source)));
  ArrowArrayStream stream;
  io::to_arrow(halves, &stream, {.run = {.memory = 2 << 20}});  // of 4 MB
  std::vector<ArrowArray> batches;
  std::int64_t rows = 0;
  int code = 0;
  for (;;) {
    ArrowArray batch;
    code = stream.get_next(&stream, &batch);
    if (code != 0 || !batch.release) break;
    rows += batch.length;
    batches.push_back(batch);
  }
  CHECK(code == ENOMEM);
  CHECK(rows * 8000 <= 2 << 20);
  for (ArrowArray& batch : batches) batch.release(&batch);
  stream.release(&stream);
}

TEST_CASE("arrow out: a stop request ends the run also where nobody asks for a batch", "[once]") {
  const auto source =
      ragged<double>("rows", std::vector<std::vector<double>>(1000, std::vector<double>(10, 0.5)));
  const auto rows = stream_in(Source<Vector<double>>(source));
  const auto halves = map_seq([](auto row) { return map([](auto x) { return x * 0.5; }, row); }, rows);
  const auto lengths = consume(elements(map_seq([](auto row) { return unit(size(row)); }, rows)));
  std::stop_source stop;
  ArrowArrayStream stream;
  io::to_arrow(halves, &stream, {.run = {.scheduler = "fixed:10", .stop = stop.get_token()}});
  ArrowArray batch;
  REQUIRE(stream.get_next(&stream, &batch) == 0);
  REQUIRE(batch.release);
  batch.release(&batch);
  // It has the source, and two batches that wait to be taken.
  CHECK_THROWS_AS(run(lengths), RunError);
  stop.request_stop();
  bool is_free = false;
  for (int i = 0; i < 6000 && !is_free; ++i) try {
      CHECK(run(lengths).size() == 1000);
      is_free = true;
    } catch (const RunError&) {
      std::this_thread::sleep_for(10ms);
    }
  CHECK(is_free);
  int code = 0;
  while ((code = stream.get_next(&stream, &batch)) == 0 && batch.release) batch.release(&batch);
  CHECK(code == ECANCELED);
  stream.release(&stream);
}

TEST_CASE("arrow in: batches whose rows say whether they are null", "[once]") {
  const auto with_bits = [](Given given, const char* bits) {
    given.buffers[0] = bits;
    given.null_count = -1;
    return given;
  };
  const Given rows = struct_of({numbers_of(some, "i", "x"), numbers_of(some, "i", "y")}, 8);
  using Both = std::tuple<Scalar<std::int32_t>, Scalar<std::int32_t>>;
  CHECK(fault<Both>({with_bits(rows, "\xff")}).empty());
  CHECK_THAT(fault<Both>({rows, with_bits(rows, "\xdf")}), Contains("row 13: the batch is null there"));
  CHECK(fault<Both>({sliced(with_bits(rows, "\xf9"), 3, 5)}).empty());
  CHECK_THAT(fault<Both>({sliced(with_bits(rows, "\xdf"), 3, 5)}),
             Contains("row 2: the batch is null there"));
  Given known = with_bits(rows, "\x00");
  known.null_count = 0;
  CHECK(fault<Both>({known}).empty());
  CHECK_THAT(fault<Both>({rows, struct_of({numbers_of(some, "i", "x")}, 8)}),
             Contains("rows 8 to 15: the batch has 1 column, 2 are needed"));
}

TEST_CASE("arrow out: what is thrown need not be a std::exception", "[once]") {
  const auto items = std::views::iota(0, 10) | std::views::transform([](int i) {
                       if (i == 5) throw 42;
                       return Vector<double>{static_cast<double>(i)};
                     });
  ArrowArrayStream stream;
  io::to_arrow(stream_in(items), &stream);
  ArrowArray batch;
  int code = 0;
  for (int k = 0; k < 10 && code == 0; ++k) {
    code = stream.get_next(&stream, &batch);
    if (code == 0 && batch.release) batch.release(&batch);
  }
  REQUIRE(code == EINVAL);
  CHECK_THAT(stream.get_last_error(&stream), Contains("no std::exception"));
  stream.release(&stream);
}

}  // namespace
}  // namespace anabranch::testing
