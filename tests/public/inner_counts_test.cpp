// Sequences inside of items that say that they have fewer than no items, or windows of no size: an error with its operation, its
// place and the outer item, whatever the extents of what is made of them would come to.
#include "agree.h"

namespace anabranch::testing {
namespace {

Exp<std::int64_t> number(std::int64_t value) { return the(use(Scalar<std::int64_t>(value))); }
const auto itself = [](auto j) { return unit(j); };
const std::vector<std::string> no_windows{
    "windows: size and hop are at least 1 in item 0 (inner_counts_test.cpp"};
const std::vector<std::string> no_tiles{
    "tiles: the extents of a tile are at least 1 in item 0 (inner_counts_test.cpp"};

template <class F>
auto of_rows(F f) {
  const auto matrix = use(Matrix<std::int64_t>(Index{2, 3}, {1, 2, 3, 4, 5, 6}));
  return consume(elements(map_seq(f, rows(matrix))));
}
template <class F>
auto of_ragged(F f) {
  const std::vector<Vector<std::int64_t>> items{{1, 2, 3}, {4, 5}, {}, {7}};
  return consume(elements(map_seq(f, stream_in(items))));
}

TEST_CASE("inner windows whose size is none") {
  for (const std::int64_t n : {0, -1, -2, -4, -16, -100'000}) {
    INFO(n);
    const auto s = number(n);
    const auto cut = [=](auto row) { return consume(elements(windows(row, s, 1))); };
    const auto constant = [=](auto row) { return consume(elements(windows(row, Exp<std::int64_t>(n), 1))); };
    fails<RunError>(of_rows(cut), no_windows);
    fails<RunError>(of_rows(constant), no_windows);
    fails<RunError>(of_ragged(cut), no_windows);
    fails<RunError>(of_ragged(constant), no_windows);
    fails<RunError>(of_rows([=](auto row) { return unit(size(cut(row))); }), no_windows);
    fails<RunError>(of_rows([=](auto row) { return sum(cut(row)); }), no_windows);
    fails<RunError>(of_rows([=](auto row) { return map([](auto x) { return x * 2; }, cut(row)); }),
                    no_windows);
    fails<RunError>(of_rows([=](auto row) { return consume(tabulate(windows(row, s, 1))); }), no_windows);
  }
  for (const std::int64_t hop : {0, -1, -5}) {
    fails<RunError>(of_rows([=](auto row) { return consume(elements(windows(row, 2, number(hop)))); }),
                    no_windows);
    fails<RunError>(of_ragged([=](auto row) { return consume(elements(windows(row, 2, number(hop)))); }),
                    no_windows);
  }
  // Of one item only; and where a side of a branch is taken.
  fails<RunError>(of_ragged([](auto row) { return consume(elements(windows(row, size(row) - 2, 1))); }),
                  {"windows: size and hop are at least 1 in item 1"});
  fails<RunError>(
      of_ragged([](auto row) { return unit(size(consume(elements(windows(row, size(row) - 2, 1))))); }),
      {"windows: size and hop are at least 1 in item 1"});
  fails<RunError>(of_rows([](auto row) {
                    return acond(
                        row[0] > 3, [=] { return consume(elements(windows(row, number(-4), 1))); },
                        [=] { return row; });
                  }),
                  {"windows: size and hop are at least 1"});
}

TEST_CASE("inner tiles of no extent") {
  for (const std::int64_t n : {0, -2}) {
    fails<RunError>(of_rows([=](auto row) { return consume(elements(tiles(row, Index{n}))); }), no_tiles);
    fails<RunError>(of_ragged([=](auto row) { return consume(elements(tiles(row, Index{n}))); }), no_tiles);
  }
  fails<RunError>(of_rows([](auto row) {
                    return consume(elements(map_seq([](auto t) { return sum(t); }, tiles(row, Index{0}))));
                  }),
                  no_tiles);
}

TEST_CASE("inner sequences of a negative number of items") {
  // What is the same for all items may be of none.
  const std::vector<std::string> of_all{"produce: the number of items is -3"},
      says{"produce: the number of items is -3 in item 0 (inner_counts_test.cpp"};
  const auto nothing = [](auto row) { return [=](auto) { return take(0, row); }; };
  const auto negative = [](auto) { return fill(number(-2), std::int64_t{7}); };
  const auto three = number(-3);
  fails<RunError>(of_rows([=](auto) { return consume(elements(produce(three, itself))); }), of_all);
  fails<RunError>(of_rows([=](auto) { return consume(elements(produce(-3, itself))); }), of_all);
  fails<RunError>(of_rows([=](auto row) { return consume(elements(produce(three, nothing(row)))); }), of_all);
  fails<RunError>(of_rows([=](auto) { return consume(elements(produce(three, negative))); }),
                  {"produce: the number of items is -3|fill: negative extent -2"});
  fails<RunError>(of_rows([=](auto row) { return consume(elements(produce(size(row) - 6, nothing(row)))); }),
                  says);
  fails<RunError>(
      of_ragged([=](auto row) { return consume(elements(produce(size(row) - 6, nothing(row)))); }), says);
  fails<RunError>(of_ragged([=](auto row) {
                    return unit(size(consume(elements(produce(size(row) - 6, nothing(row))))));
                  }),
                  says);
  fails<RunError>(
      of_rows([=](auto row) { return consume(elements(take_seq(three, produce(4, nothing(row))))); }),
      {"take_seq: the number of items is -3"});
  // None are some.
  require_same(agree(of_rows([](auto) { return consume(elements(produce(number(0), itself))); })),
               Vector<std::int64_t>{});
}

TEST_CASE("items of flat_map_seq of a negative number") {
  const auto matrix = use(Matrix<std::int64_t>(Index{2, 3}, {1, 2, 3, 4, 5, 6}));
  const auto of = [&](auto f) { return consume(elements(flat_map_seq(f, rows(matrix)))); };
  fails<RunError>(of([](auto row) { return windows(row, number(-2), 1); }), no_windows);
  fails<RunError>(of([](auto row) { return tiles(row, Index{0}); }), no_tiles);
  fails<RunError>(of([](auto row) { return produce(size(row) - 8, itself); }),
                  {"produce: the number of items is -5 in item 0"});
  fails<RunError>(
      of([](auto row) {
        return map_seq(
            [=](auto k) { return consume(elements(windows(row, number(-2) + the(k) - the(k), 1))); },
            produce(2, itself));
      }),
      {"windows: size and hop are at least 1"});
}

}  // namespace
}  // namespace anabranch::testing
