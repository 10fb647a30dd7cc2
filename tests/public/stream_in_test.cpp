#include <list>
#include <ranges>
#include <sstream>

#include <anabranch/io.h>

#include "agree.h"
#include "support/memory_source.h"

// Where streams come from: ranges of every kind, sources in every layout, rows, produce.
namespace anabranch::testing {
namespace {

const auto scale = [](auto row) { return map([](auto x) { return x * 2.0 + 1.0; }, row); };
const auto total = [](auto row) { return fold(plus, 0.5, row); };

std::vector<Vector<double>> some_rows() {
  std::vector<Vector<double>> rows;
  for (std::int64_t n : {5, 0, 64, 1, 0, 0, 130, 17, 33})
    rows.push_back(numbers<double>(n, static_cast<std::uint64_t>(n)));
  return rows;
}

TEST_CASE("containers, views and generators as ranges") {
  const auto rows = some_rows();
  const auto expected = agree(consume(elements(map_seq(total, stream_in(rows)))));
  REQUIRE(expected.size() == 9);
  require_same(agree(consume(elements(map_seq(total, stream_in(std::list(rows.begin(), rows.end())))))),
               expected);
  require_same(agree(consume(elements(map_seq(total, stream_in(std::views::all(rows)))))), expected);
  const auto computed = std::views::iota(0, 9) |
                        std::views::transform([&](int i) { return rows[static_cast<std::size_t>(i)]; });
  require_same(agree(consume(elements(map_seq(total, stream_in(computed))))), expected);
}

TEST_CASE("C arrays, and ranges that can only be moved") {
  Vector<double> array[] = {{1.0, 2.0}, {3.0}};
  const auto expected =
      agree(consume(elements(map_seq(total, stream_in(std::vector<Vector<double>>{{1.0, 2.0}, {3.0}})))));
  require_same(agree(consume(elements(map_seq(total, stream_in(array))))), expected);
  struct Owner : std::vector<Vector<double>> {
    using vector::vector;
    Owner(Owner&&) = default;
    Owner& operator=(Owner&&) = default;
  };
  Owner kept_outside{{1.0, 2.0}, {3.0}};
  require_same(agree(consume(elements(map_seq(total, stream_in(std::views::all(kept_outside)))))), expected);
  require_same(agree(consume(elements(map_seq(total, stream_in(std::move(kept_outside)))))), expected);
  Vector<double> rows[] = {{1.0, 2.0}, {3.0, 4.0}};
  require_same(agree(consume(elements(stream_in(regular(Index{2}), rows)))),
               Vector<double>{1.0, 2.0, 3.0, 4.0});
}

TEST_CASE("an item that is an empty handle is refused") {
  std::vector<Vector<double>> items{{1.0}, {2.0}};
  const Vector<double> taken = std::move(items[1]);
  const auto sums = consume(elements(map_seq(total, stream_in(items))));
  for (const RunOptions& options : configurations())
    CHECK_THROWS_WITH(run(sums, options), Catch::Contains("item 1 is an empty handle"));
}

TEST_CASE("an item of a container that is a chunk by itself is not copied") {
  const std::vector<Vector<double>> items{numbers<double>(1000, 1), numbers<double>(10, 2),
                                          numbers<double>(1000, 3)};
  const auto chunk_of = [](auto range, const Limit& limit) {
    detail::RangeSource<decltype(range), Vector<double>> source(std::move(range), std::nullopt, std::nullopt,
                                                                false, Place());
    SourceChunk chunk;
    REQUIRE(source.next(limit, chunk));
    return chunk;
  };
  const auto first = [](const SourceChunk& chunk) {
    return static_cast<const double*>(chunk.arrays[0].data[0].get());
  };
  const SourceChunk one = chunk_of(std::views::all(items), {.work = 1000});
  CHECK(one.items == 1);
  CHECK(one.bytes == 0);
  CHECK(first(one) == items[0].data());
  const SourceChunk all = chunk_of(std::views::all(items), {});
  CHECK(all.items == 3);
  CHECK(first(all) != items[0].data());
  for (const auto& [begin, item] : {std::pair{0, 0}, {1000, 1}, {1010, 2}})
    for (std::int64_t i = 0; i < items[static_cast<std::size_t>(item)].size(); ++i)
      CHECK(first(all)[begin + i] == items[static_cast<std::size_t>(item)][i]);
  // Who computes an item may write the next one where it lies.
  const auto computed = items | std::views::transform([](const Vector<double>& v) { return v; });
  CHECK(first(chunk_of(computed, {.work = 1000})) != items[0].data());
}

/// Ten vectors of three numbers, some at a time, with what a regular array has no use for: a place for each extent.
class WithSpareExtents final : public SourceBase {
 public:
  explicit WithSpareExtents(std::int64_t at_once) : at_once_(at_once) {
    info_.name = "spare extents";
    info_.arrays = {testing::array_info({ScalarType::float64}, {3}, 0)};
    info_.rewindable = true;
    info_.live = false;
    for (int i = 0; i < 30; ++i) numbers_->push_back(i);
  }
  const SourceInfo& info() const override { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) override {
    const std::int64_t items = std::min({at_once_, limit.items, 10 - next_});
    if (items == 0) return false;
    chunk = SourceChunk{items, 3 * items, 0, {}, 0};
    chunk.arrays.resize(1);
    chunk.arrays[0].data = {{numbers_, numbers_->data() + 3 * next_}};
    chunk.arrays[0].extents = {nullptr};
    next_ += items;
    return true;
  }
  void rewind() override { next_ = 0; }

