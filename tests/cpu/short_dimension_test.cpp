#include "kernel/access.h"
#include "support/catch.h"
#include "tests/cpu/support/map_kernels.h"
#include "tests/cpu/support/oracle.h"

using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;
using ir::Ref;
using kernel::Lanes;

// Maps with a dimension so short that all positions along it are computed together.
namespace {

/// A map whose last two dimensions are [rows, columns] behind outer ones, over items or not.
struct Inner {
  /// An extent that is negative is known at run time only.
  Inner(const std::vector<std::int64_t>& outer, std::int64_t rows, std::int64_t columns, bool over_items)
      : k(kernel::Map{}, over_items, over_items ? 3 : 1), items(over_items ? 3 : 1) {
    form = over_items ? kernel::Form::regular : kernel::Form::avoided;
    for (const auto e : outer) add(-e);
    add(rows);
    add(columns);
    for (const auto e : sizes) count *= e;
    std::vector<ScalarType> types{ScalarType::float64, ScalarType::boolean, ScalarType::int16};
    k.output(form, types, extents, count * items);
    k.split_output({2, 1});
    row = k.kernel().index[outer.size()];
    column = k.kernel().index[outer.size() + 1];
  }
  void add(std::int64_t e) {
    extents.push_back(e < 0 ? k.uniform_extent(-e) : constant_extent(e));
    sizes.push_back(e < 0 ? -e : e);
  }
  /// Of these two extents, the same for all items or not.
  Ref matrix(std::int64_t rows, std::int64_t columns, bool of_item) {
    const auto all = rows * columns * (of_item ? items : 1);
    return k.array(of_item ? form : kernel::Form::avoided, {ScalarType::float64},
                   {constant_extent(rows), constant_extent(columns)}, k.buffer(doubles(all)));
  }
  /// Values of all three types.
  void body(const Ref& v) {
    Ref number = ir::int64(1);
    for (const auto& i : k.kernel().index) number = plus(times(number, ir::int64(10)), i);
    k.kernel().body = {v, less(v, ir::literal(0.0)), ir::cast(ScalarType::int16, number)};
    k.find_checks();
  }

  KernelBuilder k;
  std::int64_t items, count = 1;
  kernel::Form form{};
  std::vector<kernel::KernelExtent> extents;
  std::vector<std::int64_t> sizes;
  Ref row, column;
};

Ref read(const Ref& array, const Ref& i, const Ref& j) {
  return ir::index(array, ir::tuple({i, j}), {}, true);
}
Ref is_odd(const Ref& i) {
  const Ref rest = ir::primitive(Primitive::remainder, {i, ir::int64(2)});
  return ir::primitive(Primitive::equal, {rest, ir::int64(1)});
}

/// A sum or a difference of two rows, as the two results of a butterfly are; of the columns that `at` says.
Ref butterfly(const Ref& array, const Ref& at, const Ref& which) {
  const Ref x = read(array, ir::int64(0), at), y = read(array, ir::int64(1), at);
  return ir::cond(is_odd(which), minus(x, y), plus(x, y));
}

/// Does the code have a loop that computes positions together?
bool has_code(Inner& m) {
  std::string text;
  cpu::CompileOptions options;
  options.ir = &text;
  cpu::compile(m.k.kernel(), options);
  return text.find("\ntogether") != std::string::npos;
}

}  // namespace

TEST_CASE("a few rows that read something in common are computed together") {
  for (const bool over_items : {false, true})
    for (const auto& outer : std::vector<std::vector<std::int64_t>>{{}, {5}, {2, 3}})
      for (const std::int64_t rows : {2, 3, 4, 8})
        for (const std::int64_t columns : {16, 64, 80}) {
          Inner m(outer, rows, columns, over_items);
          const Ref a = m.matrix(2, columns, over_items), turns = m.matrix(rows, 5, false);
          m.body(times(butterfly(a, m.column, m.row), read(turns, m.row, ir::int64(3))));
          const auto lanes = kernel::lanes_of(m.k.kernel());
          REQUIRE(lanes.together);
          CHECK(lanes.together->dimension == outer.size());
          CHECK(lanes.dimension == outer.size() + 1);
          CHECK(lanes.together->block == rows * columns);
          CHECK(has_code(m));
          INFO(rows << " rows of " << columns << (over_items ? ", over items" : ""));
          CHECK(disagreement(m.k, {0, 3, 50, rows * columns, 2 * rows * columns + 17}) == "");
        }
}

