#include "agree.h"
#include "support/memory_source.h"

// Extents that are computed and negative, where some streams have items and others have none.
namespace anabranch::testing {
namespace {

const std::vector<Vector<std::int64_t>> some{{1}, {2, 3}, {}, {4, 5, 6}};
const std::vector<Vector<std::int64_t>> none;

Exp<std::int64_t> minus_three() { return the(use(Scalar<std::int64_t>(-3))); }

/// Per item, the sum of an array of `n` elements.
auto sums(const std::vector<Vector<std::int64_t>>& items, Exp<std::int64_t> n) {
  const auto sum_of = [=](auto a) { return fold(plus, 7, generate(n, [=](auto i) { return i + size(a); })); };
  return consume(elements(map_seq(sum_of, stream_in(items))));
}

/// Per item, that array itself.
auto arrays(const std::vector<Vector<std::int64_t>>& items, Exp<std::int64_t> n) {
  return map_seq([=](auto a) { return generate(n, [=](auto i) { return i + size(a); }); }, stream_in(items));
}

TEST_CASE("an extent that one stream has checked is checked again by others, and outside of them") {
  const auto n = minus_three();
  const auto alone = fold(plus, 7, generate(n, [](auto i) { return i; }));
  fails<RunError>(alone, {"generate", "negative extent -3"});
  fails<RunError>(std::tuple(sums(none, n), alone), {"generate", "negative extent -3"});
  fails<RunError>(std::tuple(alone, sums(none, n)), {"generate", "negative extent -3"});
  fails<RunError>(std::tuple(sums(none, n), sums(some, n)), {"generate", "negative extent -3", "item 0"});
  fails<RunError>(std::tuple(sums(some, n), sums(none, n)), {"generate", "negative extent -3", "item 0"});
}

TEST_CASE("an extent that is negative does not matter where there are no items") {
  const auto n = minus_three();
  CHECK(agree(sums(none, n)).size() == 0);
  CHECK(agree(consume(elements(arrays(none, n)))).size() == 0);
  CHECK(agree(consume(tabulate(arrays(none, n)))).size() == 0);
  const auto counted = produce(0, [=](auto i) { return generate(n, [=](auto j) { return i + j; }); });
  CHECK(agree(consume(elements(counted))).size() == 0);
  fails<RunError>(consume(elements(arrays(some, n))), {"generate", "negative extent -3", "item 0"});
}

}  // namespace
}  // namespace anabranch::testing