 private:
  SourceInfo info_;
  std::int64_t at_once_, next_ = 0;
  std::shared_ptr<std::vector<double>> numbers_ = std::make_shared<std::vector<double>>();
};

TEST_CASE(
    "regular arrays with extents of their own nobody asked for, cut where another source ends its chunk") {
  const auto ten = [](std::int64_t at_once) {
    return stream_in(Source<Vector<double>>(std::make_shared<WithSpareExtents>(at_once)));
  };
  const auto sums = agree(consume(elements(
      map_seq(total, zip_with_seq([](auto a, auto b) { return zip_with(plus, a, b); }, ten(10), ten(3))))));
  REQUIRE(sums.size() == 10);
  for (std::int64_t i = 0; i < 10; ++i) CHECK(sums[i] == 2.0 * static_cast<double>(9 * i + 3) + 0.5);
}

TEST_CASE("a single-pass range is read once, item by item") {
  const auto read = [](const RunOptions& options) {
    std::istringstream text("3 1 4 1 5");
    int pulled = 0;
    auto items = std::ranges::subrange(std::istream_iterator<int>(text), std::istream_iterator<int>()) |
                 std::views::transform([&](int n) {
                   ++pulled;
                   return numbers<double>(n, 1);
                 });
    const auto out = run(consume(elements(map_seq(total, stream_in(std::move(items))))), options);
    REQUIRE(pulled == 5);
    return arrays_of(out);
  };
  REQUIRE(agree_erased(read, Loc::current())[0]->size() == 5);
}

TEST_CASE("a regular stream, and rows of a matrix") {
  for (std::int64_t n : {0, 1, 7, 64, 130}) {
    std::vector<Vector<double>> items;
    for (std::uint64_t r = 0; r < 9; ++r) items.push_back(numbers<double>(n, r));
    Matrix<double> matrix(Index{9, n});
    for (std::int64_t r = 0; r < 9; ++r)
      for (std::int64_t k = 0; k < n; ++k) matrix.set(Index{r, k}, items[static_cast<std::size_t>(r)][k]);
    std::vector<Vector<double>> scaled;
    for (const auto& item : items) scaled.push_back(agree(scale(use(item))));
    check_items(map_seq(scale, stream_in(regular(Index{n}), items)), scaled);
    check_items(map_seq(scale, rows(use(matrix))), scaled);
    check_items(map_seq(scale, rows(map([](auto x) { return x; }, use(matrix)))), scaled);
  }
}

TEST_CASE("rows of arrays of rank 1 and 4, and of nothing") {
  check_items(rows(use(Vector<std::int32_t>{4, 5})), {Scalar<std::int32_t>(4), Scalar<std::int32_t>(5)});
  check_items(rows(use(Vector<std::int32_t>{})), {});
  const auto cube = array_of(Index{2, 2, 1, 3}, [](std::int64_t i) { return i; });
  check_items(map_seq([](auto a) { return sum(a); }, rows(use(cube))),
              {Matrix<std::int64_t>(Index{2, 1}, {3, 12}), Matrix<std::int64_t>(Index{2, 1}, {21, 30})});
  check_items(rows(use(Matrix<double>(Index{3, 0}))), {Vector<double>{}, Vector<double>{}, Vector<double>{}});
}

TEST_CASE("produce") {
  const auto lengths = [](auto i) { return generate(i % 5, [=](auto k) { return i * 100 + k; }); };
  std::vector<Vector<std::int64_t>> expected;
  for (std::int64_t i = 0; i < 23; ++i)
    expected.push_back(vector_of(i % 5, [&](std::int64_t k) { return i * 100 + k; }));
  check_items(produce(23, lengths), expected);
  // Regular: the shape does not depend on the number.
  for (std::int64_t i = 0; i < 23; ++i)
    expected[static_cast<std::size_t>(i)] = vector_of(6, [&](std::int64_t k) { return i - k; });
  check_items(produce(23, [](auto i) { return generate(6, [=](auto k) { return i - k; }); }), expected);
  check_items(produce(0, lengths), {});
  // The count from an array; the item ignores its number.
  check_items(produce(the(use(Scalar<std::int64_t>(3))), [](auto) { return use(Vector<float>{1.5F}); }),
              {Vector<float>{1.5F}, Vector<float>{1.5F}, Vector<float>{1.5F}});
}

TEST_CASE("compressed rows in memory, with every width of index") {
  const auto check = []<class P, class I, class V>(P, I, V) {
    std::vector<P> ptr{0};
    std::vector<I> columns;
    std::vector<V> values;
    for (std::int64_t n : {3, 0, 20, 1, 0, 64, 5}) {
      for (std::int64_t k = 0; k < n; ++k) {
        columns.push_back(static_cast<I>((k * 7) % 50));
        values.push_back(number<V>(columns.size()));
      }
      ptr.push_back(static_cast<P>(columns.size()));
    }
    const auto x = numbers<V>(50, 3);
    const auto source = io::csr_view(7, 50, ptr, columns, values);
    const auto y = agree(consume(elements(map_seq(
        [&](auto row) {
          auto [c, v] = unzip(row);
          return fold(plus, V(0), zip_with(times, v, gather(c, use(x))));
        },
        stream_in(source)))));
    REQUIRE(y.size() == 7);
    for (std::int64_t r = 0; r < 7; ++r) {
      double dot = 0;
      for (P k = ptr[static_cast<std::size_t>(r)]; k < ptr[static_cast<std::size_t>(r + 1)]; ++k)
        dot += static_cast<double>(values[static_cast<std::size_t>(k)]) *
               static_cast<double>(x[static_cast<std::int64_t>(columns[static_cast<std::size_t>(k)])]);
      REQUIRE(std::abs(static_cast<double>(y[r]) - dot) <= 1e-3 * std::abs(dot));
    }
  };
  check(std::int32_t{}, std::int32_t{}, double{});
  check(std::int64_t{}, std::int64_t{}, double{});
  check(std::int64_t{}, std::int32_t{}, float{});
}

TEST_CASE("a source of tuples of arrays: regular, ragged and one extent per item") {
  std::vector<Item> items;
  for (std::int64_t i = 0; i < 13; ++i) {
    const std::int64_t n = (i * 5) % 7, m = (i * 3) % 4;
    items.push_back(
        {numbers<float>(4, static_cast<std::uint64_t>(i)).erased(),
         array_of(Index{n, 3}, [&](std::int64_t k) { return static_cast<std::int32_t>(i * 100 + k); })
             .erased(),
         array_of(Index{2, m}, [&](std::int64_t k) {
           return static_cast<double>(i) + 0.25 * static_cast<double>(k);
         }).erased()});
  }
  for (OffsetType offsets : {OffsetType::int32, OffsetType::int64}) {
    const std::vector<ArrayInfo> infos{array_info({ScalarType::float32}, {4}, 0),
                                       array_info({ScalarType::int32}, {std::nullopt, 3}, 1, offsets),
                                       array_info({ScalarType::float64}, {2, std::nullopt}, 2, offsets)};
    const auto stream = [&] {
      return stream_in(Source<std::tuple<Vector<float>, Matrix<std::int32_t>, Matrix<double>>>(
          std::make_shared<MemorySource>("mixture", infos, items)));
    };
    const auto sums = map_seq(
        [](auto a, auto b, auto c) { return std::tuple(sum(a), sum(b, 0), sum(c, 1), sum(b), c); }, stream());
    auto [first, second, third, fourth, same] = unzip_seq(sums);
    const auto [a, b, c, d, e] =
        agree(std::tuple(consume(elements(first)), consume(elements(second)), consume(tabulate(third)),
                         consume(elements(fourth)), consume(elements(same))));
    REQUIRE(a.size() == 13);
    REQUIRE(b.size() == 39);
    REQUIRE(c.shape() == Index{13, 2});
    std::vector<std::int64_t> heights;
    for (const Item& item : items) heights.push_back(item[1]->extents[0]);
    std::int64_t rows_of_all = 0;
    for (std::int64_t h : heights) rows_of_all += h;
    REQUIRE(d.size() == rows_of_all);
    for (std::int64_t i = 0; i < 13; ++i) {
      std::int32_t column = 0;
      for (std::int64_t r = 0; r < heights[static_cast<std::size_t>(i)]; ++r)
        column += static_cast<std::int32_t>(i * 100 + 3 * r + 1);
      REQUIRE(b[3 * i + 1] == column);
    }
  }
}

TEST_CASE("a source whose types are not the program's") {
  const auto source = ragged<double>("wrong", {{1.0}});
  REQUIRE_THROWS_AS(Source<Vector<float>>(source), ProgramError);
  REQUIRE_THROWS_AS(Source<Matrix<double>>(source), ProgramError);
  REQUIRE_THROWS_WITH(Source<Vector<float>>(source), Catch::Contains("wrong"));
}

/// Two vectors for each item; `second` says what is declared of the second one.
auto two_vectors(std::vector<std::int64_t> lengths, ArrayInfo second) {
  std::vector<Item> items;
  for (const std::int64_t n : lengths)
    items.push_back({numbers<std::int64_t>(n, 1).erased(), numbers<std::int64_t>(3, 2).erased()});
  ArrayInfo first;
  first.scalars = {ScalarType::int64};
  first.extents = {std::nullopt};
  second.scalars = first.scalars;
  return stream_in(Source<std::tuple<Vector<std::int64_t>, Vector<std::int64_t>>>(
      std::make_shared<MemorySource>("two", std::vector{std::move(first), std::move(second)}, items)));
}

TEST_CASE("arrays of a source that says nothing of their descriptors have extents of their own") {
  ArrayInfo regular, ragged;
  regular.extents = {3};
  ragged.extents = {std::nullopt};
  for (const ArrayInfo& second : {regular, ragged}) {
    const auto sums = map_seq([](auto a, auto b) { return unit(the(sum(a)) * 1000 + the(sum(b))); },
                              two_vectors({1, 5, 0, 2}, second));
    std::vector<Scalar<std::int64_t>> expected;
    for (const std::int64_t n : {1, 5, 0, 2}) {
      std::uint64_t a = 0, b = 0;  // wraps around, as the language's int64 does
      for (std::int64_t i = 0; i < n; ++i) a += static_cast<std::uint64_t>(numbers<std::int64_t>(n, 1)[i]);
      for (std::int64_t i = 0; i < 3; ++i) b += static_cast<std::uint64_t>(numbers<std::int64_t>(3, 2)[i]);
      expected.emplace_back(static_cast<std::int64_t>(a * 1000 + b));
    }
    check_items(sums, expected);
  }
}

TEST_CASE("a source that declares one descriptor and different extents contradicts itself") {
  using Catch::Contains;
  const auto declared = [](std::vector<std::vector<std::optional<std::int64_t>>> extents) {
    std::vector<ArrayInfo> infos;
    for (auto& e : extents) infos.push_back(array_info({ScalarType::int64}, std::move(e), 7));
    return std::make_shared<MemorySource>("two", infos, std::vector<Item>{});
  };
  const auto message = [](const std::shared_ptr<SourceBase>& source) -> std::string {
    try {
      detail::stream_in(source, Place(Symbol("model.py"), Symbol("main"), 9));
    } catch (const ProgramError& e) {
      return e.what();
    }
    return "nothing was refused";
  };
  const auto is_contradiction = [](const std::string& text) {
    CHECK_THAT(text, Contains("source two") && Contains("arrays 0 and 1") && Contains("model.py:9"));
  };
  is_contradiction(message(declared({{std::nullopt}, {3}})));
  is_contradiction(message(declared({{3}, {4}})));
  is_contradiction(message(declared({{std::nullopt}, {std::nullopt, 4}})));
  is_contradiction(message(declared({{}, {std::nullopt}})));
  CHECK_THAT(message(declared({{std::nullopt}, {std::nullopt}, {4}})), Contains("arrays 0 and 2"));
  CHECK_THAT(message(declared({{-1}})), Contains("source two") && Contains("negative"));
  CHECK_THAT(message(declared({{1, 1, 1, 1, 1}})), Contains("source two") && Contains("4 dimensions"));
  CHECK(message(declared({{std::nullopt, 2}, {std::nullopt, 2}})) == "nothing was refused");
}

}  // namespace
}  // namespace anabranch::testing
