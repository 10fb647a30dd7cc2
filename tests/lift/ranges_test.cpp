// Which reads are known to be in range, and that they are.

#include "lift/ranges.h"

#include <algorithm>
#include <random>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/make.h"
#include "ir/print.h"
#include "ir/simplify.h"
#include "ir/views.h"
#include "ir/walk.h"
#include "lift/support/forms.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

using V = Acc<Vector<double>>;
using M = Acc<Matrix<double>>;
using I = Exp<std::int64_t>;

/// Of each read in the program's results: "in range", "in range, once" or "checked".
std::vector<std::string> reads_of(const TestProgram& program) {
  const ir::Staged staged = lifted(program);
  const std::vector<ir::Ref>& roots = staged.stages.empty() ? staged.results : staged.stages[0].results;
  std::vector<std::string> found;
  for (const ir::Node* node : ir::topological(roots)) {
    if (node->op() != ir::Op::index && node->op() != ir::Op::backpermute) continue;
    if (node->op() == ir::Op::index && ir::Read(*node).array()->type().rank == 0) continue;
    found.push_back(!node->payload().in_bounds  ? "checked"
                    : node->payload().injective ? "in range, once"
                                                : "in range");
  }
  std::sort(found.begin(), found.end());
  return found;
}

struct Row {
  std::string name;
  std::function<V(V)> make;
  std::vector<std::string> expected;
};

const std::string once = "in range, once", often = "in range", checked = "checked";

}  // namespace

TEST_CASE("reads of which it is known whatever the data are that they are in range") {
  const std::vector<Row> table{
      {"at the position", [](V a) { return generate(size(a), [=](I i) { return a[i]; }); }, {once}},
      {"backwards", [](V a) { return generate(size(a), [=](I i) { return a[size(a) - 1 - i]; }); }, {once}},
      {"further on", [](V a) { return generate(size(a) - 3, [=](I i) { return a[i + 3]; }); }, {once}},
      {"further on, of a length that is not negative",
       [](V a) { return generate(max(size(a) - 16, 0), [=](I i) { return a[i + 16]; }); },
       {once}},
      {"too far", [](V a) { return generate(size(a) - 3, [=](I i) { return a[i + 4]; }); }, {checked}},
      {"before the first", [](V a) { return generate(size(a), [=](I i) { return a[i - 1]; }); }, {checked}},
      {"between the borders",
       [](V a) { return generate(size(a), [=](I i) { return a[max(min(i + 2, size(a) - 1), 0)]; }); },
       {often}},
      {"below the upper border only",
       [](V a) { return generate(size(a), [=](I i) { return a[min(i - 2, size(a) - 1)]; }); },
       {checked}},
      {"behind a condition, which does not count",
       [](V a) { return generate(size(a), [=](I i) { return cond(i > 0, a[i - 1], 0.0); }); },
       {checked}},
      {"one of two",
       [](V a) { return generate(size(a), [=](I i) { return a[cond(a[i] > 0.0, i, 0)]; }); },
       {often, once}},
      {"further on where there is more, else the first",
       [](V a) { return generate(size(a), [=](I i) { return a[cond(i + 2 < size(a), i + 2, 0)]; }); },
       {often}},
      {"mirrored but for the first",
       [](V a) { return generate(size(a), [=](I i) { return a[cond(0 < i, size(a) - i, 0)]; }); },
       {often}},
      {"between two conditions",
       [](V a) {
         return generate(size(a) * 2, [=](I i) { return a[cond(i >= 3 && i - 3 < size(a), i - 3, i / 2)]; });
       },
       {often}},
      {"on the other side of one condition or another",
       [](V a) {
         return generate(size(a) + 2, [=](I i) { return a[cond(i < 1 || i > size(a), 0, i - 1)]; });
       },
       {checked}},  // where there is no element, there are two positions
      {"on the wrong side of a condition",
       [](V a) { return generate(size(a), [=](I i) { return a[cond(i + 2 < size(a), 0, i + 2)]; }); },
       {checked}},
      {"a condition of what might wrap around",
       [](V a) {
         const std::int64_t large = std::int64_t{1} << 62;
         return generate(size(a), [=](I i) { return a[cond(i * large < size(a) - 5, i + 5, i)]; });
       },
       {checked}},
      {"every second one", [](V a) { return generate(size(a) / 2, [=](I i) { return a[2 * i]; }); }, {once}},
      {"each twice", [](V a) { return generate(size(a) * 2, [=](I i) { return a[i / 2]; }); }, {often}},
      {"the last one, of any",
       [](V a) { return generate(size(a), [=](I i) { return a[size(a) - 1 + i - i]; }); },
       {often}},
      {"the last one, where there may be none",
       [](V a) { return generate(I(3), [=](I) { return a[size(a) - 1]; }); },
       {checked}},
      {"at what another element says",
       [](V a) { return generate(size(a), [=](I i) { return a[cast<std::int64_t>(a[i])]; }); },
       {checked, once}},
      {"of two arrays' lesser length",
       [](V a) {
         const auto b = take(7, a);
         return generate(min(size(a), size(b)), [=](I i) { return a[i] + b[i]; });
       },
       {once, once, once}},
      {"a user's reversal",
       [](V a) { return backpermute(size(a), [=](I i) { return index_of(size(a) - 1 - i); }, a); },
       {once}},
      {"a user's rotation, whose remainder nobody knows",
       [](V a) { return backpermute(size(a), [=](I i) { return index_of(rem(i + 1, size(a))); }, a); },
       {checked}},
      {"numbers so large that they might wrap around",
       [](V a) {
         const std::int64_t large = std::int64_t{1} << 62;
         return generate(size(a), [=](I i) { return a[max(min(i + large + large, size(a) - 1), 0)]; });
       },
       {checked}},
  };
  for (const Row& row : table) {
    INFO(row.name);
    const auto alone = [&] { return row.make(v()); };
    CHECK(reads_of(alone) == row.expected);
    CHECK(reads_of([&] { return consume(elements(map_seq(row.make, vectors()))); }) == row.expected);
  }
}

