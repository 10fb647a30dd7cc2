// The canonical order of reduction: against results written out by hand, and against a second implementation
// that follows the text of the header, not its code.

#include <algorithm>
#include <numeric>
#include <random>

#include "interp/interpret.h"
#include "ir/fold_order.h"
#include "ir/operator_class.h"
#include "support/catch.h"
#include "support/functions.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Primitive;
using ir::Ref;
using ir::fold_order::OperatorClass;

namespace {

/// Reduces lists by splitting them, with `join` as a function of two values.
template <class Value, class Join>
class ByTheText {
 public:
  ByTheText(bool commutative, Join join) : commutative_(commutative), join_(join) {}

  Value row(const std::vector<Value>& x) const {
    std::vector<Value> blocks;
    for (std::size_t begin = 0; begin < x.size(); begin += 4096) {
      const std::size_t end = std::min(x.size(), begin + 4096);
      blocks.push_back(block(
          {x.begin() + static_cast<std::ptrdiff_t>(begin), x.begin() + static_cast<std::ptrdiff_t>(end)}));
    }
    return tree(blocks);
  }

 private:
  /// The largest complete subtree first, the rest on its right.
  Value tree(const std::vector<Value>& b) const {
    if (b.size() == 1) return b[0];
    std::size_t complete = 1;
    while (complete * 2 < b.size()) complete *= 2;
    const auto middle = b.begin() + static_cast<std::ptrdiff_t>(complete);
    return join_(tree({b.begin(), middle}), tree({middle, b.end()}));
  }

  Value in_order(const std::vector<Value>& x) const {
    return std::accumulate(x.begin() + 1, x.end(), x[0], join_);
  }

  /// Lanes that are there; the others, up to a power of two, are absent.
  Value halves(std::vector<Value> lanes, std::size_t width) const {
    if (width == 1) return lanes[0];
    const std::size_t half = width / 2;
    std::vector<Value> next;
    for (std::size_t j = 0; j < std::min(half, lanes.size()); ++j)
      next.push_back(j + half < lanes.size() ? join_(lanes[j], lanes[j + half]) : lanes[j]);
    return halves(next, half);
  }

  Value block(const std::vector<Value>& x) const {
    if (!commutative_) return in_order(x);
    const std::size_t width = x.size() < 256 ? 16 : 32;
    std::vector<Value> lanes;
    for (std::size_t j = 0; j < std::min(width, x.size()); ++j) {
      std::vector<Value> mine;
      for (std::size_t i = j; i < x.size(); i += width) mine.push_back(x[i]);
      lanes.push_back(in_order(mine));
    }
    return halves(lanes, width);
  }

  bool commutative_;
  Join join_;
};
template <class Value, class Join>
ByTheText(bool, Join) -> ByTheText<Value, Join>;

template <class Value, class Join>
Value by_the_text(const std::vector<Value>& x, bool commutative, Join join) {
  return ByTheText<Value, Join>(commutative, join).row(x);
}

const std::vector<std::int64_t> lengths{
    1,    2,    3,    7,    8,    9,    15,   16,   17,   24,    31,    32,    33,    63,   64,
    65,   127,  128,  129,  255,  256,  257,  272,  273,  287,   288,   511,   512,   513,  1000,
    2047, 4095, 4096, 4097, 4112, 4113, 8191, 8192, 8193, 12288, 12289, 16385, 20481, 28673};

HostArray run(const Ref& array) { return interp::run({&array, 1})[0]; }

std::string joined(const std::string& a, const std::string& b) { return "(" + a + " " + b + ")"; }

std::string symbolic(std::int64_t length, OperatorClass order) {
  return ir::fold_order::reduce_row(length, order, [](std::int64_t i) { return std::to_string(i); }, joined);
}

}  // namespace

TEST_CASE("the order written out") {
  CHECK(symbolic(1, OperatorClass::commutative) == "0");
  CHECK(symbolic(3, OperatorClass::commutative) == "((0 2) 1)");
  CHECK(symbolic(4, OperatorClass::commutative) == "((0 2) (1 3))");
  CHECK(symbolic(4, OperatorClass::ordered) == "(((0 1) 2) 3)");
  CHECK(symbolic(7, OperatorClass::commutative) == "(((0 4) (2 6)) ((1 5) 3))");
  CHECK(symbolic(11, OperatorClass::commutative) == "((((0 8) 4) ((2 10) 6)) (((1 9) 5) (3 7)))");
  CHECK(symbolic(17, OperatorClass::commutative) ==
        "(((((0 16) 8) (4 12)) ((2 10) (6 14))) (((1 9) (5 13)) ((3 11) (7 15))))");
}

