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
  // Not epilogues of the reductions: a loop.
  const auto looped = [](D x) {
    return while_loop([](D y) { return y < 1.0; }, [](D y) { return y + 1.0; }, x);
  };
  CHECK(of_run([=] {
          const auto total = sum(v()), least = minimum(v());
          return std::tuple(map(looped, total), map(looped, least));
        }) == "kernel sum -> 1, 2, kernel map -> 3, 4");
  CHECK(of_chunk([=](V a) {
          const auto total = sum(a);
          return std::tuple(map(looped, total), map([=](D x) { return x / looped(x); }, total));
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

TEST_CASE("explanations say why maps stay apart") {
  const auto why = [](const TestProgram& program) {
    const Planned p = planned(program);
    return p.plan.global.arrays.at(static_cast<std::size_t>(p.plan.results.at(1))).why;
  };
  const auto beside_once = [&](auto f) {
    return why([=] {
      const V a = v();
      const V first = map(once, a);
      return std::tuple(first, f(a));
    });
  };
  const auto apart = [](const std::string& reason) {
    return Catch::Matches("a result, not in one kernel with [a-z]+@[^:]+:[0-9]+" + reason);
  };
  CHECK_THAT(beside_once([](V a) { return reverse(a); }), apart(": it is no map"));
  CHECK_THAT(beside_once([](V a) { return map([=](D x) { return a[cast<std::int64_t>(x)]; }, a); }),
             apart(": it reads elsewhere than at its own position"));
  CHECK_THAT(beside_once([](V a) {
               return map([](D x) { return cast<std::int64_t>(x) / cast<std::int64_t>(x + 1.0); }, a);
             }),
             apart(": it can fail"));
  CHECK_THAT(beside_once([](V a) { return zip_with(plus, compute(map(dear, a)), a); }),
             apart(": it needs what other kernels store"));
}

TEST_CASE("a division that cannot fail has no check, and shares a kernel") {
  using I = Exp<std::int64_t>;
  const auto kernels = [](auto f) {
    const Planned p = planned([=] {
      const V a = v();
      const V first = map(once, a);
      return std::tuple(first, map([=](D x) { return f(cast<std::int64_t>(x)); }, a));
    });
    std::size_t checks = 0;
    for (const kernel::Kernel* kernel : kernels_of(p.plan.global)) checks += kernel->checks.size();
    return std::pair(kernels_of(p.plan.global).size(), checks);
  };
  using Counts = std::pair<std::size_t, std::size_t>;
  CHECK(kernels([](I n) { return n / 2; }) == Counts(1, 0));
  CHECK(kernels([](I n) { return n % -7; }) == Counts(1, 0));
  CHECK(kernels([](I n) { return 100 / max(n, 1); }) == Counts(1, 0));
  CHECK(kernels([](I n) { return 100 % max(3, n); }) == Counts(1, 0));
  CHECK(kernels([](I n) { return n / -1; }) == Counts(2, 1));
  CHECK(kernels([](I n) { return n % 0; }) == Counts(2, 1));
  CHECK(kernels([](I n) { return 100 / max(n, 0); }) == Counts(2, 1));
  CHECK(kernels([](I n) { return 100 / n; }) == Counts(2, 1));
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
  const std::string steps = "kernel compute -> 1, kernel sum -> 2, 3, kernel zip_with -> 4";
  CHECK(of_chunk(both) == steps);
  CHECK(of_run([=] { return both(v()); }) == steps);
}
