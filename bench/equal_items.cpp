#include <anabranch/anabranch.h>

#include <memory>
#include <string>
#include <vector>

#include "support/contest.h"

/// Ragged streams whose items turn out to be of one shape, beside the same streams that say so: those are the limit.
namespace {

using namespace anabranch;
using namespace anabranch::bench;

/// 8 M floats in items of this shape.
template <int N, class F>
void add(const std::string& name, const Index<N>& shape, F f) {
  add_contest("equal_items/" + name, [=] {
    std::int64_t size = 1;
    for (int d = 0; d < N; ++d) size *= shape[d];
    const std::int64_t count = 8'000'000 / size;
    auto all = std::make_shared<std::vector<float>>(static_cast<std::size_t>(count * size));
    for (std::size_t i = 0; i < all->size(); ++i) (*all)[i] = static_cast<float>(i % 16);
    auto items = std::make_shared<std::vector<Array<N, float>>>();
    for (std::int64_t i = 0; i < count; ++i)
      items->push_back(Array<N, float>::view(shape, all->data() + i * size, all));
    const auto program = [=](const auto& stream) { return compile(consume(elements(map_seq(f, stream)))); };
    using P = decltype(program(stream_in(*items)));
    auto ragged = std::make_shared<P>(program(stream_in(*items)));
    auto declared = std::make_shared<P>(program(stream_in(regular(shape), *items)));
    auto expected = std::make_shared<Vector<float>>(declared->run());
    auto result = std::make_shared<Vector<float>>();
    Contest contest;
    const auto right = [=, keep = items] { return *result == *expected; };
    contest.contenders.push_back(
        {"ragged", Role::library, 1, [=] { *result = ragged->run({.threads = 1}); }, right, 1});
    contest.contenders.push_back(
        {"declared regular", Role::limit, 1, [=] { *result = declared->run({.threads = 1}); }, right, 1});
    return contest;
  });
}

}  // namespace

int main(int argc, char** argv) {
  add("sum, rows of 27", Index{27}, [](auto a) { return sum(a); });
  add("column sums of 32 x 32", Index{32, 32}, [](auto a) { return sum(a, 0); });
  add("scan_state, rows of 27", Index{27},
      [](auto a) { return scan_state([](auto s, auto x) { return s * 0.5f + x; }, 0.0f, a); });
  add("scanl1, rows of 1000", Index{1000}, [](auto a) { return scanl1(plus, a); });
  add("sum, rows of 4, which stay ragged", Index{4}, [](auto a) { return sum(a); });
  add("scanl1, rows of 27, which stay ragged", Index{27}, [](auto a) { return scanl1(plus, a); });
  return run_all(argc, argv);
}
