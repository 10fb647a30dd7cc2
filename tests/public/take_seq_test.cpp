#include <stdexcept>


#include "agree.h"
#include "support/memory_source.h"

// take_seq: the first items of every kind of sequence, and how far what they are made of is read.
namespace anabranch::testing {
namespace {

const auto doubled = [](auto row) { return map([](auto x) { return x * 2.0; }, row); };

std::vector<Vector<double>> some_rows() {
  std::vector<Vector<double>> rows;
  for (std::int64_t n : {3, 0, 70, 1, 128, 9}) rows.push_back(numbers<double>(n, static_cast<std::uint64_t>(n) + 1));
  return rows;
}

template <class A>
std::vector<A> first(std::size_t n, std::vector<A> items) {
  items.resize(std::min(n, items.size()));
  return items;
}

/// Without an end; counts the items that it has been asked for, and throws for item `fails`.
class Endless : public SourceBase {
 public:
  explicit Endless(bool live = false, std::int64_t fails = INT64_MAX) : fails_(fails) {
    info_.name = "endless";
    info_.arrays = {array_info({ScalarType::float64}, {2}, 0)};
    info_.rewindable = true;
    info_.live = live;
  }
  const SourceInfo& info() const override { return info_; }
  bool next(const Limit& limit, SourceChunk& chunk) override {
    const std::int64_t count = std::min<std::int64_t>({limit.items, limit.work, 5});
    auto values = std::make_shared<std::vector<double>>();
    for (std::int64_t k = 0; k < count; ++k) {
      if (asked_ == fails_) throw std::domain_error("item " + std::to_string(asked_) + " is damaged");
      values->push_back(static_cast<double>(asked_++));
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
  std::int64_t asked_ = 0;
};

std::vector<Vector<double>> of_endless(int n) {
  std::vector<Vector<double>> items;
  for (int i = 0; i < n; ++i) items.push_back({static_cast<double>(i), 0.5});
  return items;
}

TEST_CASE("take_seq of every kind of source") {
  const auto rows_ = some_rows();
  const Matrix<double> matrix = array_of(Index{5, 7}, [](std::int64_t i) { return number<double>(static_cast<std::uint64_t>(i)); });
  std::vector<Vector<double>> of_matrix;
  for (std::int64_t r = 0; r < 5; ++r)
    of_matrix.push_back(vector_of(7, [&](std::int64_t i) { return matrix[Index{r, i}]; }));
  for (const std::int64_t n : {0, 1, 4, 6, 7, 1000}) {
    INFO(n);
    const auto count = static_cast<std::size_t>(n);
    check_items(take_seq(n, stream_in(rows_)), first(count, rows_));
    check_items(map_seq(doubled, take_seq(n, stream_in(rows_))), [&] {
      auto expected = first(count, rows_);
      for (auto& row : expected) row = vector_of(row.size(), [&](std::int64_t i) { return row[i] * 2; });
      return expected;
    }());
    check_items(take_seq(n, rows(use(matrix))), first(count, of_matrix));
    check_items(take_seq(n, produce(6, [](auto i) { return unit(i * i); })), [&] {
      std::vector<Scalar<std::int64_t>> expected;
      for (std::int64_t i = 0; i < std::min<std::int64_t>(n, 6); ++i) expected.push_back(Scalar<std::int64_t>(i * i));
      return expected;
    }());
  }
}

TEST_CASE("of take_seq in take_seq the smallest counts") {
  const auto rows_ = some_rows();
  for (const auto& [inner, outer] : {std::pair(2, 5), {5, 2}, {3, 3}, {0, 4}, {4, 0}})
    check_items(take_seq(outer, map_seq(doubled, take_seq(inner, map_seq(doubled, take_seq(5, stream_in(rows_)))))),
                [&, n = static_cast<std::size_t>(std::min(inner, outer))] {
                  auto expected = first(n, rows_);
                  for (auto& row : expected)
                    row = vector_of(row.size(), [&](std::int64_t i) { return row[i] * 2 * 2; });
                  return expected;
                }());
}

TEST_CASE("what is read in step with a take_seq ends with it") {
  const auto rows_ = some_rows();
  const auto both = [](auto x, auto y) { return unit(the(sum(x)) + the(sum(y))); };
  const auto plain = [](auto x, auto y) { return zip_with(plus, x, y); };
  // A sequence and its own beginning: one pass, also where the source can be read only once.
  check_items(zip_with_seq(plain, stream_in(rows_), take_seq(2, stream_in(rows_))), [&] {
    auto expected = first(2, rows_);
    for (auto& row : expected) row = vector_of(row.size(), [&](std::int64_t i) { return row[i] + row[i]; });
    return expected;
  }());
  const auto s = stream_in(rows_);
  REQUIRE(agree(consume(elements(zip_with_seq(both, take_seq(3, s), s)))).size() == 3);
  REQUIRE(agree(consume(elements(zip_with_seq(both, take_seq(3, s), take_seq(2, s))))).size() == 2);
  const auto [a, b] = unzip_seq(map_seq([](auto r) { return std::tuple(r, sum(r)); }, take_seq(4, s)));
  const auto [all, sums] = agree(std::tuple(consume(elements(a)), consume(tabulate(b))));
  REQUIRE(all.size() == 74);
  REQUIRE(sums.size() == 4);
  // Of two sequences there are two passes.
  const auto [whole, begin] = agree(std::tuple(consume(elements(s)), consume(elements(take_seq(1, s)))));
  REQUIRE(whole.size() == 211);
  REQUIRE(begin.size() == 3);
}

TEST_CASE("n may be computed once per run, also from another stream") {
  const auto rows_ = some_rows();
  const auto sums_of_first = [&](auto n) {
    return consume(tabulate(map_seq([](auto r) { return sum(r); }, take_seq(the(n) + 1, stream_in(rows_)))));
  };
  const auto program = compile<Scalar<std::int64_t>>(sums_of_first);
  for (std::int64_t n : {-1, 0, 3, 100}) REQUIRE(agree_on(program, Scalar<std::int64_t>(n)).size() == std::min<std::int64_t>(n + 1, 6));
  const Acc<Scalar<std::int64_t>> lengths =
      sum(consume(elements(map_seq([](auto r) { return unit(size(r)); }, take_seq(2, stream_in(rows_))))));
  check_items(take_seq(the(lengths), stream_in(rows_)), first(3, rows_));
}

TEST_CASE("a negative number of items names the line") {
  const auto rows_ = some_rows();
  const Vector<std::int64_t> counts{4, -3};
  fails<RunError>(consume(elements(take_seq(use(counts)[1], stream_in(rows_)))),
                  {"take_seq", "the number of items is -3", "take_seq_test.cpp"});
  fails<RunError>(consume(elements(map_seq(doubled, take_seq(-1, take_seq(2, stream_in(rows_)))))),
                  {"take_seq", "-1", "take_seq_test.cpp"});
}

TEST_CASE("a source is not read beyond the items that are taken") {
  for (const bool live : {false, true}) {
    const auto endless = std::make_shared<Endless>(live);
    const auto s = stream_in(Source<Vector<double>>(endless));
    check_items(take_seq(12, s), of_endless(12));
    REQUIRE(endless->asked() == 12);
    check_items(take_seq(0, s), {});
    REQUIRE(endless->asked() == 0);
    // What is zipped with fewer items, and two sources without an end.
    const auto other = std::make_shared<Endless>(live);
    const auto t = stream_in(Source<Vector<double>>(other));
    check_items(zip_with_seq([](auto x, auto) { return x; }, take_seq(4, s), t), of_endless(4));
    REQUIRE(endless->asked() == 4);
    REQUIRE(other->asked() == 4);
    // The item after the last one is damaged; so would be what is computed of it.
    const auto damaged = std::make_shared<Endless>(live, 3);
    const auto d = stream_in(Source<Vector<double>>(damaged));
    check_items(take_seq(3, d), of_endless(3));
    fails<std::domain_error>(consume(elements(take_seq(4, d))), {"item 3 is damaged"});
  }
  const auto inverse = [](auto i) { return unit(10 / (3 - i)); };
  check_items(take_seq(3, produce(100, inverse)),
              {Scalar<std::int64_t>(3), Scalar<std::int64_t>(5), Scalar<std::int64_t>(10)});
}

TEST_CASE("a live source is asked for an item when it is wanted, and for no more than are taken") {
  for (const Backend backend : {Backend::interpreter, Backend::cpu}) {
    const auto source = std::make_shared<Endless>(true);
    std::int64_t given = 0;
    for (const Vector<double>& item :
         stream_out(map_seq(doubled, take_seq(3, stream_in(Source<Vector<double>>(source)))), {.backend = backend})) {
      REQUIRE(item[0] == 2.0 * static_cast<double>(given));
      REQUIRE(source->asked() == ++given);
    }
    REQUIRE(given == 3);
    REQUIRE(source->asked() == 3);
  }
}

TEST_CASE("explain shows how many items are read") {
  const auto program = compile(consume(elements(take_seq(3, stream_in(some_rows())))));
  REQUIRE_THAT(program.explain(), Catch::Contains("reads at most 3 items: take_seq  -- ") &&
                                      Catch::Contains("take_seq_test.cpp"));
}

}  // namespace
}  // namespace anabranch::testing
