// The form of every operation's result, for inputs of every form: the table "By operation" of
// docs/language.md, row by row. A function over the item is applied to a captured array (avoided), to items
// of one shape (regular), and to items whose shapes differ (segmented).

#include "lift/support/forms.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;

namespace {

/// A function from an item to an array, as a program over each kind of item.
struct OverVector {
  TestProgram avoided, regular, segmented;
  template <class F>
  OverVector(F f)  // NOLINT(*-explicit-*)
      : avoided([f] {
          return consume(elements(map_seq([f](Acc<Vector<double>>) { return f(v()); }, vectors())));
        }),
        regular([f] { return consume(elements(map_seq(f, vectors(3)))); }),
        segmented([f] { return consume(elements(map_seq(f, vectors()))); }) {}
};
struct OverMatrix {
  TestProgram avoided, regular, outer, inner, both;
  template <class F>
  OverMatrix(F f)  // NOLINT(*-explicit-*)
      : avoided([f] {
          return consume(elements(map_seq([f](Acc<Vector<double>>) { return f(m()); }, vectors())));
        }),
        regular([f] { return consume(elements(map_seq(f, matrices(2, 3)))); }),
        outer([f] { return consume(elements(map_seq(f, matrices(-1, 3)))); }),
        inner([f] { return consume(elements(map_seq(f, matrices(2, -1)))); }),
        both([f] { return consume(elements(map_seq(f, matrices(-1, -1)))); }) {}
};

std::string form_of(const TestProgram& program) {
  const ir::Staged staged = lifted(program);
  REQUIRE(staged.stages.size() == 1);
  REQUIRE(staged.stages[0].results.size() == 1);
  return form_text(staged, staged.stages[0].results[0]);
}

struct VectorRow {
  std::string operation;
  OverVector program;
  std::string avoided, regular, segmented;
};
struct MatrixRow {
  std::string operation;
  OverMatrix program;
  std::string avoided, regular, outer, inner, both;
};

using V = Acc<Vector<double>>;
using M = Acc<Matrix<double>>;
const auto twice = [](Exp<double> e) { return e + e; };

// Reasons, by what the extents are.
const std::string fixed = ": does not depend on the item", one = ": one element per item",
                  uniform_shape = ": its shape is the same for all items",
                  by0 = ": extent 0 depends on the item", by1 = ": extent 1 depends on the item";

}  // namespace

