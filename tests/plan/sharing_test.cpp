// Sharing: what a program mentions twice is one node, and the node is evaluated once, at the lowest place that
// dominates its uses, unless those are in branches that need not be taken. The examples are those of *Optimising Purely
// Functional GPU Programs* (Figure 2) and of the tests that its authors keep.

#include <map>

#include "ir/walk.h"
#include "kernel/regions.h"
#include "plan/support/plans.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Primitive;
using kernel::Kernel;
using kernel::Region;
using kernel::Regions;

namespace {

using V = Acc<Vector<double>>;
using D = Exp<double>;
using I = Exp<std::int64_t>;
using Texts = std::vector<std::string>;

/// Functions that can be told apart in what becomes of a program: each is a primitive of its own.
const auto f = [](D x) { return exp(x); };
const auto g = [](D x) { return sin(x); };
const auto h = [](D x) { return cos(x); };
const auto is_negative = [](D x) { return x < 0.0; };
const auto is_large = [](D x) { return x > 9.0; };

template <class F>
TestProgram over(F function) {
  return [=] { return consume(elements(map_seq(function, vectors()))); };
}
template <class F>
TestProgram of_elements(F function) {
  return over([=](V a) { return map(function, a); });
}

template <class Program>
std::vector<ir::Ref> shared(const Program& program) {
  return front::share(results_of(program()));
}

/// How many nodes with each label: "2 map, 1 use".
std::string arrays_of(const std::vector<ir::Ref>& roots) {
  std::map<std::string, int> count;
  for (const ir::Node* node : ir::topological(roots))
    if (node->type().is_array()) ++count[node->label()];
  std::string text;
  for (const auto& [label, times] : count)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", times, label);
  return text;
}

/// What a term of the kernel's unconditional code depends on: the innermost of the launch, the item, the row and the
/// element whose parameters it mentions. Code generators may evaluate it there; where the elements of several rows or
/// items are lanes of one vector they evaluate it for each.
std::string depends_on(const Kernel& kernel, const ir::Node& term) {
  const char* const names[] = {"launch", "item", "row", "element"};
  std::map<const ir::Node*, int> levels;
  for (const auto& array : kernel.arrays)
    levels[array.parameter.get()] = array.form == ir::Form::avoided ? 0 : 1;
  for (const auto& scalar : kernel.scalars)
    levels[scalar.parameter.get()] = scalar.value.same_for_all() ? 0 : 1;
  for (const auto& index : kernel.index) levels[index.get()] = 2;
  if (!kernel::row_of(kernel) && !kernel.index.empty()) levels[kernel.index.back().get()] = 3;
  int level = 0;
  for (const ir::Node* parameter : term.free()) {
    const auto known = levels.find(parameter);
    level = std::max(level, known == levels.end() ? 3 : known->second);
  }
  return names[level];
}

std::string place_of(const Kernel& kernel, const Regions& regions, int region, const ir::Node& term) {
  if (regions[region].kind == Region::Kind::root) return depends_on(kernel, term);
  std::string path;
  for (int r = region; r > 0; r = regions[r].parent) {
    const Region::Kind kind = regions[r].kind;
    const char* name = kind == Region::Kind::then        ? "then"
                       : kind == Region::Kind::otherwise ? "else"
                       : kind == Region::Kind::predicate ? "while"
                                                         : "do";
    path = name + (path.empty() ? "" : " " + path);
  }
  return path;
}

/// Under which conditions and loops the kernels evaluate a primitive, or else what it depends on; once for each
/// evaluation in the code.
Texts evaluations(const std::vector<const Kernel*>& kernels, Primitive primitive) {
  Texts places;
  for (const Kernel* kernel : kernels) {
    const Regions regions(kernel->body);
    int count = 0;
    for (int r = 0; static_cast<std::size_t>(count) < regions.nodes(); ++r)
      for (const ir::Node* node : regions[r].nodes) {
        ++count;
        if (node->op() == ir::Op::primitive && node->payload().primitive == primitive)
          places.push_back(place_of(*kernel, regions, r, *node));
      }
  }
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<const Kernel*> all_kernels(const plan::Plan& plan) {
  std::vector<const Kernel*> kernels;
  plan::each_group(plan, [&](const plan::Group& group) {
    const auto found = kernels_of(group);
    kernels.insert(kernels.end(), found.begin(), found.end());
  });
  return kernels;
}

/// The terms of all kernels, each counted where it is evaluated.
std::size_t terms(const plan::Plan& plan) {
  std::size_t count = 0;
  for (const Kernel* kernel : all_kernels(plan)) count += Regions(kernel->body).nodes();
  return count;
}

struct Placed {
  std::string name;
  TestProgram program;
  Primitive primitive;
  Texts places;
};
void check(std::span<const Placed> table) {
  for (const Placed& row : table) {
    INFO(row.name);
    const Planned p = planned(row.program);
    INFO(text_of(p.plan));
    CHECK(evaluations(all_kernels(p.plan), row.primitive) == row.places);
  }
}

}  // namespace

TEST_CASE("the term of Figure 2 has each of its shared terms once") {
  // let inc = (+) 1; nine = let three = inc 2 in three * three in inc nine - nine
  const auto figure = [](const auto& inc, const auto& two) {
    const auto three = inc(two);
    const auto nine = three * three;
    return inc(nine) - nine;
  };
  const auto of_numbers =
      shared([&] { return unit(figure([](auto x) { return x + std::int64_t{1}; }, I(2))); });
  REQUIRE(ir::topological(of_numbers).size() == 2);  // the array, and 1
  CHECK(ir::constant_text(*of_numbers[0]->child(0)) == "1");

  const auto of_floats = shared([&] { return unit(figure([](auto x) { return x + 1.0; }, D(2.0))); });
  CHECK(ir::topological(of_floats).size() == 7);  // and 1, 2, three, nine, inc nine, the difference

  const TestProgram in_a_function = of_elements([=](D x) { return figure(f, x); });
  const Placed table[] = {
      {"inc 2, inc nine", in_a_function, Primitive::exp, {"element", "element"}},
      {"nine", in_a_function, Primitive::multiply, {"element"}},
      {"the difference", in_a_function, Primitive::subtract, {"element"}},
  };
  check(table);

  // The same of arrays.
  const auto of_arrays = [] {
    const auto inc = [](V a) { return map(f, a); };
    const V three = inc(v()), nine = zip_with(times, three, three);
    return zip_with(minus, inc(nine), nine);
  };
  CHECK(arrays_of(shared(of_arrays)) == "2 map, 1 use, 2 zip_with");
  const Planned p = planned(of_arrays);
  CHECK(evaluations(all_kernels(p.plan), Primitive::exp).size() == 2);
  CHECK(evaluations(all_kernels(p.plan), Primitive::multiply).size() == 1);
  CHECK(evaluations(all_kernels(p.plan), Primitive::subtract).size() == 1);
}

TEST_CASE(
    "bound variables: a term depends on no more than the innermost function whose parameters it mentions") {
  const auto levels = [](V a) {
    const auto of_run = sum(v()), of_item = sum(a);
    const D once = f(the(of_run)), per_item = g(the(of_item));
    return map(
        [=](D x) {
          const D own = h(x);
          return once * per_item + own * own + once / per_item;
        },
        a);
  };
  // The state of each loop in a term that its own rounds and those of the loop inside of it share.
  const auto loops = [](D x) {
    const D of_x = f(x) + f(x);
    return iterate(
               3,
               [=](D s) {
                 const D of_s = g(s);
                 return iterate(
                            5,
                            [=](D t) {
                              const D of_t = h(t);
                              return of_x * of_s + of_t * of_t + of_s;
                            },
                            s) +
                        of_s;
               },
               x) +
           of_x;
  };
  const auto column = [](Acc<Matrix<double>> a) {
    return imap(
        [](Exp<Index<2>> ix, D x) {
          const D of_row = f(cast<double>(ix[0]));
          return (x + of_row) * of_row;
        },
        a);
  };
  const TestProgram matrix = [=] { return consume(elements(map_seq(column, matrices(-1, -1)))); };
  const Placed table[] = {
      {"free of the item", over(levels), Primitive::exp, {"launch"}},
      {"free of the element", over(levels), Primitive::sin, {"item"}},
      {"of the element", over(levels), Primitive::cos, {"element"}},
      {"free of the column", matrix, Primitive::exp, {"row"}},
      {"outside of both loops", of_elements(loops), Primitive::exp, {"element"}},
      {"of the outer loop's state", of_elements(loops), Primitive::sin, {"do"}},
      {"of the inner loop's state", of_elements(loops), Primitive::cos, {"do do"}},
      {"a loop's predicate and its body share what is free of the state",
       of_elements([](D x) {
         const D t = f(x);
         return while_loop([=](D s) { return s < t; }, [=](D s) { return t + s; }, x);
       }),
       Primitive::exp,
       {"element"}},
  };
  check(table);
}

TEST_CASE("what only an untaken branch needs is not evaluated; what both sides need is evaluated before") {
  // So dear that it is not evaluated without need.
  const auto dear = [](D x) { return f(g(g(g(x)))); };
  const auto one_side = [=](D x) {
    const D t = dear(x);
    return cond(is_negative(x), t * t + t, x);
  };
  const auto both = [=](D x) {
    const D t = dear(x);
    return cond(is_negative(x), t + 1.0, t * 2.0);
  };
  const auto condition = [=](D x) {
    const D t = dear(x);
    return cond(is_negative(t), t + 1.0, x);
  };
  const auto inner = [=](D x) {
    const D t = dear(x);
    return cond(is_negative(x), x, cond(is_large(x), t + 1.0, t * 2.0));
  };
  const auto two_sides = [=](D x) {  // at most one of them is taken
    const D t = dear(x);
    return cond(is_negative(x), t + 1.0, cond(is_large(x), t * 2.0, x));
  };
  const auto two_branches = [=](D x) {  // both may be taken
    const D t = dear(x);
    return cond(is_negative(x), t + 1.0, x) + cond(is_large(x), t * 2.0, x);
  };
  const auto every_leaf = [=](D x) {
    const D t = dear(x);
    return cond(is_negative(x), t + 1.0, cond(is_large(x), t * 2.0, t * 3.0));
  };
  const auto after = [=](D x) {
    const D t = dear(x);
    return cond(is_negative(x), t + 1.0, x) + t;
  };
  const auto in_loop = [=](D x) {
    const D t = dear(x);
    return iterate(4, [=](D s) { return cond(is_negative(s), t * s + t, s); }, x);
  };
  const auto around_loop = [=](D x) {
    const D t = dear(x);
    return iterate(4, [=](D s) { return t * s + t; }, x) + t;
  };
  const auto quotient = [](D x) {  // it may fail
    const I n = cast<std::int64_t>(x);
    const I t = 100 / n;
    return cast<double>(cond(n == 0, n, t * t));
  };
  const auto cheap = [](V a) {  // cannot fail, and reads no memory
    return generate(size(a), [](I i) {
      const D t = f(cast<double>(i));
      return cond(i < 3, t, 1.0) + cond(i > 5, t, 2.0);
    });
  };
  const Placed table[] = {
      {"one side", of_elements(one_side), Primitive::exp, {"then"}},
      {"both sides", of_elements(both), Primitive::exp, {"element"}},
      {"the condition and a side", of_elements(condition), Primitive::exp, {"element"}},
      {"both sides of an inner branch", of_elements(inner), Primitive::exp, {"else"}},
      {"a side of each of two branches in one another",
       of_elements(two_sides),
       Primitive::exp,
       {"else then", "then"}},
      {"a side of each of two branches beside one another",
       of_elements(two_branches),
       Primitive::exp,
       {"then", "then"}},
      {"all sides of them", of_elements(every_leaf), Primitive::exp, {"element"}},
      {"a side, and what comes after", of_elements(after), Primitive::exp, {"element"}},
      {"a side inside of a loop", of_elements(in_loop), Primitive::exp, {"do then"}},
      {"a loop, and what comes after", of_elements(around_loop), Primitive::exp, {"element"}},
      {"a side whose term may fail", of_elements(quotient), Primitive::divide, {"else"}},
      {"what is cheap and cannot fail need not wait for its branches",
       over(cheap),
       Primitive::exp,
       {"element"}},
  };
  check(table);
}

namespace {

/// Each function is applied in one place of these programs, so its primitive stands once in all kernels.
struct Sharing {
  std::string name;
  std::function<V()> program;
  std::string arrays;  ///< after sharing
  std::string kernels;
  std::vector<Primitive> once;
};

// Programs of the authors' tests, by their names there. Arrays that are read at computed positions are stored.
V pair_of_maps(bool in_order) {
  const V map2 = map(f, v());
  const V map1 = map([=](D y) { return map2[2] + g(y); }, v());
  return in_order ? zip_with([](D x, D y) { return x + h(y); }, map1, map2)
                  : zip_with([](D x, D y) { return h(x) + y; }, map2, map1);
}
V bfs_fail() {
  const V map2 = map(f, v());
  const V map1 = map([=](D y) { return map2[2] + g(y); }, v());
  return map([=](D x) { return map2[1] + map1[2] + h(x); }, v());
}
V same_level(bool in_order) {
  const V arr1 = map(f, v()), arr2 = map(g, v());
  return map(
      [=](D x) {
        const D first = arr1[1] + arr1[2], second = arr2[0] + arr2[1];
        return (in_order ? first + second : second + first) + h(x);
      },
      v());
}
V piped() {
  const V z = map(f, v());
  const auto acc1 = [=](V a) { return map([=](D x) { return z[1] + g(x); }, a); };
  const auto acc2 = [=](V a) { return zip_with(times, map(h, a), z); };
  return acc2(acc1(z));
}

}  // namespace

TEST_CASE("arrays that are mentioned twice are computed once, each before what reads it") {
  const Sharing table[] = {
      {"simple",
       [] {
         const V a = map(f, v());
         return zip_with(plus, a, a);
       },
       "1 map, 1 use, 1 zip_with",
       "zip_with",
       {Primitive::exp}},
      {"simple, read at two positions",
       [] {
         const V a = map(f, v());
         return map([=](D x) { return a[0] + a[1] * x; }, v());
       },
       "2 map, 1 use",
       "map, map",
       {Primitive::exp}},
      {"a, b of a, then b, a, b",
       [] {
         const V a = map(f, v()), b = map(g, a);
         return zip_with([](D x, D y, D z) { return h(x) + y * z; }, b, a, b);
       },
       "2 map, 1 use, 1 zip_with",
       "zip_with",
       {Primitive::exp, Primitive::sin, Primitive::cos}},
      {"orderFail",
       [] { return pair_of_maps(true); },
       "2 map, 1 use, 1 zip_with",
       "map, zip_with",
       {Primitive::exp, Primitive::sin, Primitive::cos}},
      {"orderFail, the other one first",
       [] { return pair_of_maps(false); },
       "2 map, 1 use, 1 zip_with",
       "map, zip_with",
       {Primitive::exp, Primitive::sin, Primitive::cos}},
      {"bfsFail",
       bfs_fail,
       "3 map, 1 use",
       "map, map, map",
       {Primitive::exp, Primitive::sin, Primitive::cos}},
      {"twoLetsSameLevel",
       [] { return same_level(true); },
       "3 map, 1 use",
       "map, map",
       {Primitive::exp, Primitive::sin, Primitive::cos}},
      {"twoLetsSameLevel2",
       [] { return same_level(false); },
       "3 map, 1 use",
       "map, map",
       {Primitive::exp, Primitive::sin, Primitive::cos}},
      {"noLetAtTop",
       [] { return map([](D x) { return log(x); }, bfs_fail()); },
       "4 map, 1 use",
       "map, map, map",
       {Primitive::exp, Primitive::sin, Primitive::cos, Primitive::log}},
      {"noLetAtTop2",
       [] { return map([](D x) { return tan(x); }, map([](D x) { return log(x); }, bfs_fail())); },
       "5 map, 1 use",
       "map, map, map",
       {Primitive::exp, Primitive::sin, Primitive::cos, Primitive::log, Primitive::tan}},
      {"pipe",
       piped,
       "3 map, 1 use, 1 zip_with",
       "map, zip_with",
       {Primitive::exp, Primitive::sin, Primitive::cos}},
      {"an array that is written twice",
       [] {
         const Acc<Matrix<double>> a = map(f, m());
         return zip_with(times, flatten(a), flatten(a));
       },
       "1 flatten, 1 map, 1 use, 1 zip_with",
       "zip_with",
       {Primitive::exp}},
  };
  for (const Sharing& row : table) {
    INFO(row.name);
    const std::vector<ir::Ref> roots = shared(row.program);
    CHECK(arrays_of(roots) == row.arrays);
    const Planned p = planned(row.program);
    INFO(text_of(p.plan));
    std::string kernels;
    for (const Kernel* kernel : all_kernels(p.plan))
      kernels += (kernels.empty() ? "" : ", ") + kernel->name.substr(0, kernel->name.find('@'));
    CHECK(kernels == row.kernels);
    for (const Primitive primitive : row.once) CHECK(evaluations(all_kernels(p.plan), primitive).size() == 1);
  }
}

TEST_CASE("programs whose terms double with every step grow by the same number of nodes at each") {
  // As a tree, the term of forty steps has 2^40 leaves.
  struct Row {
    std::string name;
    std::function<V(int)> program;
  };
  const auto steps_of_a_term = [](auto step) {
    return [=](int n) {
      return map(
          [=](D x) {
            for (int k = 0; k < n; ++k) x = step(x);
            return x;
          },
          v());
    };
  };
  const auto steps_of_an_array = [](auto step) {
    return [=](int n) {
      V a = v();
      for (int k = 0; k < n; ++k) a = step(a);
      return a;
    };
  };
  const Row table[] = {
      {"a term and itself", steps_of_a_term([](D x) { return x + x; })},
      {"a term in a condition and both sides",
       steps_of_a_term([](D x) { return cond(x < 3.0, x + 1.0, f(x) * 2.0); })},
      {"a term in what a loop begins with, its rounds and after it",
       steps_of_a_term([](D x) { return iterate(3, [=](D s) { return s * s + x; }, x) + x; })},
      {"an array and itself", steps_of_an_array([](V a) { return zip_with(plus, a, a); })},
      {"an array and itself in another order",
       steps_of_an_array([](V a) { return zip_with(plus, a, reverse(a)); })},
      {"an array and a dear one of it",
       steps_of_an_array([](V a) { return zip_with(plus, a, map(f, map(f, a))); })},
      {"two elements of an array (muchSharing)",
       steps_of_an_array([](V a) { return map([=](D x) { return a[0] + a[1] + x; }, v()); })},
      {"a row and its sum", steps_of_an_array([](V a) {
         const auto total = sum(a);
         return map([=](D x) { return x / the(total); }, a);
       })},
      {"a stream and itself",
       [](int n) {
         Seq<Vector<double>> s = vectors();
         for (int k = 0; k < n; ++k) s = zip_with_seq([](V a, V b) { return zip_with(plus, a, b); }, s, s);
         return consume(elements(s));
       }},
  };
  for (const Row& row : table) {
    INFO(row.name);
    const auto sizes = [&](int n) {
      const auto program = [&] { return row.program(n); };
      const Planned p = planned(program);
      return std::array{ir::topological(shared(program)).size(), p.staged.facts.size(),
                        all_kernels(p.plan).size(), terms(p.plan)};
    };
    const auto forty = sizes(40), eighty = sizes(80), more = sizes(120);
    for (std::size_t i = 0; i < forty.size(); ++i) CHECK(eighty[i] - forty[i] == more[i] - eighty[i]);
  }
}

TEST_CASE("loops in loops, each of which shares its state, are as many nodes as they are written") {
  // A loop's body is made once, whatever its rounds; one inside of it as well.
  const auto nested = [](int depth) {
    const auto program = [=] {
      return map(
          [=](D x) {
            const auto level = [](const auto& self, int left, D s) -> D {
              if (left == 0) return f(s);
              return iterate(4, [&](D t) { return self(self, left - 1, t * s + t); }, s);
            };
            return level(level, depth, x);
          },
          v());
    };
    const Planned p = planned(program);
    CHECK(evaluations(all_kernels(p.plan), Primitive::exp).size() == 1);
    return terms(p.plan);
  };
  CHECK(nested(12) - nested(8) == nested(8) - nested(4));
}

TEST_CASE(
    "an array loop computes what is free of its state before it, and what a round shares once a round") {
  const auto program = [] {
    const V free = map(f, v());
    const auto round = [=](V state) {
      const V own = map(g, state);
      return map([=](D x) { return x + own[0] + own[1] + free[0]; }, zip_with(times, own, free));
    };
    const auto again = [=](V state) { return the(sum(state)) < free[1]; };
    return awhile(again, round, awhile(again, round, v()));
  };
  const Planned p = planned(program);
  INFO(text_of(p.plan));
  CHECK(p.plan.bodies.size() == 4);
  CHECK(evaluations(kernels_of(p.plan.global), Primitive::exp).size() == 1);
  CHECK(evaluations(all_kernels(p.plan), Primitive::exp).size() == 1);
  CHECK(evaluations(kernels_of(p.plan.global), Primitive::sin).empty());
  CHECK(evaluations(all_kernels(p.plan), Primitive::sin).size() == 2);  // of either loop
}
