// Horizontal fusion of what is computed element by element: which stored arrays share a kernel, and what stays apart.

#include "plan/support/plans.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

using V = Acc<Vector<double>>;
using D = Exp<double>;

const auto once = [](D x) { return x + 1.0; };
const auto twice = [](D x) { return x * 2.0; };
const auto dear = [](D x) { return exp(exp(x)); };

std::string of_run(const TestProgram& program) { return steps_of(planned(program).plan.global); }
/// The steps of a chunk, of items of one length; those of a function that gives two arrays.
template <class F>
std::string of_chunk(F f, std::int64_t length = 5) {
  const TestProgram program = {[=] {
    const auto [first, second] = unzip_seq(map_seq(f, vectors(length)));
    return std::tuple(consume(elements(first)), consume(elements(second)));
  }};
  return steps_of(planned(program).plan.stages.at(0).group);
}

}  // namespace

TEST_CASE("maps of one array share a kernel, which reads it once") {
  CHECK(of_run([] {
          const V a = v();
          return std::tuple(map(once, a), map(twice, a));
        }) == "kernel map -> 1, 2");
  CHECK(of_chunk([](V a) { return std::tuple(map(once, a), map(twice, a)); }) == "kernel map -> 1, 2");
  CHECK(of_chunk([](V a) { return std::tuple(map(once, a), zip_with(times, a, map(dear, a))); }, -1) ==
        "kernel map -> 1, 2");
}

TEST_CASE("what the bodies of one kernel have in common is computed once") {
  const Planned p = planned([] {
    const V a = v();
    const auto b = map([](D x) { return x + 0.5; }, a);
    return std::tuple(map([](D x) { return x * 2.0; }, b), map([](D x) { return x * 3.0; }, b));
  });
  const auto kernels = kernels_of(p.plan.global);
  REQUIRE(kernels.size() == 1);
  REQUIRE(kernels[0]->body.size() == 2);
  CHECK(ir::PrimitiveTerm(kernels[0]->body[0]).operands()[0] ==
        ir::PrimitiveTerm(kernels[0]->body[1]).operands()[0]);
}

TEST_CASE("single elements share a kernel, whatever they read") {
  CHECK(of_run([] {
          const auto total = sum(v()), least = minimum(v());
          return std::tuple(map(once, total), map(dear, least));
        }) == "kernel sum -> 1, 2, kernel map -> 3, 4");
  CHECK(of_chunk([](V a) {
          const auto total = sum(a);
          return std::tuple(map([n = cast<double>(size(a))](D x) { return x / n; }, total), map(dear, total));
        }) == "kernel sum -> 1, kernel map -> 2, 3");
}

TEST_CASE("maps stay apart that need each other, read nothing in common, differ in length or may fail") {
  CHECK(of_chunk([](V a) {
          const auto first = compute(map(dear, a));
          return std::tuple(first, zip_with(plus, first, reverse(first)));
        }) == "kernel compute -> 1, kernel zip_with -> 2");
  const auto apart = [](const TestProgram& program) {
    return kernels_of(planned(program).plan.global).size();
  };
  CHECK(apart([] { return std::tuple(map(once, v()), map(once, captured("w", Vector<double>{4, 5, 6}))); }) ==
        2);
  CHECK(apart([] {
          const V a = v();
          return std::tuple(map(once, a), map(twice, take(3, a)));
        }) == 2);
  CHECK(apart([] {
          const V a = v();
          return std::tuple(map(once, a), map([=](D x) { return a[cast<std::int64_t>(x)]; }, a));
        }) == 2);
  CHECK(apart([] {
          const V a = v();
          return std::tuple(map(once, a),
                            map([](D x) { return cast<std::int64_t>(x) / cast<std::int64_t>(x + 1.0); }, a));
        }) == 2);
  CHECK(apart([] {
          const V a = v();
          return std::tuple(map(once, a), reverse(a));
        }) == 2);
}

TEST_CASE("explanations say which maps share a kernel, and without fusion none does") {
  const TestProgram program = [] {
    const V a = v();
    return std::tuple(map(once, a), map(twice, a));
  };
  CHECK(planned(program).plan.global.arrays.at(2).why.starts_with("a result, in one kernel with map@"));
  fuse::Options options;
  options.fusion = false;
  CHECK(kernels_of(planned(program, options).plan.global).size() == 2);
}

TEST_CASE("no set waits for another one that waits for it") {
  // One of two reductions needs what one of two maps gives, the other map what the other reduction gives.
  const auto both = [](V a) {
    const auto first = sum(a);
    const auto early = compute(map(dear, a));
    const auto second = sum(map(dear, early));
    const auto late = map([=](D x) { return x * the(first); }, a);
    return std::tuple(zip_with(plus, first, second), zip_with(plus, late, early));
  };
  CHECK(of_chunk(both).find("sum") != std::string::npos);
  CHECK(kernels_of(planned([=] { return both(v()); }).plan.global).size() >= 3);
}
