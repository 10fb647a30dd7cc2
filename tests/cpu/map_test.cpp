#include "support/catch.h"
#include "tests/cpu/support/map_kernels.h"
#include "tests/cpu/support/oracle.h"

using namespace anabranch;
using namespace anabranch::test;
using ir::Primitive;
using ir::Ref;

TEST_CASE("elementwise maps run over flat positions") {
  for (const auto n : lengths) {
    KernelBuilder k(kernel::Map{});
    const auto extent = k.uniform_extent(n);
    const Ref a = k.array(kernel::Form::avoided, {ScalarType::float64}, {extent}, k.buffer(doubles(n)));
    k.output(kernel::Form::avoided, {ScalarType::float64, ScalarType::boolean}, {extent}, n);
    const Ref v = ir::index(a, k.kernel().index[0]);
    k.kernel().body = {plus(times(v, v), ir::literal(0.1)), less(v, ir::literal(0.0))};
    k.find_checks();
    CHECK(disagreement(k) == "");
    k.split_output({1, 1});
    CHECK(disagreement(k) == "");
  }
}

TEST_CASE("segmented maps: flat, with the index, with item values and gathers") {
  for (const auto& rows : std::vector<std::vector<std::int64_t>>{
           lengths, {}, {0, 0, 0}, {0, 5, 0, 0, 100, 0}, std::vector<std::int64_t>(300, 3)}) {
    {
      Ragged r(rows);
      r.segmented_output(ScalarType::float64);
      const Ref v = ir::index(r.values, r.k.kernel().index[0], {}, true);
      r.k.kernel().body = {times(v, ir::literal(3.0))};
      CHECK(disagreement(r.k, {0, 7, 1000}) == "");
    }
    {
      Ragged r(rows);
      r.segmented_output(ScalarType::float64);
      const Ref i = r.k.kernel().index[0];
      const Ref v = ir::index(r.values, i, {}, true);
      const Ref scale = ir::cast(ScalarType::float64, ir::index(r.item, ir::tuple({}), {}, true));
      const Ref mod = ir::primitive(Primitive::remainder, {times(i, ir::int64(17)), ir::int64(100)});
      r.k.kernel().body = {plus(times(v, scale), ir::index(r.x, mod))};
      CHECK(disagreement(r.k, {0, 7, 1000}) == "");
    }
    {
      // Backwards: length - 1 - i, through a scalar that is bound per item; and every third element.
      Ragged r(rows);
      r.segmented_output(ScalarType::float64);
      const Ref i = r.k.kernel().index[0];
      const Ref n = r.k.scalar_parameter(r.extent);
      const Ref back = minus(minus(n, ir::int64(1)), i);
      const Ref third = ir::primitive(Primitive::minimum, {times(i, ir::int64(3)), minus(n, ir::int64(1))});
      r.k.kernel().body = {plus(ir::index(r.values, back), ir::linear_index(r.values, third))};
      CHECK(disagreement(r.k, {0, 7, 1000}) == "");
    }
  }
}

TEST_CASE("items of one element are lanes") {
  for (const auto& rows :
       std::vector<std::vector<std::int64_t>>{lengths, std::vector<std::int64_t>(100, 2)}) {
    Ragged r(rows);
    r.k.output(kernel::Form::regular, {ScalarType::float64}, {}, static_cast<std::int64_t>(rows.size()));
    const Ref n = r.k.scalar_parameter(r.extent);
    const Ref number = ir::index(r.item, ir::tuple({}), {}, true);
    // The middle element of the item, if there is one.
    const Ref half = ir::primitive(Primitive::divide, {n, ir::int64(2)});
    const Ref middle = ir::cond(less(ir::int64(0), n), ir::index(r.values, half), ir::literal(-1.0));
    r.k.kernel().body = {plus(middle, ir::cast(ScalarType::float64, number))};
    CHECK(disagreement(r.k, {0, 3, 20}) == "");
    r.k.kernel().body = {ir::index(r.values, half)};  // fails on the empty item only
    CHECK(disagreement(r.k, {0, 3}) == "");
  }
}