TEST_CASE("reads of matrices") {
  const auto product = [] {
    const M a = use(Matrix<double>(Index{4, 5})), b = use(Matrix<double>(Index{5, 6}));
    const I inner = min(extent(a, 1), extent(b, 0));
    return sum(generate(make<Index<3>>(extent(a, 0), extent(b, 1), inner), [=](auto ix) {
      return a[make<Index<2>>(ix[0], ix[2])] * b[make<Index<2>>(ix[2], ix[1])];
    }));
  };
  CHECK(reads_of(product) == std::vector{often, often});
  const auto turned = [] {
    const M a = use(Matrix<double>(Index{4, 5}));
    return generate(make<Index<2>>(extent(a, 1), extent(a, 0)),
                    [=](auto ix) { return a[make<Index<2>>(ix[1], extent(a, 1) - 1 - ix[0])]; });
  };
  CHECK(reads_of(turned) == std::vector{once});
}

namespace {

/// The value of a number over these terms' values.
std::int64_t value_of(const ir::Node& node, const std::unordered_map<const ir::Node*, std::int64_t>& of) {
  if (const auto known = of.find(&node); known != of.end()) return known->second;
  if (node.op() == ir::Op::constant) return static_cast<std::int64_t>(node.payload().bits);
  if (node.op() == ir::Op::cond) {
    const ir::Cond cond(node);
    return value_of(value_of(*cond.condition(), of) != 0 ? *cond.then() : *cond.otherwise(), of);
  }
  const auto operands = ir::PrimitiveTerm(node).operands();
  const std::int64_t x = value_of(*operands[0], of);
  if (node.payload().primitive == ir::Primitive::negate) return -x;
  if (node.payload().primitive == ir::Primitive::logical_not) return 1 - x;
  const std::int64_t y = value_of(*operands[1], of);
  const auto is = [&](ir::Primitive primitive) { return node.payload().primitive == primitive; };
  if (is(ir::Primitive::add)) return x + y;
  if (is(ir::Primitive::subtract)) return x - y;
  if (is(ir::Primitive::multiply)) return x * y;
  if (is(ir::Primitive::divide)) return x / y;
  if (is(ir::Primitive::remainder)) return x % y;
  if (is(ir::Primitive::minimum)) return std::min(x, y);
  if (is(ir::Primitive::less)) return x < y ? 1 : 0;
  if (is(ir::Primitive::less_equal)) return x <= y ? 1 : 0;
  if (is(ir::Primitive::bit_and)) return x & y;
  if (is(ir::Primitive::bit_or)) return x | y;
  REQUIRE(is(ir::Primitive::maximum));
  return std::max(x, y);
}

ir::Ref of_two(ir::Primitive primitive, const ir::Ref& x, const ir::Ref& y) {
  return ir::primitive(primitive, {x, y});
}

class RandomNumber {
 public:
  RandomNumber(std::mt19937& random, std::vector<ir::Ref> leaves)
      : random_(random), leaves_(std::move(leaves)) {}

