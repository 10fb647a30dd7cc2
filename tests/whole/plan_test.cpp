// What the compiler makes of programs: asserted on the plan itself. Lifting and fusion are right when these
// programs become these kernels; that the kernels compute the right thing is the business of the other tests.

#include <set>

#include <anabranch/anabranch.h>
#include <anabranch/io.h>

#include "compile.h"
#include "front/handle.h"
#include "ir/walk.h"
#include "kernel/fold_operator.h"
#include "support/catch.h"

using namespace anabranch;
using ir::Form;
using kernel::Kernel;
using kernel::Map;
using kernel::Reduce;
using plan::KernelStep;
using plan::PlanArray;

namespace {

using Row = Vector<std::tuple<std::int32_t, double>>;

Acc<Scalar<double>> dotp(Acc<Vector<double>> xs, Acc<Vector<double>> ys) {
  return fold(plus, 0.0, zip_with(times, xs, ys));
}

auto dot_row_with(Acc<Vector<double>> x) {
  return [x](auto row) {
    auto [columns, values] = unzip(row);
    return dotp(values, gather(columns, x));
  };
}

Seq<Row> sparse_rows() {
  static const std::vector<std::int32_t> indptr{0, 2, 2, 3}, columns{0, 1, 2};
  static const std::vector<double> values{1, 2, 3};
  return stream_in(io::csr_view(3, 3, indptr, columns, values));
}

Acc<Vector<double>> some_vector() { return use(Vector<double>{1, 2, 3}); }

template <class... A>
Compiled plan_of(const Acc<A>&... results) {
  return compile_program({front::node_of(results.handle())...}, {}, {});
}

std::vector<const Kernel*> kernels(const plan::Group& group) {
  std::vector<const Kernel*> found;
  for (const plan::Step& step : group.steps)
    if (const auto* kernel = std::get_if<KernelStep>(&step)) found.push_back(&kernel->kernel);
  return found;
}

int scans(const plan::Group& group) {
  int count = 0;
  for (const plan::Step& step : group.steps) count += std::holds_alternative<plan::OffsetsStep>(step);
  return count;
}

/// Chunk arrays that are neither items nor results: what the chunk stores in between.
int intermediates(const plan::Group& group) {
  int count = 0;
  for (const PlanArray& a : group.arrays) count += a.origin == PlanArray::Origin::computed && a.result < 0;
  return count;
}

}  // namespace

TEST_CASE("smvm over a chunk of sparse rows is one fused segmented fold without intermediate arrays") {
  const Compiled c = plan_of(consume(elements(map_seq(dot_row_with(some_vector()), sparse_rows()))));
  REQUIRE(c.plan.stages.size() == 1);
  const plan::Group& group = c.plan.stages[0].group;
  INFO(plan::to_string(c.plan));
  const auto all_kernels = kernels(group);
  REQUIRE(all_kernels.size() == 1);
  const Kernel& kernel = *all_kernels[0];
  CHECK(std::holds_alternative<Reduce>(kernel.form));
  CHECK(kernel::reduce_of(kernel).order == ir::fold_order::OperatorClass::commutative);
  CHECK(kernel::row_of(kernel)->length.kind == kernel::KernelExtent::Kind::ragged);
  CHECK(kernel::row_of(kernel)->work_offsets >= 0);
  CHECK(kernel.domain.form == Form::regular);
  REQUIRE(kernel.arrays.size() == 2);
  CHECK(kernel.arrays[0].form == Form::segmented);
  CHECK(kernel.arrays[1].form == Form::avoided);
  CHECK(kernel.checks.size() == 1);  // the gathered index; the row's own elements need none
  CHECK(intermediates(group) == 0);
  CHECK(scans(group) == 0);
  CHECK(kernels(c.plan.global).empty());
}