TEST_CASE("rows in vectors of 4 or 8 lanes, filled up with the identity, have the bits of the order") {
  std::mt19937_64 random(11);
  const auto add = [](float a, float b) { return a + b; };
  for (std::size_t width : {4, 8, 16})
    for (std::size_t length = 1; length <= width; ++length) {
      std::vector<float> x, padded(width, -0.0F);
      for (std::size_t i = 0; i < length; ++i)
        x.push_back(static_cast<float>(static_cast<std::int32_t>(random())) * 1e-3F);
      std::copy(x.begin(), x.end(), padded.begin());
      for (std::size_t half = width / 2; half >= 1; half /= 2)
        for (std::size_t j = 0; j < half; ++j) padded[j] = add(padded[j], padded[j + half]);
      INFO(width << " lanes, " << length << " elements");
      CHECK(padded[0] == by_the_text(x, true, add));
    }
}

TEST_CASE("blocks are joined as a binary counter counts") {
  const auto of_blocks = [](int n) {
    ir::fold_order::CounterTree<std::string> tree;
    for (int b = 0; b < n; ++b) tree.push(std::to_string(b), joined);
    return tree.total(joined);
  };
  CHECK(of_blocks(1) == "0");
  CHECK(of_blocks(2) == "(0 1)");
  CHECK(of_blocks(3) == "((0 1) 2)");
  CHECK(of_blocks(5) == "(((0 1) (2 3)) 4)");
  CHECK(of_blocks(7) == "(((0 1) (2 3)) ((4 5) 6))");
}

TEST_CASE("both implementations join the same elements in the same order") {
  for (std::int64_t length : lengths) {
    std::vector<std::string> x;
    for (std::int64_t i = 0; i < length; ++i) x.push_back(std::to_string(i));
    for (bool commutative : {false, true}) {
      const auto order = commutative ? OperatorClass::commutative : OperatorClass::ordered;
      INFO(length << (commutative ? " commutative" : " ordered"));
      // Not CHECK(a == b): the strings are long.
      const bool equal = symbolic(length, order) == by_the_text(x, commutative, joined);
      CHECK(equal);
    }
  }
}

TEST_CASE("interpreter: float sums, rows of many lengths, seeds that are not neutral") {
  std::mt19937_64 random(5);
  for (std::int64_t length : lengths) {
    std::vector<float> x;
    for (std::int64_t i = 0; i < length; ++i)
      x.push_back(static_cast<float>(static_cast<std::int32_t>(random())) * 1e-3F);
    const auto add = [](float a, float b) { return a + b; };
    const float total = by_the_text(x, true, add);
    const Ref row = ir::use(vector_of(x));
    const Ref plus = operation(Primitive::add, ScalarType::float32);
    INFO(length);
    CHECK(same(run(ir::fold(plus, row, Ref())), scalar_of(total)));
    CHECK(same(run(ir::fold(plus, row, ir::literal(0.1F))), scalar_of(0.1F + total)));
  }
}

TEST_CASE("interpreter: operators that do not commute, or not even associate") {
  const auto digits = [](std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * 3 + static_cast<std::uint64_t>(b));
  };
  const Ref base3 = binary(int64s(1), [](const Ref& a, const Ref& b) {
    return ir::primitive(Primitive::add, {ir::primitive(Primitive::multiply, {a, ir::int64(3)}), b});
  });
  REQUIRE(ir::fold_order_class(*base3) == OperatorClass::ordered);
  for (std::int64_t length : lengths) {
    std::vector<std::int64_t> x;
    for (std::int64_t i = 0; i < length; ++i) x.push_back(i * i % 1013 - 500);
    INFO(length);
    const std::int64_t total = by_the_text(x, false, digits);
    CHECK(same(run(ir::fold(base3, ir::use(vector_of(x)), ir::int64(-4))), scalar_of(digits(-4, total))));
  }
}

