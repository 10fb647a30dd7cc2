// The verifier of kernels: every promise of kernel.h, broken one by one.

#include "ir/make.h"
#include "plan/support/plans.h"
#include "support/catch.h"

using namespace anabranch;
using namespace anabranch::testing;
using kernel::Kernel;

namespace {

using V = Acc<Vector<double>>;

/// A good kernel: the sum of a product, over segmented items and a captured vector.
Kernel good() {
  const Planned p = planned({[] {
    const auto body = [](V a) {
      const auto columns = map([](Exp<double> e) { return cast<std::int64_t>(e); }, a);
      return sum(zip_with(times, a, gather(columns, v())));
    };
    return consume(elements(map_seq(body, vectors())));
  }});
  return *kernels_of(p.plan.stages.at(0).group).at(0);
}

/// Another: states along segmented items.
Kernel good_recurrence() {
  const Planned p = planned({[] {
    const auto body = [](V a) { return scan_state([](auto s, auto x) { return s * 0.5 + x; }, 1.0, a); };
    return consume(elements(map_seq(body, vectors())));
  }});
  return *kernels_of(p.plan.stages.at(0).group).at(0);
}

/// And prefixes, one more than there are elements.
Kernel good_scan() {
  const Planned p = planned({[] {
    const auto body = [](V a) { return scanl(plus, 1.0, a); };
    return consume(elements(map_seq(body, vectors())));
  }});
  for (const Kernel* kernel : kernels_of(p.plan.stages.at(0).group))
    if (std::holds_alternative<kernel::Scan>(kernel->form)) return *kernel;
  throw InternalError("no kernel that scans");
}

struct Row {
  std::string what;
  std::function<void(Kernel&)> breaks;
};
void refused(Kernel kernel, const Row& row) {
  row.breaks(kernel);
  try {
    kernel::verify(kernel);
    FAIL_CHECK("accepted: " << row.what);
  } catch (const InternalError& e) {
    INFO(e.what());
    CHECK(std::string(e.what()).find(row.what) != std::string::npos);
  }
}

kernel::Recurrence& recurrence(Kernel& kernel) { return std::get<kernel::Recurrence>(kernel.form); }
kernel::Scan& scan(Kernel& kernel) { return std::get<kernel::Scan>(kernel.form); }
kernel::Reduce& reduce(Kernel& kernel) { return std::get<kernel::Reduce>(kernel.form); }
kernel::Reduction& reduction(Kernel& kernel) { return reduce(kernel).reductions.at(0); }

ir::Ref some_array() { return front::node_of(v().handle()); }
ir::Ref stranger(ScalarType type) { return ir::parameter(ir::Type::element(type)); }

}  // namespace

TEST_CASE("a kernel that keeps its promises passes") { CHECK_NOTHROW(kernel::verify(good())); }

TEST_CASE("an array that is still to be read is not overwritten") {
  const char* what = "an array is overwritten that is still to be read";
  refused(good_scan(), {what, [](Kernel& k) { k.arrays[0].overwritten = true; }});
  const auto of = [](auto f) {
    const Planned p = planned({[=] { return f(v()); }});
    return *kernels_of(p.plan.global).at(0);
  };
  const auto overwrite = [](Kernel& k) { k.arrays[0].overwritten = true; };
  Kernel simple = of([](V a) { return map([](Exp<double> e) { return e + 1.0; }, a); });
  overwrite(simple);
  CHECK_NOTHROW(kernel::verify(simple));
  refused(of([](V a) { return zip_with(plus, a, reverse(a)); }), {what, overwrite});
  refused(of([](V a) { return map([=](Exp<double> e) { return e + a[cast<std::int64_t>(e)]; }, a); }),
          {what, overwrite});
}

TEST_CASE("each broken promise of a scan is named") {
  CHECK_NOTHROW(kernel::verify(good_scan()));
  const Row table[] = {
      {"an output of elements has other extents",
       [](Kernel& k) { scan(k).kind.prefixes = kernel::Prefixes::exclusive; }},
      {"an output of elements has other extents",
       [](Kernel& k) { k.outputs[0].array.extents[0] = scan(k).row.length; }},
      {"an exclusive scan and the total of a row need a seed",
       [](Kernel& k) { scan(k).reduction.seed.clear(); }},
      {"rows lie along no outer dimension", [](Kernel& k) { scan(k).axis = 0; }},
      {"an output has no dimension for the rows", [](Kernel& k) { scan(k).axis = 1; }},
  };
  for (const Row& row : table) refused(good_scan(), row);
}

