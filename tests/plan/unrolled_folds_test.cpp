// Folds of rows at a few positions: which go through the row once for several of them.

#include "plan/support/plans.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

using V = Acc<Vector<double>>;
using Number = Exp<std::int64_t>;

/// Of the kernels that reduce, how many outputs each has.
std::string reductions_of(const TestProgram& program) {
  std::string text;
  const Planned p = planned(program);
  for (const kernel::Kernel* kernel : kernels_of(p.plan.stages.at(0).group))
    if (kernel::row_of(*kernel)) text += fmt::format("{}{}", text.empty() ? "" : " ", kernel->outputs.size());
  return text;
}

template <class T, class F>
TestProgram of_positions(std::int64_t count, F f) {
  return {[=] {
    const auto folds = [=](V a) {
      return sum(generate(make<Index<2>>(Number(count), size(a)),
                          [=](auto at) { return cast<T>(f(a, at[0], at[1])); }));
    };
    return consume(elements(map_seq(folds, vectors())));
  }};
}

const auto shifted = [](const V& a, const Number& lag, const Number& i) {
  return a[i] * a[min(i + lag, size(a) - 1)];
};

}  // namespace

TEST_CASE("kernels hold as many positions as their totals fit registers") {
  CHECK(reductions_of(of_positions<float>(2, shifted)) == "2");
  CHECK(reductions_of(of_positions<float>(8, shifted)) == "8");
  CHECK(reductions_of(of_positions<float>(17, shifted)) == "5 6 6");
  CHECK(reductions_of(of_positions<double>(17, shifted)) == "3 3 4 3 4");
  CHECK(reductions_of(of_positions<double>(1, shifted)) == "1");
  CHECK(reductions_of(of_positions<double>(65, shifted)) == "1");
}

TEST_CASE("each output is an element of one array, which the first kernel makes") {
  const Planned p = planned(of_positions<float>(17, shifted));
  std::vector<std::int64_t> which;
  std::vector<int> arrays;
  for (const plan::Step& each : p.plan.stages.at(0).group.steps) {
    const auto* step = std::get_if<plan::KernelStep>(&each);
    if (!step || !kernel::row_of(step->kernel)) continue;
    CHECK(step->makes_outputs == arrays.empty());
    REQUIRE(step->outputs.size() == 1);
    arrays.push_back(step->outputs[0]);
    for (const kernel::KernelOutput& output : step->kernel.outputs) {
      CHECK(output.of == 17);
      which.push_back(output.which);
    }
  }
  CHECK(arrays == std::vector(3, arrays.at(0)));
  REQUIRE(which.size() == 17);
  for (std::int64_t i = 0; i < 17; ++i) CHECK(which[static_cast<std::size_t>(i)] == i);
}

TEST_CASE("rows that share nothing stay rows") {
  // Elements that lie apart, a row each, a position that only run time knows, and nothing read at all.
  CHECK(reductions_of(of_positions<double>(
            4, [](const V& a, const Number& k, const Number& i) { return a[i * 4 + k]; })) == "1");
  CHECK(reductions_of(
            of_positions<double>(4, [](const V& a, const Number& k, const Number&) { return a[k]; })) == "1");
  CHECK(reductions_of(of_positions<double>(
            4, [](const V& a, const Number& k, const Number& i) { return a[i ^ k]; })) == "1");
  CHECK(reductions_of(of_positions<double>(
            4, [](const V&, const Number& k, const Number& i) { return cast<double>(k * i); })) == "1");
  // Rows of a matrix.
  CHECK(reductions_of({[] {
          return consume(elements(map_seq([](V a) { return sum(reshape(Index{4, 3}, a)); }, vectors(12))));
        }}) == "1");
}