TEST_CASE("forms of the operations on vectors") {
  const VectorRow table[] = {
      // Rank 0: regular, never segmented. What asks for a shape only, and that shape is uniform, does not
      // even depend on the item.
      {"unit of an element",
       {[](V a) { return unit(a[0] + 1.0); }},
       "avoided []" + fixed,
       "regular []" + one,
       "regular []" + one},
      {"unit of the size",
       {[](V a) { return unit(size(a)); }},
       "avoided []" + fixed,
       "avoided []" + fixed,
       "regular []" + one},
      {"fold",
       {[](V a) { return fold(plus, 0.0, a); }},
       "avoided []" + fixed,
       "regular []" + one,
       "regular []" + one},
      {"fold1",
       {[](V a) { return fold1(minimum_of, a); }},
       "avoided []" + fixed,
       "regular []" + one,
       "regular []" + one},
      {"fold_all",
       {[](V a) { return fold_all(plus, 0.0, a); }},
       "avoided []" + fixed,
       "regular []" + one,
       "regular []" + one},
      {"sum", {[](V a) { return sum(a); }}, "avoided []" + fixed, "regular []" + one, "regular []" + one},
      {"product",
       {[](V a) { return product(a); }},
       "avoided []" + fixed,
       "regular []" + one,
       "regular []" + one},
      {"minimum",
       {[](V a) { return minimum(a); }},
       "avoided []" + fixed,
       "regular []" + one,
       "regular []" + one},
      {"maximum",
       {[](V a) { return maximum(a); }},
       "avoided []" + fixed,
       "regular []" + one,
       "regular []" + one},
      {"slice at every dimension",
       {[](V a) { return slice(a, 1); }},
       "avoided []" + fixed,
       "regular []" + one,
       "regular []" + one},

      // generate, fill, backpermute, reshape: the shape given decides.
      {"generate of a constant length",
       {[](V a) { return generate(5, [=](Exp<std::int64_t> i) { return a[i]; }); }},
       "avoided [5]" + fixed,
       "regular [5]" + uniform_shape,
       "regular [5]" + uniform_shape},
      {"generate of the array's length",
       {[](V a) { return generate(size(a), [=](Exp<std::int64_t> i) { return a[i]; }); }},
       "avoided [shape(v)]" + fixed,
       "regular [<3>]" + uniform_shape,
       "segmented [shape(item)]" + by0},
      {"generate of the array's length, elements uniform",
       {[](V a) { return generate(size(a), [](Exp<std::int64_t> i) { return i; }); }},
       "avoided [shape(v)]" + fixed,
       "avoided [<3>]" + fixed,
       "segmented [shape(item)]" + by0},
      {"generate of a length that is a value",
       {[](V a) { return generate(cast<std::int64_t>(a[0]), [](Exp<std::int64_t> i) { return i; }); }},
       "avoided [int64(v?[0])]" + fixed,
       "segmented [int64(item?[0])]" + by0,
       "segmented [int64(item?[0])]" + by0},
      {"generate of a matrix, one extent the array's",
       {[](V a) { return generate(index_of(2, size(a)), [=](Exp<Index<2>> ix) { return a[ix[1]]; }); }},
       "avoided [2, shape(v)]" + fixed,
       "regular [2, <3>]" + uniform_shape,
       "segmented [2, shape(item)]" + by1},
      {"fill",
       {[](V a) { return fill(size(a) + 1, a[0]); }},
       "avoided [(shape(v) + 1)]" + fixed,
       "regular [(<3> + 1)]" + uniform_shape,
       "segmented [(shape(item) + 1)]" + by0},
      {"backpermute",
       {[](V a) {
         return backpermute(2 * size(a), [=](Exp<std::int64_t> i) { return index_of(i / 2); }, a);
       }},
       "avoided [(2 * shape(v))]" + fixed,
       "regular [(2 * <3>)]" + uniform_shape,
       "segmented [(2 * shape(item))]" + by0},
      {"backpermute of a constant length",
       {[](V a) { return backpermute(4, [](Exp<std::int64_t> i) { return index_of(i % 2); }, a); }},
       "avoided [4]" + fixed,
       "regular [4]" + uniform_shape,
       "regular [4]" + uniform_shape},
      {"reshape to a constant shape",
       {[](V a) { return reshape(Index{1, 3}, a); }},
       "avoided [1, 3]" + fixed,
       "regular [1, 3]" + uniform_shape,
       "regular [1, 3]" + uniform_shape},
      {"reshape to the array's size",
       {[](V a) { return reshape(index_of(size(a), 1), a); }},
       "avoided [shape(v), 1]" + fixed,
       "regular [<3>, 1]" + uniform_shape,
       "segmented [shape(item), 1]" + by0},

      // map, unzip, gather: the (index) array's extents.
      {"map",
       {[](V a) { return map(twice, a); }},
       "avoided [shape(v)]" + fixed,
       "regular [<3>]" + uniform_shape,
       "segmented [shape(item)]" + by0},
      {"unzip",
       {[](V a) { return std::get<1>(unzip(zip(a, map(twice, a)))); }},
       "avoided [shape(v)]" + fixed,
       "regular [<3>]" + uniform_shape,
       "segmented [shape(item)]" + by0},
      {"gather by the item",
       {[](V a) { return gather(map([](Exp<double> e) { return cast<std::int32_t>(e); }, a), v()); }},
       "avoided [shape(v)]" + fixed,
       "regular [<3>]" + uniform_shape,
       "segmented [shape(item)]" + by0},
      {"gather from the item",
       {[](V a) { return gather(k(), a); }},
       "avoided [shape(k)]" + fixed,
       "regular [shape(k)]" + uniform_shape,
       "regular [shape(k)]" + uniform_shape},

      // zip_with, zip: minima; an extent is its own minimum.
      {"zip_with of equal extents",
       {[](V a) { return zip_with(times, map(twice, a), a); }},
       "avoided [shape(v)]" + fixed,
       "regular [<3>]" + uniform_shape,
       "segmented [shape(item)]" + by0},
      {"zip_with of three",
       {[](V a) { return zip_with([](auto x, auto y, auto z) { return x + y + z; }, a, a, a); }},
       "avoided [shape(v)]" + fixed,
       "regular [<3>]" + uniform_shape,
       "segmented [shape(item)]" + by0},
      {"zip_with a captured array",
       {[](V a) { return zip_with(times, a, map(twice, v())); }},
       "avoided [shape(v)]" + fixed,
       "regular [minimum(<3>, shape(v))]" + uniform_shape,
       "segmented [minimum(shape(item), shape(v))]" + by0},
      {"zip_with a captured array of another length",
       {[](V a) {
         return zip_with([](Exp<double> x, Exp<std::int32_t> i) { return x + cast<double>(i); }, a, k());
       }},
       "avoided [minimum(shape(v), shape(k))]" + fixed,
       "regular [minimum(<3>, shape(k))]" + uniform_shape,
       "segmented [minimum(shape(item), shape(k))]" + by0},
      {"zip",
       {[](V a) { return zip(a, a); }},
       "avoided [shape(v)]" + fixed,
       "regular [<3>]" + uniform_shape,
       "segmented [shape(item)]" + by0},

      // replicate: as given, and the array's.
      {"replicate to rows",
       {[](V a) { return replicate(a, 2, all); }},
       "avoided [2, shape(v)]" + fixed,
       "regular [2, <3>]" + uniform_shape,
       "segmented [2, shape(item)]" + by1},
      {"replicate a number of times that is a value",
       {[](V a) { return replicate(sum(a), cast<std::int64_t>(a[0])); }},
       "avoided [int64(v?[0])]" + fixed,
       "segmented [int64(item?[0])]" + by0,
       "segmented [int64(item?[0])]" + by0},

      // slice: positions do not matter.
      {"slice of a captured matrix at a position that is a value",
       {[](V a) { return slice(m(), cast<std::int64_t>(a[0]), all); }},
       "avoided [shape(m).1]" + fixed,
       "regular [shape(m).1]" + uniform_shape,
       "regular [shape(m).1]" + uniform_shape},

      // Captured arrays and items as they are.
      {"the item itself",
       {[](V a) { return a; }},
       "avoided [shape(v)]" + fixed,
       "regular [<3>]: an item of the source, all of one shape",
       "segmented [shape(item)]: an item of the source, whose shape differs"},
      {"a captured array",
       {[](V) { return map(twice, v()); }},
       "avoided [shape(v)]" + fixed,
       "avoided [shape(v)]" + fixed,
       "avoided [shape(v)]" + fixed},
  };
  for (const VectorRow& row : table) {
    INFO(row.operation);
    CHECK(form_of(row.program.avoided) == row.avoided);
    CHECK(form_of(row.program.regular) == row.regular);
    CHECK(form_of(row.program.segmented) == row.segmented);
  }
}