TEST_CASE("the number of an item in its stream") {
  for (const std::int64_t items : {0, 1, 7, 16, 33, 35}) {
    auto k = read_by_number(items);
    CHECK(disagreement(k, {0, 3, 20}) == "");
  }
  auto failing = read_by_number(50);
  CHECK(disagreement(failing, {0, 3}) == "");
  for (const auto& rows : {lengths, std::vector<std::int64_t>(300, 3)}) {
    auto k = scaled_by_number(rows);
    CHECK(disagreement(k, {0, 7, 1000}) == "");
  }
}

TEST_CASE("arrays of rank 0 to 4, in and outside streams, shifted and transposed reads") {
  for (const bool over_items : {false, true})
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{
             {}, {40}, {5, 33}, {33, 5}, {3, 4, 20}, {2, 3, 4, 17}, {4, 0, 3}, {1, 1, 1, 1}}) {
      const std::int64_t items = over_items ? 3 : 1;
      std::int64_t n = items;
      for (const auto e : shape) n *= e;
      const auto form = over_items ? kernel::Form::regular : kernel::Form::avoided;
      KernelBuilder k(kernel::Map{}, over_items, items);
      std::vector<kernel::KernelExtent> extents;
      for (const auto e : shape) extents.push_back(k.uniform_extent(e));
      const Ref a = k.array(form, {ScalarType::float64}, extents, k.buffer(doubles(n)));
      auto reversed = extents;
      std::reverse(reversed.begin(), reversed.end());
      const Ref t = k.array(form, {ScalarType::float64}, reversed, k.buffer(doubles(n)));
      k.output(form, {ScalarType::float64, ScalarType::int64}, extents, n);
      auto& kernel = k.kernel();
      auto back = kernel.index;
      std::reverse(back.begin(), back.end());
      Ref sum = ir::int64(1);
      for (const auto& i : kernel.index) sum = plus(times(sum, ir::int64(10)), i);
      const Ref own = ir::index(a, all_of(kernel.index), {}, true);
      kernel.body = {plus(own, ir::index(t, all_of(back))), sum};
      INFO("rank " << shape.size() << (over_items ? " over items" : ""));
      CHECK(disagreement(k, {0, 3, 50}) == "");
      kernel.body = {times(own, own), ir::int64(7)};
      CHECK(disagreement(k, {0, 3, 50}) == "");
      if (shape.empty()) continue;
      // One beyond the border: an error unless nothing is computed at all.
      auto shifted = kernel.index;
      shifted.back() = plus(shifted.back(), ir::int64(1));
      kernel.body = {ir::index(a, all_of(shifted)), ir::int64(7)};
      CHECK(disagreement(k, {0, 3}) == "");
      // A stencil whose border is guarded.
      const Ref left = minus(kernel.index.back(), ir::int64(1));
      shifted.back() = left;
      const Ref inside = ir::primitive(Primitive::less_equal, {ir::int64(0), left});
      kernel.body = {ir::cond(inside, ir::index(a, all_of(shifted)), ir::literal(9.0)), ir::int64(7)};
      CHECK(disagreement(k, {0, 3, 50}) == "");
    }
}

TEST_CASE("irregular items of rank 2, extents per item") {
  const std::vector<std::int64_t> rows{3, 0, 1, 20, 4, 0}, columns{5, 7, 0, 33, 16, 0};
  std::vector<std::int64_t> offsets{0};
  for (std::size_t i = 0; i < rows.size(); ++i) offsets.push_back(offsets.back() + rows[i] * columns[i]);
  const auto n = offsets.back();
  KernelBuilder k(kernel::Map{}, true, static_cast<std::int64_t>(rows.size()));
  const int off = k.buffer(offsets);
  const std::vector<kernel::KernelExtent> extents{k.per_item_extent(rows), k.per_item_extent(columns)};
  const Ref a = k.array(kernel::Form::segmented, {ScalarType::float64}, extents, k.buffer(doubles(n)), off);
  k.output(kernel::Form::segmented, {ScalarType::float64}, extents, n, off);
  auto& kernel = k.kernel();
  const Ref own = ir::index(a, ir::tuple(kernel.index), {}, true);
  kernel.body = {times(own, own)};
  CHECK(disagreement(k, {0, 1, 7, 100}) == "");
  const Ref first = ir::index(a, ir::tuple({kernel.index[0], ir::int64(0)}));
  kernel.body = {plus(times(own, first), ir::cast(ScalarType::float64, kernel.index[1]))};
  CHECK(disagreement(k, {0, 1, 7, 100}) == "");
}

