// In-place update at last use: which arrays are written over which others, and which must not be.

#include "plan/support/plans.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

using V = Acc<Vector<double>>;
using D = Exp<double>;

const auto once = [](D x) { return x + 1.0; };
const auto twice = [](D x) { return x * 2.0; };

V prefixes(const V& a) { return scanl1(plus, a); }
/// Stored by all means: each element of what is divided needs the sum of all.
V shares(const V& a) {
  const auto total = the(sum(a));
  return map([=](D x) { return x / total; }, a);
}

/// "3 <- 1, 4 <- 2.1 -".
std::string in_place(const plan::Group& group) {
  std::string text;
  for (std::size_t a = 0; a < group.arrays.size(); ++a) {
    const plan::PlanArray& array = group.arrays[a];
    if (array.in_place_of.empty()) continue;
    text += fmt::format("{}{} <-", text.empty() ? "" : ", ", a);
    for (const plan::ArrayPart& part : array.in_place_of)
      text += part.array < 0 ? " -" : fmt::format(" {}.{}", part.array, part.component);
  }
  return text;
}

const fuse::Options all_stored{.fusion = false}, whole_tuples{.components = false};

std::string of_run(const TestProgram& program, const fuse::Options& options = {}) {
  return in_place(planned(program, options).plan.global);
}
template <class F>
std::string of_chunk(F f, const fuse::Options& options = {}, std::int64_t length = -1) {
  const TestProgram program = {[=] { return consume(elements(map_seq(f, vectors(length)))); }};
  return in_place(planned(program, options).plan.stages.at(0).group);
}

const plan::LoopAction& loop_of(const plan::Plan& plan) {
  for (const plan::Action& action : plan.actions)
    if (const auto* loop = std::get_if<plan::LoopAction>(&action)) return *loop;
  throw InternalError("no loop");
}
/// Of each array of the state who has it: "first, made" and what is passed on.
std::string owners(const plan::Plan& plan) {
  std::string text;
  for (const plan::LoopAction::Own& own : loop_of(plan).own) {
    text += text.empty() ? "" : "; ";
    text += own.at_first ? "first " : "";
    text += own.made ? "made" : own.passed_on >= 0 ? fmt::format("passed on {}", own.passed_on) : "shared";
  }
  return text;
}
std::string of_body(const plan::Plan& plan) {
  return in_place(plan.bodies.at(static_cast<std::size_t>(loop_of(plan).body)).plan.global);
}
template <class State>
Planned looped(const State& state, auto body) {
  return planned({[=] {
    return awhile([](const auto&... a) { return (... && (the(sum(a)) < 100.0)); }, body, state());
  }});
}

}  // namespace

TEST_CASE("a map writes over what it is the last to read") {
  CHECK(of_run([] { return shares(prefixes(v())); }) == "3 <- 1.0");
  CHECK(of_run([] { return map(once, sort(map(twice, v()))); }) == "3 <- 2.0");
  CHECK(of_run([] { return map(twice, map(once, map(twice, v()))); }, all_stored) == "2 <- 1.0, 3 <- 2.0");
  CHECK(of_chunk([](V a) { return sum(shares(prefixes(a))); }, all_stored) == "3 <- 1.0");
  CHECK(of_chunk([](V a) { return sum(shares(prefixes(a))); }, all_stored, 5) == "3 <- 1.0");
}

TEST_CASE("inputs, items and results of a stage are not written over, nor results in place") {
  CHECK(of_run([] { return map(once, v()); }) == "");
  CHECK(of_chunk([](V a) { return sum(map(once, a)); }, all_stored) == "");
  CHECK(of_chunk([](V a) { return shares(prefixes(a)); }) == "");
  CHECK(of_run([] {
          const V stream = consume(elements(map_seq([](V a) { return map(once, a); }, vectors())));
          return map(twice, stream);
        }) == "");
}

TEST_CASE("what is still needed is not written over") {
  CHECK(of_run([] {  // a result
          const V p = prefixes(v());
          return std::tuple(p, shares(p));
        }) == "");
  CHECK(of_run([] {  // by a later kernel
          const V p = prefixes(v()), q = shares(p);
          return std::tuple(q, sum(zip_with(times, reverse(p), q)));
        }) == "");
  CHECK(of_run([] {  // by an extent
          const V p = prefixes(v()), q = shares(p);
          return std::tuple(q, generate(cast<std::int64_t>(p[0]), [](auto i) { return i; }));
        }) == "");
  const Planned stream = planned({[] {
    const V p = prefixes(v()), q = shares(p);
    return consume(
        elements(map_seq([=](V a) { return map([=](D x) { return x + p[0] * q[0]; }, a); }, vectors())));
  }});
  CHECK(in_place(stream.plan.global) == "");
}

TEST_CASE("what a kernel reads elsewhere, too, is not written over") {
  CHECK(of_run([] {
          const V p = prefixes(v());
          return zip_with(plus, p, reverse(p));
        }) == "");
  CHECK(of_run([] {
          const V p = prefixes(v());
          return map([=](D x) { return x + p[0]; }, p);
        }) == "");
  CHECK(of_run([] { return flatten(compute(transpose(compute(map(once, m()))))); }).find("2 <-") ==
        std::string::npos);
  CHECK(of_chunk([](V a) {
          const V p = prefixes(a), q = compute(zip_with(plus, p, reverse(p)));
          return sum(zip_with(times, q, reverse(q)));
        }) == "");
}