  ir::Ref operator()(int levels) {
    using enum ir::Primitive;
    if (levels == 0 || below(4) == 0)
      return below(3) == 0 ? ir::int64(below(9) - 3)
                           : leaves_[static_cast<std::size_t>(below(std::ssize(leaves_)))];
    const auto part = [&] { return (*this)(levels - 1); };
    switch (below(11)) {
      case 9:
        return ir::cond(condition(levels - 1, 2), part(), part());
      case 10: {
        const ir::Ref x = part(), y = part(), compared = of_two(below(2) == 0 ? less : less_equal, x, y);
        return below(2) == 0 ? ir::cond(compared, x, y) : ir::cond(compared, y, x);
      }
      case 0:
      case 1:
        return of_two(add, part(), part());
      case 2:
        return of_two(subtract, part(), part());
      case 3:
      case 4:
        return of_two(minimum, part(), part());
      case 5:
      case 6:
        return of_two(maximum, part(), part());
      case 7:
        return of_two(below(2) == 0 ? divide : remainder, part(), ir::int64(below(4) + 1));
      default:
        return of_two(multiply, part(), ir::int64(below(5) - 1));
    }
  }
  ir::Ref condition(int levels, int depth) {
    using enum ir::Primitive;
    const auto another = [&] { return condition(levels, depth - 1); };
    switch (depth == 0 ? 0 : below(10)) {
      case 1:
        return of_two(bit_and, another(), another());
      case 2:
        return of_two(bit_or, another(), another());
      case 3:
        return ir::primitive(logical_not, {another()});
      case 4:
        return ir::cond(another(), another(), ir::constant(ScalarType::boolean, 0));
      case 5:
        return ir::cond(another(), ir::constant(ScalarType::boolean, 1), another());
      default:
        return of_two(below(2) == 0 ? less : less_equal, (*this)(levels), (*this)(levels));
    }
  }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<unsigned>(n));
  }

 private:
  std::mt19937& random_;
  std::vector<ir::Ref> leaves_;
};

}  // namespace

TEST_CASE("what is said to be in range is, for all positions and extents that are small") {
  std::mt19937 random(11);
  const ir::Type vector = ir::Type::array(1, {ScalarType::float64});
  int in_range = 0, injective = 0;
  for (int round = 0; round < 60'000; ++round) {
    const ir::Ref a = ir::parameter(vector), b = ir::parameter(vector), read = ir::parameter(vector);
    const ir::Ref n = ir::extent(a, 0), m = ir::extent(b, 0);
    ir::Simplifier simplify;
    RandomNumber of_extents(random, {n, m, n, m, of_two(ir::Primitive::minimum, n, m)});
    const ir::Ref domain = simplify(of_extents(2)), size = simplify(of_extents(1));
    const ir::Ref position = ir::parameter(ir::Type::element(ScalarType::int64));
    RandomNumber of_all(random, {position, position, position, n, m, domain, size});
    const ir::Ref at = simplify(of_all(4));
    if (!ir::mentions(*at, {&position, 1})) continue;
    const ir::Ref array = ir::generate(domain, ir::lambda({position}, {ir::index(read, at)}));
    const std::vector<ir::Ref> extents{domain}, of_read{size};
    const ir::Ref marked = lift::with_ranges(
        array, extents, [&](const ir::Ref&) -> const std::vector<ir::Ref>& { return of_read; },
        [](const ir::Node&) { return false; });
    if (marked == array) continue;
    ++in_range;
    const bool is_once = ir::Read(ir::Generate(marked).function()->result()).injective();
    injective += is_once ? 1 : 0;
    for (std::int64_t length = 0; length < 6; ++length)
      for (std::int64_t other = 0; other < 6; ++other) {
        std::unordered_map<const ir::Node*, std::int64_t> values{{n.get(), length}, {m.get(), other}};
        const std::int64_t positions = value_of(*domain, values), elements = value_of(*size, values);
        // Others are errors before anything is read.
        if (positions < 0 || elements < 0) continue;
        std::vector<std::int64_t> seen;
        for (std::int64_t i = 0; i < positions; ++i) {
          values[position.get()] = i;
          seen.push_back(value_of(*at, values));
          INFO(ir::to_string(std::vector{array}));
          INFO("extents " << length << " and " << other << ", position " << i << " of " << positions);
          REQUIRE(seen.back() >= 0);
          REQUIRE(seen.back() < elements);
        }
        std::sort(seen.begin(), seen.end());
        if (is_once) REQUIRE(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
      }
  }
  CHECK(in_range > 1000);
  CHECK(injective > 100);
}
