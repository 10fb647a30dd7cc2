// What is made of the results of folds, scans and recurrences: which maps are computed where these are stored, and which
// are not, and why.

#include "fuse/support/stored.h"
#include "plan/support/plans.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

using V = Acc<Vector<double>>;
using M = Acc<Matrix<double>>;
using D = Exp<double>;
using I = Exp<std::int64_t>;

const auto twice = [](D x) { return x * 2.0; };
const auto dear = [](D x) { return exp(exp(x)); };
const auto damped = [](D state, D x) { return 0.5 * state + x; };

/// What each kernel of a group computes, and which arrays of that it stores: "sum, map -> map; ...".
std::string kernels_text(const plan::Group& group) {
  std::string text;
  for (const plan::Step& step : group.steps) {
    const auto* kernel = std::get_if<plan::KernelStep>(&step);
    if (!kernel) continue;
    text += (text.empty() ? "" : "; ") +
            std::regex_replace(kernel->kernel.name, std::regex("@[a-z_]+\\.(cpp|h):[0-9]+"), "") + " -> ";
    for (std::size_t i = 0; i < kernel->outputs.size(); ++i)
      text += (i ? ", " : "") +
              std::string(group.arrays.at(static_cast<std::size_t>(kernel->outputs[i])).node->label());
  }
  return text;
}

template <class F>
std::string of_chunk(F f, std::int64_t length = -1) {
  const Planned p = planned([=] { return consume(elements(map_seq(f, vectors(length)))); });
  return kernels_text(p.plan.stages.at(0).group);
}
template <class F>
std::string of_run(F f) {
  return kernels_text(planned([=] { return f(v()); }).plan.global);
}
/// The kernels, the same of a vector, of items whose lengths differ, and of items of one length.
template <class F>
std::string everywhere(F f) {
  const std::string text = of_run(f);
  CHECK(of_chunk(f) == text);
  CHECK(of_chunk(f, 5) == text);
  return text;
}
/// Why `label` is stored, in items whose lengths differ.
template <class F>
std::string why(const std::string& label, F f) {
  const ir::Staged staged = fused([=] { return consume(elements(map_seq(f, vectors()))); });
  for (const std::string& decision : decisions(staged))
    if (decision.starts_with(label + ": ") && !decision.ends_with("delayed"))
      return decision.substr(label.size() + 2);
  return "there is no such array";
}

}  // namespace

TEST_CASE("a map of a reduction, a scan or a recurrence is computed where that would be stored") {
  CHECK(everywhere([](V a) { return map(dear, sum(a)); }) == "sum, map -> map");
  CHECK(everywhere([](V a) { return map(twice, scanl1(plus, a)); }) == "scanl1, map -> map");
  CHECK(everywhere([](V a) { return map(twice, scanr1(plus, a)); }) == "scanr1, map -> map");
  CHECK(everywhere([](V a) { return map(twice, prescanl(plus, 1.0, a)); }) == "prescanl, map -> map");
  CHECK(everywhere([](V a) { return map(dear, scan_state(damped, 0.0, a)); }) == "scan_state, map -> map");
  CHECK(of_run([](V) { return map(dear, scanl1(plus, m(), 0)); }) == "scanl1, map -> map");
  CHECK(of_run([](V) { return map(dear, sum(m(), 0)); }) == "sum, map -> map");
}

TEST_CASE("a mean is one kernel, and so is what several reductions of a row come to") {
  CHECK(everywhere([](V a) { return mean(a); }) == "sum, mean -> mean");
  CHECK(everywhere([](V a) {
          return zip_with([](D s, D q) { return sqrt(q - s * s); }, mean(a), sum(map(twice, a)));
        }) == "sum, sum, zip_with -> zip_with");
  // Of maps in between only results are stored.
  CHECK(everywhere([](V a) { return map(twice, map(dear, sum(a))); }) == "sum, map -> map");
}

