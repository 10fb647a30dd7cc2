// What a loop or a branch inside of a sequence gives: extents that no round changes, or that both sides have, are known
// before it runs.

#include <regex>

#include "lift/support/forms.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

using V = Acc<Vector<double>>;

const auto twice = [](Exp<double> e) { return e + e; };
const auto is_large = [](V a) { return the(sum(a)) > 3.0; };

/// `it`: what the loop or branch gives.
std::string form_of(const TestProgram& program, std::size_t result = 0) {
  const ir::Staged staged = lifted(program);
  return std::regex_replace(form_text(staged, staged.stages.at(0).results.at(result)), std::regex("a[0-9]+"),
                            "it");
}

struct Row {
  std::string name;
  std::function<V(V)> of_item;
  std::string regular, segmented;  ///< of items of 3 elements, and of any
};
void check(const std::vector<Row>& table) {
  for (const Row& row : table) {
    INFO(row.name);
    const auto f = row.of_item;
    CHECK(form_of({[=] { return consume(elements(map_seq(f, vectors(3)))); }}) == row.regular);
    CHECK(form_of({[=] { return consume(elements(map_seq(f, vectors()))); }}) == row.segmented);
  }
}

const std::string uniform = ": its shape is the same for all items",
                  differs = ": extent 0 depends on the item";

}  // namespace

TEST_CASE("the shape of a branch is that of both sides, where they have one") {
  check({
      {"both map the item", [](V a) { return acond(is_large(a), map(twice, a), reverse(a)); },
       "regular [<3>]" + uniform, "segmented [shape(item)]" + differs},
      {"both have the same literal length",
       [](V a) {
         const auto of = [&](auto f) {
           return generate(Exp<std::int64_t>(5), [=](auto) { return f(the(sum(a))); });
         };
         return acond(is_large(a), of(twice), of([](auto x) { return x; }));
       },
       "regular [5]" + uniform, "regular [5]" + uniform},
      {"one is shorter", [](V a) { return acond(is_large(a), take(2, a), a); },
       "segmented [shape(it)]" + differs, "segmented [shape(it)]" + differs},
      {"the length of both is an element, which is read where a side is taken only",
       [](V a) {
         const auto n = [&] { return cast<std::int64_t>(a[0]); };
         const auto counted = [&](double x) { return generate(n(), [=](auto) { return Exp<double>(x); }); };
         return acond(is_large(a), counted(1), counted(2));
       },
       "segmented [shape(it)]" + differs, "segmented [shape(it)]" + differs},
      {"the length of both may be negative, which is an error where a side is taken only",
       [](V a) {
         const auto counted = [&](double x) {
           return generate(size(a) - 5, [=](auto) { return Exp<double>(x); });
         };
         return acond(is_large(a), counted(1), counted(2));
       },
       "segmented [shape(it)]" + differs, "segmented [shape(it)]" + differs},
  });
}

TEST_CASE("the shape of a loop's state is the first, where no round changes it") {
  check({
      {"every round maps", [](V a) { return awhile(is_large, [](V s) { return map(twice, s); }, a); },
       "regular [<3>]" + uniform, "segmented [shape(item)]" + differs},
      {"every round reverses, by a branch",
       [](V a) {
         return awhile(is_large, [](V s) { return acond(is_large(s), reverse(s), map(twice, s)); }, a);
       },
       "segmented [shape(it)]" + differs, "segmented [shape(it)]" + differs},
      {"every round drops one", [](V a) { return awhile(is_large, [](V s) { return drop(1, s); }, a); },
       "segmented [shape(it)]" + differs, "segmented [shape(it)]" + differs},
      {"a literal length",
       [](V a) {
         const V zeros = generate(Exp<std::int64_t>(4), [](auto) { return Exp<double>(0); });
         return awhile([=](V s) { return the(sum(s)) < the(sum(a)); }, [](V s) { return map(twice, s); },
                       zeros);
       },
       "regular [4]" + uniform, "regular [4]" + uniform},
  });
}

TEST_CASE("of several states each has its own shape, and what changes one may change another") {
  const auto loop = [](auto next) {
    return [=](V a) {
      auto [x, y, z] = awhile([](V s, V, V) { return is_large(s); }, next, std::tuple(a, a, a));
      return std::tuple{x, y, z};
    };
  };
  const auto forms = [&](auto next) {
    const TestProgram program = [=] {
      auto [x, y, z] = unzip_seq(map_seq(loop(next), vectors(3)));
      return std::tuple{consume(elements(x)), consume(elements(y)), consume(elements(z))};
    };
    return std::vector{form_of(program, 0), form_of(program, 1), form_of(program, 2)};
  };
  const std::string known = "regular [<3>]" + uniform;
  CHECK(forms([](V x, V y, V z) { return std::tuple{z, x, y}; }) == std::vector{known, known, known});
  const std::string unknown = "segmented [shape(it)]" + differs;
  CHECK(forms([](V x, V y, V z) { return std::tuple{map(twice, x), drop(1, y), z}; }) ==
        std::vector{known, unknown, known});
  CHECK(forms([](V x, V y, V z) { return std::tuple{map(twice, y), drop(1, x), z}; }) ==
        std::vector{unknown, unknown, known});
}