TEST_CASE("the same function over equal rows takes the regular form and is one dense kernel") {
  const auto matrix = use(Matrix<std::tuple<std::int32_t, double>>(Index{4, 3}));
  const Compiled c = plan_of(consume(elements(map_seq(dot_row_with(some_vector()), rows(matrix)))));
  INFO(plan::to_string(c.plan));
  const auto all_kernels = kernels(c.plan.stages[0].group);
  REQUIRE(all_kernels.size() == 1);
  const Kernel& kernel = *all_kernels[0];
  CHECK(std::holds_alternative<Reduce>(kernel.form));
  CHECK(kernel::row_of(kernel)->length.kind == kernel::KernelExtent::Kind::uniform);
  CHECK(kernel::row_of(kernel)->work_offsets == -1);
  for (const auto& array : kernel.arrays) CHECK(array.form != Form::segmented);
  CHECK(intermediates(c.plan.stages[0].group) == 0);
}

TEST_CASE("a row divided by its own sum is a fold and a map that share the source's descriptor") {
  const auto body = [](Acc<Row> row) {
    auto [columns, values] = unzip(row);
    const auto total = sum(values);
    return map([=](Exp<double> v) { return v / the(total); }, values);
  };
  const Compiled c = plan_of(consume(elements(map_seq(body, sparse_rows()))));
  INFO(plan::to_string(c.plan));
  const plan::Group& group = c.plan.stages[0].group;
  const auto all_kernels = kernels(group);
  REQUIRE(all_kernels.size() == 2);
  CHECK(std::holds_alternative<Reduce>(all_kernels[0]->form));
  CHECK(std::holds_alternative<Map>(all_kernels[1]->form));
  CHECK(all_kernels[1]->domain.form == Form::segmented);
  CHECK(all_kernels[1]->checks.empty());
  CHECK(scans(group) == 0);
  CHECK(intermediates(group) == 1);  // one sum per row
}

TEST_CASE("a captured map is computed once per run, not per chunk") {
  const auto x = map([](Exp<double> e) { return exp(e); }, some_vector());
  const Compiled c = plan_of(consume(elements(map_seq(dot_row_with(x), sparse_rows()))));
  INFO(plan::to_string(c.plan));
  REQUIRE(kernels(c.plan.global).size() == 1);
  CHECK(std::holds_alternative<Map>(kernels(c.plan.global)[0]->form));
  const auto chunk = kernels(c.plan.stages[0].group);
  REQUIRE(chunk.size() == 1);
  for (const ir::Ref& body : chunk[0]->body)
    for (const ir::Node* node : ir::topological({&body, 1}))
      CHECK_FALSE((node->op() == ir::Op::primitive && node->payload().primitive == ir::Primitive::exp));
}

TEST_CASE("a slice whose position and length come from the item: sizes first, then one kernel") {
  const auto data = some_vector();
  const auto body = [=](Exp<std::int64_t> i) {
    return generate(i % 3, [=](Exp<std::int64_t> k) { return data[i % 2 + k]; });
  };
  const Compiled c = plan_of(consume(elements(produce(10, body))));
  INFO(plan::to_string(c.plan));
  const plan::Group& group = c.plan.stages[0].group;
  CHECK(scans(group) == 1);
  const auto all_kernels = kernels(group);
  REQUIRE(all_kernels.size() == 2);  // the lengths; the elements
  CHECK(all_kernels[0]->domain.form == Form::regular);
  CHECK(all_kernels[1]->domain.form == Form::segmented);
}

TEST_CASE("an irregular matrix with uniform rows is folded on either axis without copies") {
  std::vector<Matrix<double>> items{Matrix<double>(Index{2, 3}), Matrix<double>(Index{5, 3})};
  const auto inner = map_seq([](Acc<Matrix<double>> m) { return sum(m); }, stream_in(items));
  const auto outer = map_seq([](Acc<Matrix<double>> m) { return sum(m, 0); }, stream_in(items));
  for (const auto& s : {inner, outer}) {
    const Compiled c = plan_of(consume(elements(s)));
    INFO(plan::to_string(c.plan));
    const auto all_kernels = kernels(c.plan.stages[0].group);
    REQUIRE(std::holds_alternative<Reduce>(all_kernels.back()->form));
    for (const PlanArray& a : c.plan.stages[0].group.arrays)
      CHECK((a.origin == PlanArray::Origin::item || a.result >= 0 || a.type.rank == 0));
  }
}