TEST_CASE("what others read is stored beside the epilogue") {
  const auto both = [](auto f) {
    const auto [first, second] = unzip_seq(map_seq(f, vectors()));
    return kernels_text(
        planned([=] { return std::tuple(consume(elements(first)), consume(elements(second))); })
            .plan.stages.at(0)
            .group);
  };
  CHECK(both([](V a) {
          const auto total = sum(a);
          return std::tuple(total, map(dear, total));
        }) == "sum, map -> sum, map");
  CHECK(both([](V a) {
          const V sums = scanl1(plus, a);
          return std::tuple(map(dear, sums), sum(map(twice, sums)));
        }) == "scanl1, map -> scanl1, map; sum -> sum");
  // One epilogue of another.
  CHECK(both([](V a) {
          const V first = map(dear, scanl1(plus, a));
          return std::tuple(first, map(twice, first));
        }) == "scanl1, map, map -> map, map");
  // Read by several maps of another kernel, it stays where it is made.
  CHECK(both([](V a) {
          const V first = map(dear, scanl1(plus, a));
          const auto from = [](double least) {
            return [=](D x) {
              return while_loop([=](D y) { return y < least; }, [](D y) { return y + 1.0; }, x);
            };
          };
          return std::tuple(map(from(1.0), first), map(from(2.0), first));
        }) == "scanl1, map -> map; map, map -> map, map");
  // The total is a result, which has no epilogue.
  CHECK(both([](V a) {
          const auto [prefixes, total] = scanl_(plus, 0.0, a);
          return std::tuple(map(dear, prefixes), map(dear, total));
        }) == "scanl_, map -> scanl_, map; map -> map");
}

TEST_CASE("an epilogue may read what is there before the kernel in any case, at its own position") {
  CHECK(everywhere([](V a) { return zip_with(minus, scanl1(plus, a), a); }) ==
        "scanl1, zip_with -> zip_with");
  CHECK(everywhere([](V a) {
          const V b = compute(map(dear, a));
          return zip_with(minus, scanl1(plus, b), b);
        }) == "compute -> compute; scanl1, zip_with -> zip_with");
  CHECK(of_chunk([](V a) {
          const auto all = sum(v());
          return map([=](D x) { return x / the(all); }, sum(a));
        }) == "sum, map -> map");
}

TEST_CASE("what is no epilogue, and why") {
  const auto check = [](const std::string& label, auto f, const std::string& kernels,
                        const std::string& reason) {
    INFO(label);
    CHECK(of_chunk(f) == kernels);
    CHECK_THAT(why(label, f), Catch::Matchers::Contains(reason));
  };
  check(
      "map",
      [](V a) {
        return map([](I x) { return x / (x - 1); }, sum(map([](D x) { return cast<std::int64_t>(x); }, a)));
      },
      "sum -> sum; map -> map", "it can fail");
  check(
      "map",
      [](V a) {
        return map(
            [](D x) { return while_loop([](D y) { return y < 1.0; }, [](D y) { return y + 1.0; }, x); },
            sum(a));
      },
      "sum -> sum; map -> map", "it has a loop");
  check(
      "zip_with",
      [](V a) {
        const V b = compute(map(twice, a));
        return zip_with(plus, scanl1(plus, a), b);
      },
      "compute -> compute; scanl1 -> scanl1; zip_with -> zip_with", "it needs what other kernels store");
  check(
      "zip_with", [](V a) { return zip_with(plus, scanl1(plus, a), scanl1(times, a)); },
      "scanl1 -> scanl1; scanl1 -> scanl1; zip_with -> zip_with", "it needs the results of several kernels");
  check(
      "map",
      [](V a) {
        const auto n = cast<double>(size(a));
        return map([=](D x) { return x / n; }, scanl1(plus, a));
      },
      "scanl1 -> scanl1; map -> map", "its function depends on the item");
  check(
      "zip_with", [](V a) { return zip_with(plus, scanl1(plus, a), take(3, a)); },
      "scanl1 -> scanl1; extent -> extent; zip_with -> zip_with", "a result");
  check(
      "imap",
      [](V a) {
        return imap([](Exp<Index<1>> ix, D x) { return x * cast<double>(ix[0]); }, scanl1(plus, a));
      },
      "scanl1 -> scanl1; imap -> imap", "it is no map");
  fuse::Options options;
  options.epilogue_cap = 4;
  CHECK(kernels_text(planned([] { return map(dear, sum(v())); }, options).plan.global) ==
        "sum -> sum; map -> map");
  options.fusion = false;
  CHECK(kernels_text(planned([] { return map(twice, sum(v())); }, options).plan.global) ==
        "sum -> sum; map -> map");
}

TEST_CASE("a reduction that decides a shape has no epilogue that waits for the shape") {
  const auto f = [](V a) {
    const auto n = sum(map([](D) { return I(1); }, a));
    return map([s = cast<double>(the(n))](D x) { return x + s; }, fill(the(n), 1.0));
  };
  const ir::Staged staged = fused([=] { return consume(elements(map_seq(f, vectors()))); });
  CHECK(staged.together.empty());
}