TEST_CASE("short rows are computed together where what is read lies along the dimension before them") {
  for (const bool over_items : {false, true})
    for (const auto& outer : std::vector<std::vector<std::int64_t>>{{}, {5}, {2, 3}})
      for (const std::int64_t rows : {16, 64, 75, -1, -19, -70})
        for (const std::int64_t columns : {2, 3, 4, 7, 8, 16}) {
          Inner m(outer, rows, columns, over_items);
          const std::int64_t length = rows < 0 ? -rows : rows;
          const Ref a = m.matrix(2, length, over_items), turns = m.matrix(columns, length, false);
          m.body(times(butterfly(a, m.row, m.column), read(turns, m.column, m.row)));
          const auto lanes = kernel::lanes_of(m.k.kernel());
          REQUIRE(lanes.together);
          CHECK(lanes.together->dimension == outer.size() + 1);
          CHECK(lanes.dimension == outer.size());
          CHECK(has_code(m));
          INFO(rows << " rows of " << columns << (over_items ? ", over items" : ""));
          CHECK(disagreement(m.k, {0, 3, 50, length * columns, 2 * length * columns + 17}) == "");
        }
}

TEST_CASE("dimensions are not computed together where that is not known to be good") {
  const auto together = [](Inner& m) { return kernel::lanes_of(m.k.kernel()).together.has_value(); };
  SECTION("rows that have nothing in common") {
    Inner m({5}, 4, 64, false);
    m.body(times(read(m.matrix(4, 64, false), m.row, m.column), ir::cast(ScalarType::float64, m.column)));
    CHECK(!together(m));
  }
  SECTION("extents that are known at run time only") {
    Inner m({5}, -4, 64, false);
    m.body(butterfly(m.matrix(2, 64, false), m.column, m.row));
    CHECK(!together(m));
    Inner n({5}, 64, -4, false);
    n.body(butterfly(n.matrix(2, 64, false), n.row, n.column));
    CHECK(!together(n));
  }
  SECTION("rows that are long, or many") {
    Inner m({5}, 4, 2048, false);
    m.body(butterfly(m.matrix(2, 2048, false), m.column, m.row));
    CHECK(!together(m));
    Inner n({5}, 9, 64, false);
    n.body(butterfly(n.matrix(2, 64, false), n.column, n.row));
    CHECK(!together(n));
  }
  SECTION("short rows that are read along themselves") {
    Inner m({5}, 64, 4, false);
    m.body(read(m.matrix(64, 4, false), m.row, m.column));
    CHECK(!together(m));
  }
  SECTION("bodies that cost much") {
    for (const bool columns : {false, true}) {
      Inner m({5}, columns ? 64 : 8, columns ? 16 : 64, false);
      Ref v = butterfly(m.matrix(2, 64, false), columns ? m.row : m.column, columns ? m.column : m.row);
      for (int i = 0; i < 250; ++i) v = plus(times(v, v), ir::literal(0.5));
      m.body(v);
      CHECK(!together(m));
      CHECK(!has_code(m));
    }
  }
  SECTION("reads that may fail") {
    Inner m({5}, 64, 4, false);
    m.body(ir::index(m.matrix(4, 64, false), ir::tuple({m.column, m.row})));
    CHECK(!together(m));
    CHECK(!has_code(m));
    CHECK(disagreement(m.k, {0, 3, 50}) == "");
  }
}