TEST_CASE("a failing check names the operation, the index, the extent and the place") {
  KernelBuilder k(kernel::Map{});
  const auto extent = k.uniform_extent(100);
  const Ref a =
      k.array(kernel::Form::avoided, {ScalarType::float64}, {k.uniform_extent(5)}, k.buffer(doubles(5)));
  k.output(kernel::Form::avoided, {ScalarType::float64}, {extent}, 100);
  const Ref wrong =
      ir::primitive(Primitive::remainder, {plus(k.kernel().index[0], ir::int64(3)), ir::int64(8)});
  k.kernel().body = {ir::index(a, wrong, Place(std::source_location::current()))};
  k.find_checks();
  for (auto& check : k.kernel().checks)
    if (check.kind == kernel::Check::Kind::index) check.what = "gather";
  for (const int lanes : {0, 1}) {
    cpu::CompileOptions options;
    options.lanes = lanes;
    REQUIRE_THROWS_WITH(k.run(options), Catch::Contains("gather: index 5 out of range 0..4 (map_test.cpp:"));
  }
}

TEST_CASE("conditionals and loops: lanes go their own ways") {
  for (const std::int64_t n : {1, 15, 16, 17, 100, 1000}) {
    KernelBuilder k(kernel::Map{});
    const auto extent = k.uniform_extent(n);
    const Ref a = k.array(kernel::Form::avoided, {ScalarType::float64}, {extent}, k.buffer(doubles(n)));
    const Ref none =
        k.array(kernel::Form::avoided, {ScalarType::float64}, {k.uniform_extent(0)}, k.buffer(doubles(0)));
    k.output(kernel::Form::avoided, {ScalarType::float64}, {extent}, n);
    auto& kernel = k.kernel();
    const Ref i = kernel.index[0];
    const Ref v = ir::index(a, i, {}, true);
    const Ref never = less(v, ir::literal(-100.0));
    // A side that would fail is not entered; nor what two sides share, nor a loop without end.
    const Ref bad = ir::index(none, i);
    const Ref p = ir::parameter(ir::Type::element(ScalarType::float64));
    const Ref q = ir::parameter(ir::Type::element(ScalarType::float64));
    const Ref forever =
        ir::while_loop(ir::lambda({p}, {ir::literal(true)}), ir::lambda({q}, {plus(q, ir::literal(1.0))}), v);
    kernel.body = {plus(ir::cond(never, plus(bad, v), v),
                        ir::cond(never, times(plus(bad, forever), bad), ir::literal(1.0)))};
    CHECK(disagreement(k, {0, 7}) == "");
    // Collatz steps of i, as a loop over a pair, with a checked read and a division inside.
    const auto pair = ir::Type::element(ir::Scalars{ScalarType::int64, ScalarType::int64});
    const Ref s = ir::parameter(pair), t = ir::parameter(pair);
    const Ref x = ir::project(t, 0, 1);
    const Ref even =
        ir::primitive(Primitive::equal, {ir::primitive(Primitive::bit_and, {x, ir::int64(1)}), ir::int64(0)});
    const Ref next = ir::cond(even, ir::primitive(Primitive::divide, {x, ir::int64(2)}),
                              plus(times(x, ir::int64(3)), ir::int64(1)));
    const Ref steps =
        ir::while_loop(ir::lambda({s}, {less(ir::int64(1), ir::project(s, 0, 1))}),
                       ir::lambda({t}, {ir::tuple({next, plus(ir::project(t, 1, 1), ir::int64(1))})}),
                       ir::tuple({plus(i, ir::int64(1)), ir::int64(0)}));
    kernel.body = {ir::cast(ScalarType::float64, ir::project(steps, 1, 1))};
    CHECK(disagreement(k, {0, 7}) == "");
    // The divisor is zero in lanes that do not divide, and in one that does.
    for (const std::int64_t guard : {3, 0}) {
      const Ref d = ir::primitive(Primitive::remainder, {i, ir::int64(5)});
      const Ref asked = ir::primitive(Primitive::less_equal, {ir::int64(guard ? 1 : 0), d});
      kernel.body = {
          ir::cast(ScalarType::float64,
                   ir::cond(asked, ir::primitive(Primitive::divide, {ir::int64(1000), d}), ir::int64(-1)))};
      CHECK(disagreement(k, {0, 7}) == "");
    }
  }
}