TEST_CASE("each broken promise is named") {
  const ir::Ref element_of_array = ir::index(some_array(), ir::int64(0));
  const Row table[] = {
      {"an array has no parameter of its type", [](Kernel& k) { k.arrays[0].parameter = ir::Ref(); }},
      {"an array has no parameter of its type",
       [](Kernel& k) { k.arrays[0].parameter = stranger(ScalarType::int64); }},
      {"an array has not one extent per dimension", [](Kernel& k) { k.arrays[0].extents.clear(); }},
      {"exactly the segmented arrays have offsets",
       [](Kernel& k) {
         for (auto& a : k.arrays)
           if (a.form == ir::Form::segmented) a.offsets = -1;
       }},
      {"exactly the segmented arrays have offsets",
       [](Kernel& k) {
         for (auto& a : k.arrays)
           if (a.form == ir::Form::avoided) a.offsets = 0;
       }},
      {"an array lies outside the buffer slots",
       [](Kernel& k) { k.arrays[0].first_buffer = k.buffer_slots; }},
      {"an array lies outside the buffer slots", [](Kernel& k) { k.outputs[0].array.first_buffer = -1; }},
      {"an output is not laid out like the domain",
       [](Kernel& k) { k.outputs[0].array.form = ir::Form::avoided; }},
      {"an output stores components that there are not", [](Kernel& k) { k.outputs[0].first = 1; }},
      {"an output stores components of another type",
       [](Kernel& k) { k.outputs[0].array.type.scalars[0] = ScalarType::int64; }},
      {"the kernel writes nothing", [](Kernel& k) { k.outputs.clear(); }},
      {"an output is none of those of its position", [](Kernel& k) { k.outputs[0].which = 1; }},
      {"an output is not laid out like the domain", [](Kernel& k) { k.outputs[0].of = 2; }},
      {"a segmented domain has several outputs in one array",
       [](Kernel& k) {
         k.domain.form = ir::Form::segmented;
         k.domain.offsets = 0;
         k.outputs[0].of = 2;
       }},
      {"only scans and recurrences write an element for each of a row",
       [](Kernel& k) { k.outputs[0].write = kernel::KernelOutput::Write::element; }},
      {"index parameters and the domain's extents differ",
       [](Kernel& k) { k.index.push_back(stranger(ScalarType::int64)); }},
      {"exactly a segmented domain has offsets", [](Kernel& k) { k.domain.form = ir::Form::segmented; }},
      {"operators and elements differ in components", [](Kernel& k) { k.body.push_back(k.body[0]); }},
      {"operators and elements differ in components", [](Kernel& k) { reduce(k).reductions.clear(); }},
      {"rows need the parameter of their elements", [](Kernel& k) { reduce(k).row.index = ir::Ref(); }},
      {"an operator's operands and results differ in components",
       [](Kernel& k) { reduction(k).left.clear(); }},
      {"an operator's operands and results differ in components",
       [](Kernel& k) { reduction(k).combine.clear(); }},
      {"seed and operator differ in components",
       [](Kernel& k) { reduction(k).seed.push_back(reduction(k).seed[0]); }},
      {"exactly where a seed lacks there is a check for empty rows",
       [](Kernel& k) { reduction(k).seed.clear(); }},
      {"the body mentions something unbound", [](Kernel& k) { k.body[0] = stranger(ScalarType::float64); }},
      {"the operator mentions something unbound",
       [](Kernel& k) { reduction(k).combine[0] = stranger(ScalarType::float64); }},
      {"the seed mentions something unbound",
       [](Kernel& k) { reduction(k).seed[0] = stranger(ScalarType::float64); }},
      {"the seed mentions something unbound", [](Kernel& k) { reduction(k).seed[0] = reduction(k).left[0]; }},
      {"an operator is of another type than the elements",
       [](Kernel& k) {
         k.body[0] = ir::cast(ScalarType::float32, k.body[0]);
         k.outputs[0].array.type.scalars[0] = ScalarType::float32;
       }},
      {"an operator is not commutative as the kernel says",
       [](Kernel& k) {
         reduction(k).combine[0] =
             ir::primitive(ir::Primitive::subtract, {reduction(k).left[0], reduction(k).right[0]});
       }},
      {"an operator is not commutative as the kernel says",
       [](Kernel& k) { std::swap(reduction(k).left[0], reduction(k).right[0]); }},
      {"a scalar is no int64 parameter",
       [](Kernel& k) { k.scalars.push_back({stranger(ScalarType::float64), {}}); }},
      {"an index is no int64 parameter",
       [](Kernel& k) {
         k.index.push_back(stranger(ScalarType::int32));
         k.domain.extents.emplace_back();
       }},
      {"the number of a row's element is no int64 parameter",
       [](Kernel& k) { reduce(k).row.index = ir::int64(3); }},
      {"a buffer is not among the slots", [](Kernel& k) { reduce(k).row.length.slot = k.buffer_slots; }},
      {"a buffer is not among the slots", [](Kernel& k) { reduce(k).row.work_offsets = k.buffer_slots; }},
      {"a buffer is not among the slots",
       [](Kernel& k) {
         for (auto& a : k.arrays)
           if (a.form == ir::Form::segmented) a.offsets = k.buffer_slots;
       }},
      {"a scalar is not among the slots", [](Kernel& k) { k.scalar_slots = 0; }},
      {"a divisor differs from item to item",
       [](Kernel& k) { reduce(k).row.length.divisor_kind = kernel::KernelExtent::Kind::per_item; }},
      {"a scalar is not among the slots",
       [](Kernel& k) {
         reduce(k).row.length.divisor_kind = kernel::KernelExtent::Kind::uniform;
         reduce(k).row.length.divisor = k.scalar_slots;
       }},
      {"what can fail has no check", [](Kernel& k) { k.checks.clear(); }},
      {"what can fail has no check",
       [](Kernel& k) {
         const ir::Ref number = ir::cast(ScalarType::int64, k.body[0]);
         k.body[0] = ir::cast(ScalarType::float64, ir::primitive(ir::Primitive::divide, {number, number}));
       }},
      {"a check is of nothing that can fail",
       [](Kernel& k) { k.checks.push_back({kernel::Check::Kind::division, k.body[0].get(), "divide", {}}); }},
      {"a body gives several components at once",
       [](Kernel& k) { reduction(k).combine[0] = ir::tuple({k.body[0], k.body[0]}); }},
      {"a body holds an array computation", [&](Kernel& k) { k.body[0] = element_of_array; }},
      {"a body holds a shape",
       [](Kernel& k) { k.body[0] = ir::cast(ScalarType::float64, ir::extent(k.arrays[0].parameter, 0)); }},
  };
  for (const Row& row : table) refused(good(), row);
}