TEST_CASE("forms of the operations on matrices, by which extents depend on the item") {
  const MatrixRow table[] = {
      {"map",
       {[](M a) { return map(twice, a); }},
       "avoided [shape(m).0, shape(m).1]" + fixed,
       "regular [<2>, <3>]" + uniform_shape,
       "segmented [shape(item).0, <3>]" + by0,
       "segmented [<2>, shape(item).1]" + by1,
       "segmented [shape(item).0, shape(item).1]" + by0},
      {"zip_with a captured matrix",
       {[](M a) { return zip_with(times, a, m()); }},
       "avoided [shape(m).0, shape(m).1]" + fixed,
       "regular [minimum(<2>, shape(m).0), minimum(<3>, shape(m).1)]" + uniform_shape,
       "segmented [minimum(shape(item).0, shape(m).0), minimum(<3>, shape(m).1)]" + by0,
       "segmented [minimum(<2>, shape(m).0), minimum(shape(item).1, shape(m).1)]" + by1,
       "segmented [minimum(shape(item).0, shape(m).0), minimum(shape(item).1, shape(m).1)]" + by0},
      {"fold along the innermost axis",
       {[](M a) { return sum(a); }},
       "avoided [shape(m).0]" + fixed,
       "regular [<2>]" + uniform_shape,
       "segmented [shape(item).0]" + by0,
       "regular [<2>]" + uniform_shape,
       "segmented [shape(item).0]" + by0},
      // A ragged matrix summed along its ragged axis is regular.
      {"fold along axis 0",
       {[](M a) { return sum(a, 0); }},
       "avoided [shape(m).1]" + fixed,
       "regular [<3>]" + uniform_shape,
       "regular [<3>]" + uniform_shape,
       "segmented [shape(item).1]" + by0,
       "segmented [shape(item).1]" + by0},
      {"fold of all",
       {[](M a) { return fold_all(plus, 0.0, a); }},
       "avoided []" + fixed,
       "regular []" + one,
       "regular []" + one,
       "regular []" + one,
       "regular []" + one},
      {"transpose",
       {[](M a) { return transpose(a); }},
       "avoided [shape(m).1, shape(m).0]" + fixed,
       "regular [<3>, <2>]" + uniform_shape,
       "segmented [<3>, shape(item).0]" + by1,
       "segmented [shape(item).1, <2>]" + by0,
       "segmented [shape(item).1, shape(item).0]" + by0},
      {"replicate",
       {[](M a) { return replicate(a, all, 4, all); }},
       "avoided [shape(m).0, 4, shape(m).1]" + fixed,
       "regular [<2>, 4, <3>]" + uniform_shape,
       "segmented [shape(item).0, 4, <3>]" + by0,
       "segmented [<2>, 4, shape(item).1]: extent 2 depends on the item",
       "segmented [shape(item).0, 4, shape(item).1]" + by0},
      {"slice of a row",
       {[](M a) { return slice(a, 0, all); }},
       "avoided [shape(m).1]" + fixed,
       "regular [<3>]" + uniform_shape,
       "regular [<3>]" + uniform_shape,
       "segmented [shape(item).1]" + by0,
       "segmented [shape(item).1]" + by0},
      {"slice of a column",
       {[](M a) { return slice(a, all, 1); }},
       "avoided [shape(m).0]" + fixed,
       "regular [<2>]" + uniform_shape,
       "segmented [shape(item).0]" + by0,
       "regular [<2>]" + uniform_shape,
       "segmented [shape(item).0]" + by0},
      {"flatten",
       {[](M a) { return flatten(a); }},
       "avoided [(shape(m).0 * shape(m).1)]" + fixed,
       "regular [(<2> * <3>)]" + uniform_shape,
       "segmented [(shape(item).0 * <3>)]" + by0,
       "segmented [(<2> * shape(item).1)]" + by0,
       "segmented [(shape(item).0 * shape(item).1)]" + by0},
      {"gather by a matrix of indices",
       {[](M a) { return gather(map([](Exp<double> e) { return cast<std::int64_t>(e); }, a), v()); }},
       "avoided [shape(m).0, shape(m).1]" + fixed,
       "regular [<2>, <3>]" + uniform_shape,
       "segmented [shape(item).0, <3>]" + by0,
       "segmented [<2>, shape(item).1]" + by1,
       "segmented [shape(item).0, shape(item).1]" + by0},
  };
  for (const MatrixRow& row : table) {
    INFO(row.operation);
    CHECK(form_of(row.program.avoided) == row.avoided);
    CHECK(form_of(row.program.regular) == row.regular);
    CHECK(form_of(row.program.outer) == row.outer);
    CHECK(form_of(row.program.inner) == row.inner);
    CHECK(form_of(row.program.both) == row.both);
  }
}
