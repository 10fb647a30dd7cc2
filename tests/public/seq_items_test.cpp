#include <atomic>
#include <stdexcept>
#include <thread>

#include "agree.h"
#include "support/memory_source.h"

// Sequences that have other items than the ones they are made of: filter_seq, take_while_seq, drop_seq, append_seq,
// flat_map_seq, before and behind functions, in each other, zipped with what they are made of.
namespace anabranch::testing {
namespace {

const auto doubled = [](auto row) { return map([](auto x) { return x * 2.0; }, row); };
const auto is_long = [](auto row) { return size(row) >= 9; };
const auto total = [](auto row) { return sum(row); };
constexpr Backend both[] = {Backend::interpreter, Backend::cpu};

std::vector<Vector<double>> some_rows() {
  std::vector<Vector<double>> rows;
  for (std::int64_t n : {3, 0, 70, 1, 128, 9, 0, 17, 17, 2})
    rows.push_back(numbers<double>(n, static_cast<std::uint64_t>(n) + rows.size()));
  return rows;
}

template <class A, class P>
std::vector<A> kept(const std::vector<A>& items, P p) {
  std::vector<A> out;
  for (const A& item : items)
    if (p(item)) out.push_back(item);
  return out;
}
std::vector<Vector<double>> twice(std::vector<Vector<double>> rows) {
  for (auto& row : rows) row = vector_of(row.size(), [&](std::int64_t i) { return row[i] * 2.0; });
  return rows;
}
template <class A>
std::vector<A> without_first(std::size_t n, const std::vector<A>& items) {
  return {items.begin() + static_cast<std::ptrdiff_t>(std::min(n, items.size())), items.end()};
}
template <class A>
std::vector<A> joined_items(std::vector<A> a, const std::vector<A>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Numbers 0, 1, 2, ... without an end, one vector of two each, in chunks of at most 5; counts what it is asked for.
class Endless : public SourceBase {
 public:
  explicit Endless(bool rewindable, std::int64_t fails = INT64_MAX) : fails_(fails) {
    info_.name = "endless";
    info_.arrays = {array_info({ScalarType::float64}, {2}, 0)};
    info_.rewindable = rewindable;
    info_.live = false;
  }
  const SourceInfo& info() const override { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) override {
    const std::int64_t count = std::min<std::int64_t>({limit.items, limit.work, 5});
    auto values = std::make_shared<std::vector<double>>();
    for (std::int64_t k = 0; k < count; ++k) {
      if (asked_ == fails_) throw std::domain_error("item " + std::to_string(asked_) + " is damaged");
      values->push_back(static_cast<double>(asked_.fetch_add(1)));
      values->push_back(0.5);
    }
    chunk = {count, 2 * count, 16 * count, {}};
    chunk.arrays.resize(1);
    chunk.arrays[0].data.emplace_back(values, values->data());
    return true;
  }
  void rewind() override { asked_ = 0; }
  std::int64_t asked() const { return asked_; }

 private:
  SourceInfo info_;
  std::int64_t fails_;
  std::atomic<std::int64_t> asked_ = 0;
};

TEST_CASE("filter_seq keeps the items for which its condition holds, in their order") {
  const auto rows_ = some_rows();
  const auto expected = kept(rows_, [](const auto& row) { return row.size() >= 9; });
  check_items(filter_seq(is_long, stream_in(rows_)), expected);
  check_items(map_seq(doubled, filter_seq(is_long, map_seq(doubled, stream_in(rows_)))),
              twice(twice(expected)));
  check_items(filter_seq([](auto row) { return map([](auto n) { return n < 9; }, unit(size(row))); },
                         stream_in(rows_)),
              kept(rows_, [](const auto& row) { return row.size() < 9; }));
  check_items(filter_seq([](auto) { return Exp<bool>(true); }, stream_in(rows_)), rows_);
  check_items(filter_seq([](auto) { return Exp<bool>(false); }, stream_in(rows_)), {});
  check_items(filter_seq(is_long, stream_in(std::vector<Vector<double>>{})), {});
  check_items(filter_seq(is_long, filter_seq([](auto row) { return size(row) != 17; }, stream_in(rows_))),
              kept(rows_, [](const auto& row) { return row.size() >= 9 && row.size() != 17; }));
}

TEST_CASE("filter_seq of every kind of source, and of items of several arrays") {
  const Matrix<double> matrix =
      array_of(Index{31, 7}, [](std::int64_t i) { return number<double>(static_cast<std::uint64_t>(i)); });
  std::vector<Vector<double>> of_matrix;
  for (std::int64_t r = 0; r < 31; ++r)
    of_matrix.push_back(vector_of(7, [&](std::int64_t i) { return matrix[Index{r, i}]; }));
  const auto positive = [](auto row) { return the(sum(row)) > 0.0; };
  const auto is_positive = [](const auto& row) { return agree(sum(use(row)))[Index{}] > 0.0; };
  check_items(filter_seq(positive, rows(use(matrix))), kept(of_matrix, is_positive));
  // Numbers, and arrays whose shape follows from them.
  check_items(
      filter_seq([](auto n) { return the(n) % 3 == 1; }, produce(100, [](auto i) { return unit(i); })), [&] {
        std::vector<Scalar<std::int64_t>> expected;
        for (std::int64_t i = 1; i < 100; i += 3) expected.push_back(Scalar<std::int64_t>(i));
        return expected;
      }());
  const auto tables = produce(
      13, [](auto i) { return generate(index_of(i % 4, i), [](auto ix) { return ix[0] * 100 + ix[1]; }); });
  std::vector<Matrix<std::int64_t>> expected;
  for (std::int64_t i = 0; i < 13; i += 2) {
    Matrix<std::int64_t> table(Index{i % 4, i});
    for (std::int64_t r = 0; r < i % 4; ++r)
      for (std::int64_t c = 0; c < i; ++c) table.set(Index{r, c}, r * 100 + c);
    expected.push_back(table);
  }
  check_items(filter_seq([](auto t) { return extent(t, 1) % 2 == 0; }, tables), expected);
  // Only one of the arrays is read behind the filter.
  const auto pairs =
      map_seq([](auto row) { return std::tuple(row, doubled(row), sum(row)); }, stream_in(some_rows()));
  const auto [first, second, sums] =
      unzip_seq(filter_seq([](auto, auto two, auto s) { return size(two) > 2 && the(s) > 0.0; }, pairs));
  const auto of_row = [&](const auto& row) { return row.size() > 2 && agree(sum(use(row)))[Index{}] > 0.0; };
  check_items(second, twice(kept(some_rows(), of_row)));
  const auto [all, all_sums] = agree(std::tuple(consume(elements(first)), consume(tabulate(sums))));
  REQUIRE(all_sums.size() == std::ssize(kept(some_rows(), of_row)));
}

TEST_CASE("what follows the end of take_while_seq may fail, whatever the chunks") {
  const std::vector<Vector<double>> given{{1}, {1.5}, {3}, {}, {1}};
  const auto s = stream_in(given);
  const auto small = [](auto row) { return row[0] < 2.0; };
  check_items(take_while_seq(small, s), {{1}, {1.5}});
  check_items(take_while_seq(small, map_seq([](auto row) { return fill(1, row[0]); }, s)), {{1}, {1.5}});
  // Behind other sequences that are computed, too.
  check_items(take_while_seq(small, drop_seq(1, filter_seq([](auto row) { return row[0] > 0; }, s))),
              {{1.5}});
  for (const auto& options : {RunOptions{}, RunOptions{.backend = Backend::interpreter}})
    CHECK_THROWS_AS(run(consume(elements(take_while_seq([](auto row) { return row[0] < 5; }, s))), options),
                    RunError);
}

TEST_CASE(
    "what follows the end of take_while_seq may fail inside of functions, too, and beside other results") {
  const Vector<double> table{0.5, 1.5, 2.5, 3.5};
  // The fifth entry and those behind it are not there; the third one ends the sequence.
  const auto begin_of = [&](auto n) {
    return consume(elements(take_while_seq([](auto x) { return the(x) < 2.0; },
                                           produce(n, [&](auto i) { return unit(use(table)[i]); }))));
  };
  // In a loop, by as many items as it has had rounds.
  const auto sums = awhile(
      [](auto state) { return state[1] < 40.0; },
      [&](auto state) {
        const auto first = begin_of(cast<std::int64_t>(state[1]));
        return generate(2, [=](auto i) { return cond(i == 0, state[0] + the(sum(first)), state[1] + 3.0); });
      },
      use(Vector<double>{0, 1}));
  CHECK(agree(sums)[0] == 0.5 + 12 * 2.0);
  // Of a source that can be read once, beside another result.
  const auto once = [] {
    return stream_in(Source<Vector<double>>(ragged<double>("tape", {{0.5}, {1.5}, {2.5}, {}, {3.5}}, false)));
  };
  for (const RunOptions& options : configurations()) {
    const auto s = once();
    const auto [some, lengths] =
        run(std::tuple(consume(elements(take_while_seq([](auto x) { return the(x) < 2.0; },
                                                       map_seq([](auto row) { return unit(row[0]); }, s)))),
                       consume(elements(map_seq([](auto row) { return unit(size(row)); }, s)))),
            options);
    require_same(some, Vector<double>{0.5, 1.5});
    require_same(lengths, Vector<std::int64_t>{1, 1, 1, 0, 1});
  }
}

TEST_CASE("take_while_seq ends before the first item for which its condition does not hold") {
  const auto rows_ = some_rows();
  check_items(take_while_seq([](auto row) { return size(row) < 100; }, stream_in(rows_)),
              {rows_.begin(), rows_.begin() + 4});
  check_items(take_while_seq([](auto row) { return size(row) < 3; }, stream_in(rows_)), {});
  check_items(map_seq(doubled, take_while_seq([](auto row) { return size(row) < 1000; }, stream_in(rows_))),
              twice(rows_));
  for (const bool rewindable : {true, false}) {
    const auto source = std::make_shared<Endless>(rewindable);
    const auto s =
        take_while_seq([](auto pair) { return pair[0] < 12.0; }, stream_in(Source<Vector<double>>(source)));
    if (rewindable)
      REQUIRE(agree(consume(elements(s))).size() == 24);
    else
      REQUIRE(run(consume(elements(s)), {.scheduler = "fixed:4"}).size() == 24);
    REQUIRE(source->asked() <= 20);  // not beyond the chunk that ends it
  }
}

TEST_CASE("drop_seq passes over the first items, and computes nothing of them") {
  const auto rows_ = some_rows();
  for (const std::int64_t n : {0, 1, 4, 9, 10, 1000}) {
    INFO(n);
    const auto rest = without_first(static_cast<std::size_t>(n), rows_);
    check_items(drop_seq(n, stream_in(rows_)), rest);
    check_items(drop_seq(n, map_seq(doubled, stream_in(rows_))), twice(rest));
    check_items(map_seq(doubled, drop_seq(n, stream_in(rows_))), twice(rest));
    check_items(drop_seq(n, take_seq(6, stream_in(rows_))),
                without_first(static_cast<std::size_t>(n), std::vector(rows_.begin(), rows_.begin() + 6)));
    check_items(take_seq(3, drop_seq(n, stream_in(rows_))),
                std::vector(rest.begin(), rest.begin() + std::min<std::ptrdiff_t>(3, std::ssize(rest))));
    check_items(drop_seq(n, drop_seq(2, stream_in(rows_))),
                without_first(static_cast<std::size_t>(n) + 2, rows_));
  }
  const auto inverse = [](auto i) { return unit(10 / (i - 2)); };
  check_items(drop_seq(3, produce(5, inverse)), {Scalar<std::int64_t>(10), Scalar<std::int64_t>(5)});
  fails<RunError>(consume(elements(drop_seq(-1, stream_in(rows_)))),
                  {"drop_seq", "the number of items is -1", "seq_items_test.cpp"});
  fails<RunError>(consume(elements(drop_seq(2, take_seq(-3, stream_in(rows_))))), {"take_seq", "-3"});
}

TEST_CASE("append_seq gives the items of one sequence after those of the other") {
  const auto rows_ = some_rows();
  const std::vector<Vector<double>> others{{1, 2, 3}, {}, {4}};
  check_items(append_seq(stream_in(rows_), stream_in(others)), joined_items(rows_, others));
  check_items(append_seq(stream_in(others), map_seq(doubled, stream_in(rows_)), stream_in(others)),
              joined_items(joined_items(others, twice(rows_)), others));
  // The same source twice: the second pass begins when the first has ended.
  check_items(append_seq(stream_in(others), stream_in(others)), joined_items(others, others));
  check_items(append_seq(stream_in(std::vector<Vector<double>>{}), stream_in(others)), others);
  check_items(append_seq(stream_in(others), stream_in(std::vector<Vector<double>>{})), others);
  // Items of one shape, and items of another one.
  const auto of_length = [](std::int64_t n, std::int64_t length) {
    return produce(n, [=](auto i) { return generate(length, [=](auto j) { return i * 100 + j; }); });
  };
  std::vector<Vector<std::int64_t>> expected;
  for (std::int64_t i = 0; i < 5; ++i)
    expected.push_back(vector_of(4, [&](std::int64_t j) { return i * 100 + j; }));
  auto longer = expected;
  for (std::int64_t i = 0; i < 3; ++i)
    expected.push_back(vector_of(4, [&](std::int64_t j) { return i * 100 + j; }));
  for (std::int64_t i = 0; i < 3; ++i)
    longer.push_back(vector_of(6, [&](std::int64_t j) { return i * 100 + j; }));
  check_items(append_seq(of_length(5, 4), of_length(3, 4)), expected);
  check_items(append_seq(of_length(5, 4), of_length(3, 6)), longer);
  check_items(take_seq(4, append_seq(of_length(2, 4), of_length(1000000000, 4))),
              {expected[0], expected[1], expected[0], expected[1]});
}

TEST_CASE("flat_map_seq gives the items of the sequences that its function makes of items") {
  const auto rows_ = some_rows();
  // Each element an item.
  const auto each = flat_map_seq([](auto row) { return rows(row); }, stream_in(rows_));
  std::vector<Scalar<double>> numbers_;
  for (const auto& row : rows_)
    for (std::int64_t i = 0; i < row.size(); ++i) numbers_.push_back(Scalar<double>(row[i]));
  check_items(each, numbers_);
  // Prefixes of each row, that is items of computed shapes.
  const auto prefixes = flat_map_seq(
      [](auto row) { return produce(min(size(row), 3), [=](auto i) { return take(i + 1, row); }); },
      stream_in(rows_));
  std::vector<Vector<double>> expected;
  for (const auto& row : rows_)
    for (std::int64_t i = 0; i < std::min<std::int64_t>(row.size(), 3); ++i)
      expected.push_back(vector_of(i + 1, [&](std::int64_t j) { return row[j]; }));
  check_items(prefixes, expected);
  check_items(map_seq(doubled, filter_seq([](auto row) { return size(row) > 1; }, prefixes)),
              twice(kept(expected, [](const auto& row) { return row.size() > 1; })));
  // Matrices, and items of two arrays.
  const auto tables = flat_map_seq(
      [](auto row) {
        return map_seq(
            [](auto x) {
              return std::tuple(generate(index_of(cast<std::int64_t>(the(x)) % 3 + 2, 2),
                                         [=](auto ix) { return the(x) + cast<double>(ix[0]); }),
                                x);
            },
            rows(row));
      },
      stream_in(std::vector<Vector<double>>{{1, 2}, {}, {5, 3, 7}}));
  const auto [big, small] = unzip_seq(tables);
  std::vector<Matrix<double>> matrices;
  for (const double x : {1.0, 2.0, 5.0, 3.0, 7.0}) {
    Matrix<double> m(Index{static_cast<std::int64_t>(x) % 3 + 2, 2});
    for (std::int64_t i = 0; i < m.size(); ++i) m.set(i, x + static_cast<double>(i / 2));
    matrices.push_back(m);
  }
  check_items(big, matrices);
  REQUIRE(agree(consume(elements(small))).size() == 5);
  check_items(flat_map_seq([](auto row) { return take_seq(0, rows(row)); }, stream_in(rows_)), {});
}

TEST_CASE("a sequence zipped with other items of its own reads its source once") {
  const auto rows_ = some_rows();
  const auto s = stream_in(rows_);
  const auto lengths = [](auto a, auto b) { return unit(size(a) * 1000 + size(b)); };
  const auto expected = [&](const std::vector<Vector<double>>& a, const std::vector<Vector<double>>& b) {
    std::vector<Scalar<std::int64_t>> out;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      out.push_back(Scalar<std::int64_t>(a[i].size() * 1000 + b[i].size()));
    return out;
  };
  check_items(zip_with_seq(lengths, s, drop_seq(1, s)), expected(rows_, without_first(1, rows_)));
  check_items(zip_with_seq(lengths, drop_seq(3, s), s), expected(without_first(3, rows_), rows_));
  check_items(zip_with_seq(lengths, filter_seq(is_long, s), s),
              expected(kept(rows_, [](const auto& row) { return row.size() >= 9; }), rows_));
  check_items(zip_with_seq(lengths, append_seq(s, s), drop_seq(2, s)),
              expected(rows_, without_first(2, rows_)));
  // Also a source that can be read only once.
  for (const char* scheduler : {"adaptive", "fixed:1", "fixed:3"}) {
    const auto once = std::make_shared<Endless>(false);
    const auto t = stream_in(Source<Vector<double>>(once));
    const Vector<double> sums = run(
        consume(elements(take_seq(
            7, zip_with_seq([](auto a, auto b) { return unit(a[0] * 100.0 + b[0]); }, t, drop_seq(1, t))))),
        {.scheduler = scheduler});
    REQUIRE(sums.size() == 7);
    for (std::int64_t i = 0; i < 7; ++i) REQUIRE(sums[i] == static_cast<double>(i * 100 + i + 1));
  }
}

TEST_CASE("sequences that are appended pass over a stream anew, unless it is read meanwhile, too") {
  const auto rows_ = some_rows(), others_ = twice(rows_);
  const auto s = stream_in(rows_), t = stream_in(others_);
  const auto pairs = [](const auto& a, const auto& b) {
    return zip_with_seq(
        [](auto x, auto y) { return map([=](auto e) { return e + cast<double>(size(y)); }, x); }, a, b);
  };
  using Rows = std::vector<Vector<double>>;
  const auto paired = [](const Rows& a, const Rows& b) {
    Rows out;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      out.push_back(
          vector_of(a[i].size(), [&](std::int64_t k) { return a[i][k] + static_cast<double>(b[i].size()); }));
    return out;
  };
  const Rows behind = without_first(1, rows_), own = paired(rows_, behind);
  const auto own_pairs = pairs(s, drop_seq(1, s));
  // Each on its own, whatever places it has.
  check_items(append_seq(s, own_pairs), joined_items(rows_, own));
  check_items(append_seq(own_pairs, append_seq(s, own_pairs)), joined_items(own, joined_items(rows_, own)));
  check_items(append_seq(append_seq(s, t), own_pairs), joined_items(joined_items(rows_, others_), own));
  check_items(pairs(append_seq(s, own_pairs), t), paired(joined_items(rows_, own), others_));
  // What another place has read meanwhile is kept.
  const auto longer = joined_items(behind, rows_);
  check_items(pairs(s, append_seq(drop_seq(1, s), s)), paired(rows_, longer));
  check_items(pairs(append_seq(drop_seq(1, s), s), append_seq(t, s)),
              paired(longer, joined_items(others_, rows_)));
  check_items(pairs(append_seq(s, t), append_seq(t, s)),
              paired(joined_items(rows_, others_), joined_items(others_, rows_)));
}

TEST_CASE("errors before and behind other items name the item and come out where they are") {
  const auto rows_ = some_rows();
  const auto at_three = [](auto row) { return unit(row[3]); };
  fails<RunError>(consume(elements(map_seq(
                      at_three, filter_seq([](auto row) { return size(row) < 10; }, stream_in(rows_))))),
                  {"index 3 out of range", "seq_items_test.cpp"});
  fails<RunError>(consume(elements(filter_seq(is_long, map_seq(at_three, stream_in(rows_))))),
                  {"index 3 out of range"});
  check_items(map_seq(at_three, filter_seq(is_long, stream_in(rows_))), [&] {
    std::vector<Scalar<double>> expected;
    for (const auto& row : kept(rows_, [](const auto& r) { return r.size() >= 9; }))
      expected.push_back(Scalar<double>(row[3]));
    return expected;
  }());
  const auto damaged = std::make_shared<Endless>(true, 6);
  const auto d = stream_in(Source<Vector<double>>(damaged));
  check_items(take_seq(2, filter_seq([](auto pair) { return pair[0] > 2.0; }, d)), {{3.0, 0.5}, {4.0, 0.5}});
  fails<std::domain_error>(consume(elements(filter_seq([](auto pair) { return pair[0] > 2.0; }, d))),
                           {"item 6 is damaged"});
}

TEST_CASE("a filter that keeps nothing of an endless stream is stopped") {
  const auto endless = std::make_shared<Endless>(true);
  std::stop_source stop;
  const auto watch =
      filter_seq([](auto pair) { return pair[1] > 1.0; }, stream_in(Source<Vector<double>>(endless)));
  std::jthread stopper([&] {
    while (endless->asked() < 1000) std::this_thread::yield();
    stop.request_stop();
  });
  REQUIRE_THROWS_AS(run(consume(elements(watch)), {.stop = stop.get_token()}), Cancelled);
}

TEST_CASE("several results of sequences with the same sources are computed in one pass") {
  const auto once = std::make_shared<Endless>(false);
  const auto s = take_seq(50, stream_in(Source<Vector<double>>(once)));
  const auto long_ones = filter_seq([](auto pair) { return pair[0] >= 10.0; },
                                    stream_in(std::vector<Vector<double>>{{5, 1}, {12, 2}, {30, 3}}));
  const auto [sums, products, all, n] = run(
      std::tuple(consume(elements(map_seq(total, s))),
                 consume(elements(map_seq([](auto pair) { return product(pair); }, s))), consume(tabulate(s)),
                 sum(consume(elements(map_seq([](auto pair) { return unit(size(pair)); }, s))))));
  REQUIRE(once->asked() == 50);
  REQUIRE(sums.size() == 50);
  REQUIRE(sums[7] == 7.5);
  REQUIRE(products[8] == 4.0);
  REQUIRE(all.shape() == Index{50, 2});
  REQUIRE(n[Index{}] == 100);
  const auto [a, b] =
      agree(std::tuple(consume(elements(long_ones)), consume(elements(map_seq(total, long_ones)))));
  REQUIRE(a.size() == 4);
  REQUIRE(b.size() == 2);
}

/// Numbers 0 ... n - 1, once.
class Once : public SourceBase {
 public:
  explicit Once(std::int64_t n) : n_(n) {
    info_.name = "once";
    info_.arrays = {array_info({ScalarType::float64}, {}, 0)};
    info_.live = false;
  }
  const SourceInfo& info() const override { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) override {
    const std::int64_t count = std::min<std::int64_t>({limit.items, limit.work, 100, n_ - at_});
    if (count <= 0) return false;
    auto values = std::make_shared<std::vector<double>>();
    for (std::int64_t k = 0; k < count; ++k) values->push_back(static_cast<double>(at_++));
    chunk = {count, count, 8 * count, {}};
    chunk.arrays.resize(1);
    chunk.arrays[0].data.emplace_back(values, values->data());
    return true;
  }

 private:
  SourceInfo info_;
  std::int64_t n_, at_ = 0;
};

Seq<Scalar<double>> once(std::int64_t n) {
  return stream_in(Source<Scalar<double>>(std::make_shared<Once>(n)));
}

TEST_CASE("results that read a source which can be read only once are computed at the same time") {
  const auto even = [](auto x) { return cast<std::int64_t>(the(x)) % 2 == 0; };
  const auto add = [](auto x, auto y) { return unit(the(x) + the(y)); };
  for (const RunOptions& options : configurations()) {
    INFO(to_string(options));
    for (const Backend backend : {options.backend, Backend::interpreter}) {
      RunOptions mine = options;
      mine.backend = backend;
      if (backend == Backend::interpreter) mine = {.backend = backend};
      const auto s = once(1000);
      const auto t = produce(300, [](auto i) { return unit(cast<double>(i) * 0.5); });
      const auto [all, evens, first, some, last] =
          run(std::tuple(consume(elements(s)), consume(elements(filter_seq(even, s))),
                         consume(elements(take_seq(10, s))), consume(elements(zip_with_seq(add, s, t))),
                         consume(fold_seq(add, unit(0.0), drop_seq(990, s)))),
              mine);
      REQUIRE(all.size() == 1000);
      REQUIRE(evens.size() == 500);
      REQUIRE(evens[250] == 500.0);
      REQUIRE(first.size() == 10);
      REQUIRE(some.size() == 300);
      REQUIRE(some[200] == 300.0);
      REQUIRE(last[Index{}] == 9945.0);
    }
  }
}

TEST_CASE("items and what is computed of them, of one shape, lie in memory each for itself") {
  std::vector<std::vector<double>> rows;
  for (int i = 0; i < 300; ++i) rows.emplace_back(i % 7, i + 0.5);
  const auto of_vectors = map_seq(
      [](auto x) { return std::tuple(x, map([](auto v) { return sqrt(v); }, x)); }, stream_in(Ragged(rows)));
  const auto of_matrices = map_seq(
      [](auto x, auto y) {
        const auto table =
            generate(index_of(size(x), 3), [=](auto ix) { return x[ix[0]] * cast<double>(ix[1]); });
        return std::tuple(y, table, transpose(table));
      },
      of_vectors);
  const auto product = [](auto x, auto y) { return sum(zip_with(times, x, y)); };
  const auto products = [](auto x, auto m, auto t) {
    return unit(the(sum(x)) + the(sum(sum(zip_with(times, m, transpose(t))))));
  };
  const auto has_any = [](auto x, auto... rest) { return size(x) + (0 * ... * size(rest)) > 0; };
  const auto check = [&](const auto& change) {
    agree(consume(elements(map_seq(product, change(of_vectors)))));
    agree(consume(elements(map_seq(products, change(of_matrices)))));
  };
  check([&](const auto& s) { return filter_seq(has_any, s); });
  check([&](const auto& s) { return take_while_seq([](auto x, auto...) { return size(x) < 7; }, s); });
  check([&](const auto& s) { return drop_seq(5, s); });
  check([&](const auto& s) { return append_seq(s, drop_seq(40, s)); });
}

TEST_CASE("items without elements keep their extents") {
  // An inner extent that is a constant, or that values tell.
  const auto of_width = [](const Exp<std::int64_t>& width) {
    return produce(40, [=](auto i) {
      return generate(index_of(i % 5 + 1, width), [](auto ix) { return cast<double>(ix[0] + ix[1]); });
    });
  };
  const auto told = [](std::int64_t width) { return the(sum(use(Vector<std::int64_t>{width}))); };
  const auto rows = [](auto m) { return unit(extent(m, 0)); };
  const auto kept = [](auto m) { return extent(m, 0) != 2; };
  const auto check = [&](const auto& s) {
    const auto all = agree(consume(elements(map_seq(rows, filter_seq(kept, s)))));
    REQUIRE(all.size() == 32);
    REQUIRE(all[0] == 1);
    REQUIRE(all[1] == 3);
    agree(consume(elements(map_seq(rows, append_seq(drop_seq(3, s), filter_seq(kept, s))))));
    agree(consume(elements(map_seq(
        rows, filter_seq(kept, map_seq([](auto m) { return zip_with(plus, m, m); }, filter_seq(kept, s)))))));
  };
  for (const std::int64_t width : {0, 3}) {
    check(of_width(width));
    check(of_width(told(width)));
  }
}

TEST_CASE("chunks of fed streams end where their bytes do") {
  std::vector<Vector<double>> rows;
  for (int i = 0; i < 400; ++i) rows.push_back(Vector<double>(std::vector<double>(i % 3 == 0 ? 3000 : 7, i)));
  const auto s = filter_seq([](auto row) { return cast<std::int64_t>(row[0]) % 2 == 0; }, stream_in(rows));
  const auto sums = map_seq([](auto row) { return sum(row); }, s);
  const auto program = compile(consume(elements(append_seq(sums, sums))));
  const auto expected = program.run({.backend = Backend::interpreter});
  for (const std::int64_t memory : {100'000, 200'000, 400'000, 1'000'000})
    for (const int threads : {1, 2}) {
      INFO(memory << " bytes, " << threads << " threads");
      REQUIRE(program.run({.threads = threads, .memory = memory}) == expected);
    }
}

TEST_CASE("a result that needs another one of the same source, which can be read only once, is an error") {
  const auto s = once(50);
  const auto total_ = sum(consume(elements(s)));
  const auto program = compile(
      std::tuple(total_, consume(elements(map_seq([=](auto x) { return unit(the(x) / the(total_)); }, s)))));
  for (const Backend backend : {Backend::cpu, Backend::interpreter})
    REQUIRE_THROWS_WITH(program.run({.backend = backend}), Catch::Contains("once"));
}

TEST_CASE("of results that are computed at the same time one may fail, or take too much memory") {
  const auto s = once(100'000);
  const auto fails_late =
      map_seq([](auto x) { return unit(10 / (77'777 - cast<std::int64_t>(the(x)))); }, take_seq(90'000, s));
  const auto program = compile(std::tuple(consume(elements(s)), consume(elements(fails_late))));
  REQUIRE_THROWS_AS(program.run({.threads = 2}), RunError);
  // The second one needs the last item with the first, so all are kept.
  const auto u = once(100'000);
  const auto v = once(100'000);
  const auto late = zip_with_seq([](auto x, auto y) { return unit(the(x) + the(y)); }, append_seq(v, u), u);
  REQUIRE_THROWS_AS(run(consume(elements(late)), {.memory = 1 << 20}), ResourceError);
  REQUIRE(run(consume(elements(zip_with_seq([](auto x, auto y) { return unit(the(x) + the(y)); },
                                            append_seq(once(5000), once(5000)), once(9000)))))
              .size() == 9000);
}

TEST_CASE("many sequences are appended, one after the other") {
  Seq<Vector<double>> all = stream_in(std::vector<Vector<double>>(1, Vector<double>{0.0}));
  for (int i = 1; i < 3000; ++i)
    all = append_seq(all, stream_in(std::vector<Vector<double>>(1, Vector<double>{static_cast<double>(i)})));
  for (const Backend backend : both) {
    const auto firsts =
        run(consume(elements(map_seq([](auto row) { return unit(row[0]); }, all))), {.backend = backend});
    REQUIRE(firsts.size() == 3000);
    for (std::int64_t i = 0; i < firsts.size(); ++i) REQUIRE(firsts[i] == static_cast<double>(i));
  }
}

TEST_CASE("sequences that read each other too often, or too deep, are refused") {
  const auto numbers_ = [] { return produce(1, [](auto i) { return unit(cast<double>(i)); }); };
  Seq<Scalar<double>> repeated = numbers_(), beside = numbers_(), through = numbers_();
  for (int i = 0; i < 25; ++i) repeated = append_seq(repeated, repeated);
  const auto minus_each = [](auto x, auto y) { return unit(the(x) - the(y)); };
  for (int i = 0; i < 20; ++i)
    beside = zip_with_seq(minus_each, scan_seq(plus, 0.0, beside), scan_seq(maximum_of, 0.0, beside));
  const auto filtered = [](const auto& s) { return filter_seq([](auto x) { return the(x) >= 0.0; }, s); };
  for (int i = 0; i < 200; ++i) through = filtered(through);
  for (const Backend backend : both) CHECK(run(consume(elements(through)), {.backend = backend}).size() == 1);
  through = filtered(through);
  for (const Backend backend : both) {
    const RunOptions options{.backend = backend};
    CHECK_THROWS_WITH(run(consume(elements(repeated)), options),
                      Catch::Contains("more than 10000 sequences"));
    CHECK_THROWS_WITH(run(consume(elements(beside)), options), Catch::Contains("more than 10000 sequences"));
    CHECK_THROWS_WITH(run(consume(elements(through)), options), Catch::Contains("more than 200 sequences"));
  }
}

}  // namespace
}  // namespace anabranch::testing