TEST_CASE("interpreter: matrix products keep the order of their factors") {
  // 2 x 2 matrices modulo 2^32: associative, not commutative, four components.
  const ir::Scalars matrix(4, ScalarType::int32);
  const Ref product = binary(matrix, [](const Ref& a, const Ref& b) {
    std::vector<Ref> out;
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) {
        const auto term = [&](int k) {
          return ir::primitive(Primitive::multiply,
                               {ir::component(a, 2 * i + k), ir::component(b, 2 * k + j)});
        };
        out.push_back(ir::primitive(Primitive::add, {term(0), term(1)}));
      }
    return ir::tuple(out);
  });
  for (std::int64_t length : {1, 5, 17, 300, 4097, 12289}) {
    std::array<std::uint32_t, 4> expected{1, 0, 0, 1};
    std::vector<std::vector<std::int32_t>> columns(4);
    for (std::int64_t i = 0; i < length; ++i) {
      const std::array<std::uint32_t, 4> m{static_cast<std::uint32_t>(i), 1,
                                           static_cast<std::uint32_t>(3 * i + 1), 2};
      for (std::size_t c = 0; c < 4; ++c) columns[c].push_back(static_cast<std::int32_t>(m[c]));
      expected = {expected[0] * m[0] + expected[1] * m[2], expected[0] * m[1] + expected[1] * m[3],
                  expected[2] * m[0] + expected[3] * m[2], expected[2] * m[1] + expected[3] * m[3]};
    }
    std::vector<HostArray> parts;
    std::vector<HostArray> wanted;
    for (std::size_t c = 0; c < 4; ++c) {
      parts.push_back(vector_of(columns[c]));
      wanted.push_back(scalar_of(static_cast<std::int32_t>(expected[c])));
    }
    INFO(length);
    CHECK(same(run(ir::fold(product, ir::use(zip(parts)), Ref())), zip(wanted)));
  }
}

TEST_CASE("interpreter: tuples of 2 to 6 components, each with its own operation") {
  using enum Primitive;
  const std::vector<Primitive> operations{add, multiply, minimum, maximum, bit_or, bit_xor};
  for (std::size_t count = 2; count <= operations.size(); ++count) {
    const ir::Scalars scalars(count, ScalarType::int64);
    const Ref join = binary(scalars, [&](const Ref& a, const Ref& b) {
      std::vector<Ref> parts;
      for (std::size_t c = 0; c < count; ++c) {
        const int component = static_cast<int>(c);
        parts.push_back(
            ir::primitive(operations[c], {ir::component(a, component), ir::component(b, component)}));
      }
      return ir::tuple(parts);
    });
    CHECK(ir::fold_order_class(*join) == OperatorClass::commutative);
    std::vector<HostArray> in;
    std::vector<HostArray> wanted;
    for (std::size_t c = 0; c < count; ++c) {
      const auto size = static_cast<std::int64_t>(5);
      std::vector<std::int64_t> x;
      for (std::int64_t i = 0; i < size; ++i)
        x.push_back((i + 2) * (static_cast<std::int64_t>(c) + 3) % 11 + 1);
      in.push_back(vector_of(x));
      const auto total = [&](auto f) { return std::accumulate(x.begin() + 1, x.end(), x[0], f); };
      std::int64_t want = 0;
      if (c == 0)
        want = total(std::plus<>());
      else if (c == 1)
        want = total(std::multiplies<>());
      else if (c == 2)
        want = *std::min_element(x.begin(), x.end());
      else if (c == 3)
        want = *std::max_element(x.begin(), x.end());
      else if (c == 4)
        want = total(std::bit_or<>());
      else
        want = total(std::bit_xor<>());
      wanted.push_back(scalar_of(want));
    }
    CHECK(same(run(ir::fold(join, ir::use(zip(in)), Ref())), zip(wanted)));
  }
}

TEST_CASE("interpreter: the rows of a matrix are reduced each for itself") {
  std::vector<float> x(3 * 257);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0F / static_cast<float>(i + 1);
  std::vector<float> wanted;
  for (std::size_t row = 0; row < 3; ++row) {
    const auto begin = x.begin() + static_cast<std::ptrdiff_t>(row * 257);
    wanted.push_back(
        by_the_text(std::vector<float>(begin, begin + 257), true, [](float a, float b) { return a + b; }));
  }
  const Ref plus = operation(Primitive::add, ScalarType::float32);
  CHECK(same(run(ir::fold(plus, ir::use(array_of<float>({3, 257}, x)), Ref())), vector_of(wanted)));
}