TEST_CASE("each broken promise of a recurrence is named") {
  const Row table[] = {
      {"the states before and after an element differ in components",
       [](Kernel& k) { recurrence(k).state.push_back(stranger(ScalarType::float64)); }},
      {"the states before and after an element differ in components",
       [](Kernel& k) { recurrence(k).initial.clear(); }},
      {"the states before and after an element are of different types",
       [](Kernel& k) { recurrence(k).initial[0] = ir::cast(ScalarType::float32, recurrence(k).initial[0]); }},
      {"the body mentions something unbound",
       [](Kernel& k) { recurrence(k).state[0] = stranger(ScalarType::float64); }},
      {"the first state mentions something unbound",
       [](Kernel& k) { recurrence(k).initial[0] = recurrence(k).state[0]; }},
      {"a recurrence writes an element for each of a row",
       [](Kernel& k) {
         static_cast<kernel::Layout&>(k.outputs[0].array) = k.domain;
         k.outputs[0].array.type.rank = 0;
         k.outputs[0].write = kernel::KernelOutput::Write::position;
       }},
      {"rows need the parameter of their elements", [](Kernel& k) { recurrence(k).row.index = ir::Ref(); }},
  };
  CHECK_NOTHROW(kernel::verify(good_recurrence()));
  for (const Row& row : table) refused(good_recurrence(), row);
}
