#include <anabranch/io.h>

#include "shapes.h"

// Ragged streams whose items turn out to be of one shape: kernels for regular arrays compute these chunks, with the same
// bits.
namespace anabranch::testing {
namespace {

using Catch::Contains;
using Number = std::int64_t;

template <int N>
std::vector<Array<N, float>> alike(const Index<N>& shape, Number count) {
  std::vector<Array<N, float>> items;
  for (Number i = 0; i < count; ++i)
    items.push_back(
        array_of(shape, [&](Number k) { return number<float>(static_cast<std::uint64_t>(977 * i + k)); }));
  return items;
}

/// Runs f over the items, everywhere; then in chunks of 40: how many of these had equal items?
template <class F, class A>
Number equal_chunks(F f, const std::vector<A>& items) {
  everywhere(f, items);
  const auto program = compile(consume(elements(map_seq(f, stream_in(items)))));
  RunReport report;
  program.run({.scheduler = "fixed:40"}, &report);
  REQUIRE(report.chunks == (std::ssize(items) + 39) / 40);
  return report.equal_chunks;
}

template <class A>
void all_are_regular(const std::vector<A>& items) {
  constexpr int rank = A::rank;
  const Number chunks = std::ssize(items) / 40;
  CHECK(equal_chunks([](auto a) { return map([](auto x) { return x * 2.0f; }, a); }, items) == chunks);
  CHECK(equal_chunks([](auto a) { return imap([](auto ix, auto x) { return x + cast<float>(ix[0]); }, a); },
                     items) == chunks);
  CHECK(equal_chunks([](auto a) { return reverse(a, 0); }, items) == chunks);
  CHECK(equal_chunks([](auto a) { return sum(a); }, items) == chunks);
  CHECK(equal_chunks([](auto a) { return sum(a, 0); }, items) == chunks);
  CHECK(equal_chunks([](auto a) { return scanl1(plus, a); }, items) == chunks);
  CHECK(equal_chunks([](auto a) { return scan_state(minus, 0.5f, a); }, items) == chunks);
  CHECK(equal_chunks([](auto a) { return concat(a, a, rank - 1); }, items) == chunks);
  CHECK(equal_chunks([](auto a) { return sort(map([](auto x) { return -x; }, a)); }, items) == chunks);
}

TEST_CASE("vectors that are equally long") { all_are_regular(alike(Index{150}, 80)); }
TEST_CASE("matrices of one shape") { all_are_regular(alike(Index{7, 19}, 80)); }
TEST_CASE("items at rank 3 of one shape", "[once]") { all_are_regular(alike(Index{3, 4, 5}, 80)); }

TEST_CASE("only the chunks whose items are equal") {
  auto items = alike(Index{30}, 160);
  items[50] = Vector<float>(Index{31});  // in the second chunk
  items[119] = Vector<float>(Index{0});  // the last one of the third
  const auto doubled = [](auto a) { return imap([](auto ix, auto x) { return x + cast<float>(ix[0]); }, a); };
  CHECK(equal_chunks(doubled, items) == 2);
  // Few items are not worth a kernel.
  items.resize(20);
  CHECK(equal_chunks(doubled, items) == 0);
}

TEST_CASE("short rows that are faster as they are") {
  CHECK(equal_chunks([](auto a) { return sum(a); }, alike(Index{4}, 40)) == 0);
  CHECK(equal_chunks([](auto a) { return scanl1(plus, a); }, alike(Index{20}, 40)) == 0);
}

TEST_CASE("shapes that values tell, equal") {
  // Every item keeps ten of its elements.
  const auto items = alike(Index{25}, 80);
  const auto chosen = [](auto a) {
    const auto n = cast<Number>(the(sum(map([](auto x) { return cast<float>(x == x); }, a)))) - 15;
    return imap([](auto ix, auto x) { return x * cast<float>(ix[0]); }, take(n, a));
  };
  CHECK(equal_chunks(chosen, items) == 2);
  CHECK(equal_chunks([](auto a) { return compute(generate(size(a) + 3, [](auto i) { return i * i; })); },
                     items) == 2);
}

TEST_CASE("items from the middle of the source's memory") {
  // The offsets of the second chunk do not begin at 0.
  std::vector<double> values;
  for (int i = 0; i < 1800; ++i) values.push_back(i * 0.25);
  std::vector<std::int32_t> columns(values.size(), 1), begins{0};
  for (int i = 0; i < 90; ++i) begins.push_back(begins.back() + 20);
  const auto rows_ =
      stream_in(io::csr_view(90, 5, std::span<const std::int32_t>(begins),
                             std::span<const std::int32_t>(columns), std::span<const double>(values)));
  const auto f = [](auto row) {
    auto [column, value] = unzip(row);
    return imap([](auto ix, auto v) { return v + cast<double>(ix[0]); }, value);
  };
  const auto program = compile(consume(elements(map_seq(f, rows_))));
  RunReport report;
  const auto result = program.run({.scheduler = "fixed:45"}, &report);
  CHECK(report.equal_chunks == 2);
  REQUIRE(result.size() == 1800);
  for (Number i = 0; i < 1800; ++i)
    CHECK(result[i] == static_cast<double>(i) * 0.25 + static_cast<double>(i % 20));
}

TEST_CASE("an error in a chunk of equal items names the item") {
  auto items = alike(Index{30}, 100);
  const auto bad = [](auto a) {
    return imap(
        [](auto ix, auto x) {
          return cast<std::int32_t>(ix[0]) / cast<std::int32_t>(x * 0.0f + 1.0f - cast<float>(x > 9e8f));
        },
        a);
  };
  items[77] = vector_of(30, [](Number i) { return i == 12 ? 1e9f : 1.0f; });
  fails<RunError>(consume(elements(map_seq(bad, stream_in(items)))), {"divide", "item 77"});
}

TEST_CASE("explain tells of kernels for equal items") {
  const auto explained = [](const auto& sequence) {
    return compile(consume(elements(map_seq([](auto a) { return scanl1(plus, a); }, sequence)))).explain();
  };
  const auto items = alike(Index{3}, 2);
  CHECK_THAT(explained(stream_in(items)), Contains("where all items of a chunk turn out to be of one shape"));
  CHECK_THAT(explained(stream_in(regular(Index{3}), items)), !Contains("turn out to be of one shape"));
}

}  // namespace
}  // namespace anabranch::testing