TEST_CASE("elements of another size or array of other extents, and what may fail, lie elsewhere") {
  const auto converted = []<class T>(std::type_identity<T>) {
    return of_run([] {
      const auto p = scanl1(plus, map([](D x) { return cast<float>(x); }, v()));
      const auto total = the(sum(p));
      return map([=](auto x) { return cast<T>(x / total); }, p);
    });
  };
  CHECK(converted(std::type_identity<std::int32_t>{}) == "3 <- 1.0");
  CHECK(converted(std::type_identity<double>{}) == "");
  CHECK(converted(std::type_identity<std::int16_t>{}) == "");
  CHECK(of_run([] { return map(once, take(2, prefixes(v()))); }) == "");
  CHECK(of_run([] {
          const auto p = scanl1(plus, k());
          const auto total = cast<std::int32_t>(the(sum(p)));
          return map([=](auto x) { return x / total; }, p);
        }) == "");
}

TEST_CASE("each component is written over once") {
  CHECK(of_run([] {
          const V p = prefixes(v());
          const auto total = the(sum(p));
          return std::tuple(map([=](D x) { return x / total; }, p), map([=](D x) { return x - total; }, p));
        }) == "3 <- 1.0");
  CHECK(of_run(
            [] {
              const auto number = map([](D x) { return cast<std::int32_t>(x); }, v());
              const auto [x, i, y] = unzip(compute(zip(v(), number, map(twice, v()))));
              return zip(map([](D e) { return cast<float>(e); }, x), y, x, i, map(once, y));
            },
            whole_tuples) == "2 <- 1.1 1.0 1.2 - -");
}

TEST_CASE("what a branch or loop takes may be what it gives, and is not written over") {
  CHECK(of_run([] {
          const V p = prefixes(v());
          const V q = acond(the(sum(v())) > 0.0, map(once, p), [=] { return p; });
          return std::tuple(q, shares(p));
        }).find("<- 1.0") == std::string::npos);
  CHECK(of_run([] {
          const V p = prefixes(v());
          const V q = awhile([](V a) { return the(sum(a)) < 100.0; }, [](V a) { return map(once, a); }, p);
          return std::tuple(q, shares(p));
        }).find("<- 1.0") == std::string::npos);
}

TEST_CASE("a round writes over the state that nobody else has") {
  const auto step = [](V a) { return map(once, a); };
  const Planned own = looped([] { return prefixes(v()); }, step);
  CHECK(owners(own.plan) == "first made");
  CHECK(of_body(own.plan) == "1 <- 0.0");
  CHECK(owners(looped([] { return v(); }, step).plan) == "made");
  CHECK(owners(planned({[=] {  // a result as well
                 const V p = prefixes(v());
                 return std::tuple(p, awhile([](V a) { return the(sum(a)) < 100.0; }, step, p));
               }})
                   .plan) == "made");
  CHECK(owners(planned({[=] {  // what the body reads, too
                 const V p = prefixes(v());
                 return awhile([](V a) { return the(sum(a)) < 100.0; },
                               [=](V a) { return zip_with(plus, a, p); }, p);
               }})
                   .plan) == "made");
  CHECK(owners(looped([] { return std::tuple(prefixes(v()), map(once, v())); },
                      [](V a, V b) { return std::tuple(b, zip_with(plus, a, b)); })
                   .plan) == "first passed on 1; first made");
  CHECK(owners(looped([] { return std::tuple(prefixes(v()), map(once, v())); },
                      [](V a, V) {
                        const V next = map(once, a);
                        return std::tuple(next, next);
                      })
                   .plan) == "first shared; first shared");
  // What a branch in the body gives may be the next state, too.
  CHECK(owners(looped([] { return std::tuple(prefixes(v()), map(once, v())); },
                      [](V a, V b) {
                        const V next = shares(a);
                        return std::tuple(next,
                                          acond(the(sum(b)) > 5.0, next, [=] { return map(twice, b); }));
                      })
                   .plan) == "first shared; first shared");
}

TEST_CASE("no memory is shared where that is switched off") {
  const Planned p = planned({[] {
    return awhile([](V a) { return the(sum(a)) < 100.0; }, [](V a) { return map(once, a); },
                  shares(prefixes(v())));
  }});
  const plan::Plan off = plan::build(p.staged, {.in_place = false});
  CHECK(in_place(p.plan.global) != "");
  CHECK(in_place(off.global) == "");
  CHECK(of_body(off) == "");
}

TEST_CASE("a plan that overwrites what is needed is refused") {
  const Planned good = planned({[] { return shares(prefixes(v())); }});
  const auto refused = [&](const auto& breaks) {
    plan::Plan plan = good.plan;
    breaks(plan.global);
    CHECK_THROWS_AS(plan::verify_in_place(plan), InternalError);
  };
  REQUIRE(in_place(good.plan.global) == "3 <- 1.0");
  refused([](plan::Group& g) { g.arrays[3].in_place_of[0].array = 0; });
  refused([](plan::Group& g) { g.arrays[3].in_place_of[0].array = 2; });
  refused([](plan::Group& g) { g.arrays[1].type.scalars[0] = ScalarType::float32; });
  refused([](plan::Group& g) { g.arrays[1].extents.clear(); });
  refused([](plan::Group& g) {
    for (kernel::KernelArray& array : std::get<plan::KernelStep>(g.steps[2]).kernel.arrays)
      array.overwritten = false;
  });
  plan::Plan plan = good.plan;
  plan.results.push_back(1);
  CHECK_THROWS_AS(plan::verify_in_place(plan), InternalError);
}

TEST_CASE("an array stays that another one lies in") {
  const auto looped = [](auto p) {
    return while_loop([](D y) { return y < 1.0; }, [](D y) { return y + 1.0; }, get<0>(p) * get<1>(p));
  };
  CHECK(of_run([=] { return map(looped, sort(zip(v(), v()))); }) != "");
  CHECK(of_run([=] {
          const auto sorted = sort(zip(v(), v()));
          return std::tuple(std::get<1>(unzip(sorted)), map(looped, sorted));
        }) == "");
}
