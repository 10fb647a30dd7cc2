// Horizontal fusion: which reductions share a kernel, and what stays apart.

#include "plan/support/plans.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

using V = Acc<Vector<double>>;

const auto positive = [](Exp<double> e) { return e > 0.0; };
const auto divided = [](Exp<double> x, Exp<std::int64_t> n) { return x / cast<double>(n); };

/// Number of reductions of each kernel of the group that reduces, in their order;
/// then the number of maps.
std::string kernels_text(const plan::Group& group) {
  std::string text;
  int maps = 0;
  for (const kernel::Kernel* kernel : kernels_of(group)) {
    if (!kernel::row_of(*kernel)) {
      ++maps;
      continue;
    }
    const auto& reduce = std::get<kernel::Reduce>(kernel->form);
    text += fmt::format("fold of {}, ", reduce.reductions.size());
  }
  return text + fmt::format("{} maps", maps);
}

/// Sum, count, minimum, maximum and mean, each as the user writes it by itself: six reductions.
template <int N>
auto statistics(const Acc<Array<N, double>>& a) {
  const auto mean = zip_with(divided, sum(a), count([](Exp<double>) { return Exp<bool>(true); }, a));
  return std::tuple(sum(a), count(positive, a), minimum(a), maximum(a), mean);
}
template <int N>
auto in_one(const Acc<Array<N, double>>& a) {
  const auto [total, positives, least, most, mean] = statistics(a);
  const auto four = [](auto s, auto n, auto lo, auto hi) { return s + cast<double>(n) + lo + hi; };
  return zip_with(plus, mean, zip_with(four, total, positives, least, most));
}

std::string of_chunk(const TestProgram& program) {
  return kernels_text(planned(program).plan.stages.at(0).group);
}
std::string of_run(const TestProgram& program) { return kernels_text(planned(program).plan.global); }

template <class F>
TestProgram over(F f) {
  return {[f] { return consume(elements(map_seq(f, vectors()))); }};
}

}  // namespace

TEST_CASE("statistics of a row take one traversal in all three forms") {
  CHECK(of_run({[] { return statistics(v()); }}) == "fold of 6, 0 maps");
  CHECK(of_run({[] { return statistics(m()); }}) == "fold of 6, 0 maps");
  CHECK(of_chunk(over([](V a) { return in_one(a); })) == "fold of 6, 0 maps");
  CHECK(of_chunk({[] { return consume(tabulate(map_seq([](V a) { return in_one(a); }, vectors(7)))); }}) ==
        "fold of 6, 0 maps");
  const TestProgram avoided = over([](V) { return in_one(v()); });
  CHECK(of_run(avoided) == "fold of 6, 0 maps");
  CHECK(of_chunk(avoided) == "1 maps");
}

TEST_CASE("explanations say which reductions share a kernel") {
  const Planned p = planned({[] {
    const auto total = sum(v());
    return std::tuple(total, minimum(v()));
  }});
  const plan::Group& group = p.plan.global;
  CHECK(steps_of(group) == "kernel sum -> 1, 2");
  CHECK(group.arrays.at(1).why == "a reduction");
  CHECK(group.arrays.at(2).why.starts_with("a reduction, in one kernel with sum@"));
  const std::string listing = text_of(p.plan);
  CHECK(listing.find("x o y = (x.0 + y.0)") != std::string::npos);
  CHECK(listing.find("x o y = minimum(x.1, y.1)") != std::string::npos);
}

TEST_CASE(
    "reductions stay apart that need each other, differ in length or "
    "class, or are too many") {
  CHECK(of_chunk(over([](V a) {
          const auto total = sum(a);
          return zip_with(plus, total, sum(map([=](Exp<double> e) { return e - the(total); }, a)));
        })) == "fold of 1, fold of 1, 1 maps");
  CHECK(of_chunk(over([](V a) { return zip_with(plus, sum(a), sum(v())); })) == "fold of 1, 0 maps");
  CHECK(of_chunk(over([](V a) {
          return zip_with(plus, sum(a), fold([](auto x, auto y) { return x / 3.0 + y; }, 0.0, a));
        })) == "fold of 1, fold of 1, 1 maps");
  const auto nine = [](V a) {
    auto all = sum(a);
    for (int i = 1; i < 9; ++i)
      all = zip_with(plus, all, sum(map([i](Exp<double> e) { return e * double(i + 1); }, a)));
    return all;
  };
  CHECK(of_chunk(over(nine)) == "fold of 8, fold of 1, 1 maps");
  const Planned p = planned(over(nine));
  bool said = false;
  for (const auto& array : p.plan.stages.at(0).group.arrays)
    said = said || array.why.find("more than 8 components") != std::string::npos;
  CHECK(said);
}

TEST_CASE("explanations say why reductions of equal rows do not share a kernel") {
  const auto why = [](const TestProgram& program) {
    const Planned p = planned(program);
    std::string all;
    for (const auto& array : p.plan.stages.at(0).group.arrays) all += array.why + "\n";
    return all;
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(why(over([](V a) {
               const auto total = sum(a);
               return zip_with(plus, total, sum(map([=](Exp<double> e) { return e - the(total); }, a)));
             })),
             Contains("not in one kernel with sum@") && Contains("it needs the values of other reductions"));
  CHECK_THAT(why(over([](V a) {
               return zip_with(plus, sum(a), fold([](auto x, auto y) { return x / 3.0 + y; }, 0.0, a));
             })),
             Contains("their operators allow of different orders"));
  CHECK_THAT(why(over([](V a) { return zip_with(plus, sum(a), minimum(a)); })),
             !Contains("not in one kernel"));
}

TEST_CASE("without fusion every reduction has a kernel") {
  fuse::Options options;
  options.fusion = false;
  const Planned p = planned({[] { return std::tuple(sum(v()), minimum(v()), maximum(v())); }}, options);
  CHECK(kernels_text(p.plan.global) == "fold of 1, fold of 1, fold of 1, 0 maps");
}
