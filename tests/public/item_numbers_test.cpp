#include "agree.h"
#include "support/memory_source.h"

// The numbers that produce gives its function: kernels count them from the chunk's first item, and no array holds them unless
// something takes whole arrays of them.
namespace anabranch::testing {
namespace {

using Number = Exp<std::int64_t>;

const auto itself = [](const Number& i) { return unit(i); };
const auto is_odd = [](const Acc<Scalar<std::int64_t>>& i) { return (the(i) & 1) == 1; };

/// 0, 1, ..., n - 1.
Seq<Scalar<std::int64_t>> numbers_up_to(std::int64_t n) { return produce(n, itself); }

TEST_CASE("numbers as values, in maps and folds") {
  for (const std::int64_t n : {0, 1, 5, 100, 1000}) {
    require_same(agree(consume(elements(numbers_up_to(n)))), vector_of(n, [](std::int64_t i) { return i; }));
    agree(consume(elements(produce(n, [](const Number& i) { return unit(cast<std::uint32_t>(i) >> 1); }))));
    agree(consume(elements(produce(n, [](const Number& i) {
      return sum(generate(7, [=](const Number& k) { return cast<double>(k * i); }));
    }))));
    agree(consume(fold_seq(plus, std::int64_t{0}, numbers_up_to(n))));
  }
}

TEST_CASE("numbers as positions of what is read") {
  const auto x = use(numbers<double>(4000));
  for (const std::int64_t n : {1, 15, 16, 17, 33, 1000}) {
    INFO(n);
    agree(consume(elements(produce(n, [=](const Number& i) { return unit(x[i] + x[i + 1]); }))));
    agree(consume(elements(produce(n, [=](const Number& i) { return unit(x[3999 - i] * x[4 * i]); }))));
    agree(consume(elements(produce(n, [=](const Number& i) { return unit(x[(i * i) % 4000]); }))));
    // A vector of each item, along which neighbours lie side by side, and between items three apart.
    agree(consume(tabulate(produce(
        n, [=](const Number& i) { return generate(20, [=](const Number& k) { return x[3 * i + k]; }); }))));
    agree(consume(elements(produce(n, [=](const Number& i) {
      return sum(generate(9, [=](const Number& k) { return x[3 * i + k]; }));
    }))));
  }
  fails<RunError>(consume(elements(produce(5000, [=](const Number& i) { return unit(x[i]); }))),
                  {"index 4000", "item 4,000"});
}

TEST_CASE("numbers as lengths") {
  const auto up_to = [](const Number& i) { return generate(i % 50, [=](const Number& k) { return k * i; }); };
  agree(consume(elements(produce(300, up_to))));
  agree(consume(elements(map_seq([](const auto& v) { return sum(v); }, produce(300, up_to)))));
}

TEST_CASE("numbers beside items of other sources") {
  std::vector<std::vector<double>> rows;
  for (std::int64_t i = 0; i < 200; ++i) {
    const auto row = numbers<double>(i % 23);
    rows.emplace_back(row.data(), row.data() + row.size());
  }
  const auto scaled = [](const Acc<Scalar<std::int64_t>>& i, const Acc<Vector<double>>& row) {
    return map([=](const Exp<double>& v) { return v * cast<double>(the(i)); }, row);
  };
  for (const bool in_pieces : {false, true}) {
    const auto source = ragged<double>("rows", rows);
    if (in_pieces) source->read_in_pieces();
    const auto stream = stream_in(Source<Vector<double>>(source));
    for (const std::int64_t n : {0, 150, 1000}) {
      agree(consume(elements(zip_with_seq(scaled, numbers_up_to(n), stream))));
      agree(consume(elements(take_seq(77, zip_with_seq(scaled, numbers_up_to(n), stream)))));
    }
  }
}

TEST_CASE("numbers of which some are chosen, and numbers that begin elsewhere") {
  const auto squared = [](const Acc<Scalar<std::int64_t>>& i) { return unit(the(i) * the(i)); };
  for (const std::int64_t n : {0, 1, 100, 3000}) {
    const auto all = numbers_up_to(n);
    agree(consume(elements(map_seq(squared, filter_seq(is_odd, all)))));
    agree(consume(elements(map_seq(squared, drop_seq(70, all)))));
    agree(consume(
        elements(take_while_seq([](const Acc<Scalar<std::int64_t>>& i) { return the(i) < 500; }, all))));
    agree(consume(elements(map_seq(squared, append_seq(all, drop_seq(n / 2, all), all)))));
    agree(consume(elements(scan_seq(plus, std::int64_t{0}, all))));
    const auto below = [](const Acc<Scalar<std::int64_t>>& i) {
      return produce(the(i) % 5, [=](const Number& j) { return unit(the(i) * 10 + j); });
    };
    agree(consume(elements(flat_map_seq(below, all))));
  }
}

TEST_CASE("arrays of numbers") {
  const auto sorted_numbers = [](const Number& i) {
    return sort(generate(9, [=](const Number& k) { return (k * 7 + i) % 9; }));
  };
  agree(consume(elements(produce(50, sorted_numbers))));
  // A sequence inside of each item is made of vectors of what it takes of the items.
  const auto inner = [](const Number& i) {
    const auto few = produce(i % 4, [=](const Number& j) { return unit(i * j); });
    return sum(consume(elements(few)));
  };
  agree(consume(elements(produce(60, inner))));
  agree(std::tuple(consume(elements(produce(60, itself))), consume(shapes(produce(60, inner)))));
}

TEST_CASE("numbers of a stream that is taken item by item") {
  std::int64_t expected = 0;
  for (const auto& item : stream_out(numbers_up_to(5000))) REQUIRE(item[Index{}] == expected++);
  REQUIRE(expected == 5000);
}

}  // namespace
}  // namespace anabranch::testing