TEST_CASE("components of one item keep their own forms") {
  const auto x = some_vector();
  const auto body = [=](Acc<Row> row) {
    auto [columns, values] = unzip(row);
    return std::tuple(x, sum(values), map([](Exp<double> v) { return v + v; }, values));
  };
  auto [a, r, s] = unzip_seq(map_seq(body, sparse_rows()));
  const Compiled c = plan_of(consume(elements(a)), consume(elements(r)), consume(elements(s)));
  INFO(plan::to_string(c.plan));
  REQUIRE(c.plan.stages.size() == 1);  // one pass for all three
  const auto& stage = c.staged.stages[0];
  REQUIRE(stage.results.size() == 3);
  std::multiset<Form> forms;
  for (const ir::Ref& result : stage.results) forms.insert(c.staged.facts_of(result).form);
  CHECK(forms == std::multiset<Form>{Form::avoided, Form::regular, Form::segmented});
}

TEST_CASE("a body that ignores its item is avoided altogether") {
  const auto x = map([](Exp<double> e) { return exp(e) * e; }, some_vector());
  const Compiled c = plan_of(consume(elements(map_seq([=](Acc<Row>) { return sum(x); }, sparse_rows()))));
  INFO(plan::to_string(c.plan));
  CHECK(c.staged.facts_of(c.staged.stages[0].results[0]).form == Form::avoided);
  REQUIRE(kernels(c.plan.global).size() == 1);         // the fold, with the map fused into it
  CHECK(kernels(c.plan.stages[0].group).size() == 1);  // a copy for each item
}

TEST_CASE("adjacent map_seq, zip_with_seq and unzip_seq become one function over one pass") {
  auto doubled =
      map_seq([](Acc<Row> row) { return map([](auto e) { return pack(get<0>(e), get<1>(e) * 2); }, row); },
              sparse_rows());
  auto zipped = zip_with_seq(
      [](auto a, auto b) { return zip_with([](auto p, auto q) { return get<1>(p) - get<1>(q); }, a, b); },
      doubled, doubled);
  const Compiled c = plan_of(consume(elements(map_seq([](auto v) { return sum(v); }, zipped))));
  INFO(plan::to_string(c.plan));
  REQUIRE(c.plan.stages.size() == 1);
  CHECK(c.plan.stages[0].sources.size() == 1);
  REQUIRE(kernels(c.plan.stages[0].group).size() == 1);
}

TEST_CASE("sizes of a chunk are exact expressions over its extents") {
  const Compiled c = plan_of(consume(elements(map_seq(dot_row_with(some_vector()), sparse_rows()))));
  const plan::Group& group = c.plan.stages[0].group;
  plan::ChunkShape shape{{3}, std::vector<std::int64_t>(group.uniforms.size(), 3), {1000}};
  for (const PlanArray& a : group.arrays) {
    if (a.origin == PlanArray::Origin::item) CHECK(plan::bytes_of(a, shape) == 12'000);
    if (a.result >= 0) CHECK(plan::bytes_of(a, shape) == 24);
  }
}

TEST_CASE("a chain of 100,000 nodes passes through the whole front half") {
  auto a = some_vector();
  for (int i = 0; i < 100'000; ++i) a = map([](Exp<double> e) { return e + 1.0; }, a);
  const Compiled c = plan_of(a);
  CHECK(kernels(c.plan.global).size() > 10);  // cut into kernels of bounded size
  for (const Kernel* kernel : kernels(c.plan.global)) CHECK(kernel->operations <= 2'100);
}

TEST_CASE("a scalar chain of 100,000 nodes passes through the whole front half") {
  const auto body = [](Exp<double> e) {
    for (int i = 0; i < 100'000; ++i) e = e * e + 1.0;
    return e;
  };
  const Compiled c = plan_of(map(body, some_vector()));
  CHECK_FALSE(kernels(c.plan.global).empty());
}
