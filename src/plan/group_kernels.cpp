// The kernels of a group.

#include <algorithm>

#include <fmt/format.h>

#include "ir/print.h"
#include "ir/views.h"
#include "plan/group_builder.h"
#include "plan/kernel_builder.h"

namespace anabranch::plan {

using namespace ir;

namespace {

std::vector<Ref> index_parameters(std::size_t rank, const Place& place) {
  std::vector<Ref> parameters;
  for (std::size_t d = 0; d < rank; ++d)
    parameters.push_back(parameter(Type::element(ScalarType::int64), place));
  return parameters;
}

}  // namespace

// Something that is no kernel's own output (the item itself, an avoided array, a result already given
// elsewhere), element by element.
int GroupBuilder::copy_of(const Ref& node) {
  const Facts& facts = context_.staged.facts_of(node);
  PlanArray array;
  array.node = node;
  array.why = "a result";
  shape_of(array, facts, *node);
  if (array.form == Form::avoided) array.form = Form::regular;
  const int number = static_cast<int>(group_.arrays.size());
  group_.arrays.push_back(std::move(array));
  const auto ix = index_parameters(facts.extents.size(), node->place());
  add_map(number, context_.expand.element(node, ix), ix, fmt::format("copy of {}", title(*node)),
          node->place());
  return number;
}

void GroupBuilder::add_definition(int output, const Ref& node) {
  switch (node->op().as<ArrayOp>()) {
    case Op::fold:
      if (!add_unrolled(output, node)) add_reduce({{&output, 1}, {&node, 1}, {}, {}});
      return;
    case Op::scan_state:
      return add_recurrence({{&output, 1}, {&node, 1}, {}, {}});
    case Op::select:
    case Op::last_at:
    case Op::accumulate:
    case Op::repeat:
    case Op::trace:
      return add_rearrange({&output, 1}, {&node, 1});
    case Op::unit:
    case Op::generate:
    case Op::map:
    case Op::backpermute:
    case Op::reshape:
    case Op::part:
    case Op::compute:
      break;
    case Op::sort:
    case Op::group:
    case Op::use:
    case Op::consume:
    case Op::scan:
    case Op::awhile:
    case Op::acond:
    case Op::project_array:
      throw InternalError(fmt::format("plan: {} has no kernel of its own", name_of(node->op())));
  }
  const auto ix = index_parameters(static_cast<std::size_t>(node->type().rank), node->place());
  add_map(output, context_.expand.definition(node, ix), ix, title(*node), node->place());
}

void GroupBuilder::add_map(int output, const Ref& body, std::span<const Ref> index, const std::string& name,
                           const Place& place) {
  KernelStep step;
  KernelBuilder builder(*this, step);
  Kernel& kernel = step.kernel;
  kernel.name = name;
  kernel.place = place;
  kernel.form = kernel::Map{};
  kernel.index.assign(index.begin(), index.end());
  kernel.body = components(context_.expand.inline_reads(body));
  builder.domain(array(output));
  builder.write(output, 0);
  builder.bind({&kernel.body});
  builder.finish();
  group_.steps.emplace_back(std::move(step));
}

/// One kernel for arrays with the same positions.
void GroupBuilder::add_maps(std::span<const int> outputs, std::span<const Ref> arrays) {
  KernelStep step;
  KernelBuilder builder(*this, step);
  Kernel& kernel = step.kernel;
  kernel.name = title(*arrays[0]);
  for (const Ref& other : arrays.subspan(1)) kernel.name += ", " + title(*other);
  kernel.place = arrays[0]->place();
  kernel.form = kernel::Map{};
  kernel.index = index_parameters(static_cast<std::size_t>(arrays[0]->type().rank), kernel.place);
  builder.domain(array(outputs[0]));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    builder.write(outputs[i], kernel.body.size());
    const Ref element = context_.expand.inline_reads(context_.expand.definition(arrays[i], kernel.index));
    for (Ref& component : components(element)) kernel.body.push_back(std::move(component));
  }
  builder.bind({&kernel.body});
  builder.finish();
  group_.steps.emplace_back(std::move(step));
}

/// The operator of a fold or scan, its parameters fresh, and its seed.
template <class Rows>
kernel::Reduction reduction_of(const Rows& rows, const Place& place, Expander& expand) {
  kernel::Reduction reduction;
  for (ScalarType s : rows.array()->type().scalars) {
    reduction.left.push_back(parameter(Type::element(s), place));
    reduction.right.push_back(parameter(Type::element(s), place));
  }
  const std::vector<Ref> operands{tuple(reduction.left), tuple(reduction.right)};
  reduction.combine = components(expand.inline_reads(ir::apply(rows.function(), operands)[0]));
  if (rows.has_seed()) reduction.seed = components(expand.inline_reads(rows.seed()));
  return reduction;
}
template kernel::Reduction reduction_of(const Fold&, const Place&, Expander&);

/// Parameters for the positions of rows of arrays like this one, and for the elements of a row.
std::vector<Ref> GroupBuilder::rows_index(kernel::Row& row, const Ref& array, const Place& place) {
  row.index = parameter(Type::element(ScalarType::int64), place);
  return index_parameters(context_.staged.facts_of(array).extents.size() - 1, place);
}

namespace {
int last_axis(const Ref& array) { return array->type().rank - 1; }
}  // namespace

/// Of a kernel that goes through the rows of arrays like this one: names, places, positions.
void GroupBuilder::begin_rows(Kernel& kernel, kernel::Row& row, const Ref& array, const Node& first) {
  kernel.name = title(first);
  kernel.place = first.place();
  kernel.index = rows_index(row, array, first.place());
}

/// Where an element of such a row is, along this dimension.
std::vector<Ref> GroupBuilder::position_in(const Kernel& kernel, const kernel::Row& row, int axis) {
  std::vector<Ref> ix = kernel.index;
  ix.insert(ix.begin() + axis, row.index);
  return ix;
}

void GroupBuilder::add_element(Kernel& kernel, const kernel::Row& row, const Ref& array, int axis) {
  const std::vector<Ref> ix = position_in(kernel, row, axis);
  for (Ref& component : components(context_.expand.inline_reads(context_.expand.element(array, ix))))
    kernel.body.push_back(std::move(component));
}

void GroupBuilder::measure_rows(KernelBuilder& builder, kernel::Row& row, const Ref& array, int axis) {
  measure_rows(builder, row, context_.staged.facts_of(array).extents, axis, *array);
}

/// Rows along a dimension of an array with these extents, which are known as those of `of` are.
void GroupBuilder::measure_rows(KernelBuilder& builder, kernel::Row& row, const std::vector<Ref>& extents,
                                int axis, const Node& of) {
  row.length = builder.extent_of(extents[static_cast<std::size_t>(axis)]);
  if (std::all_of(extents.begin(), extents.end(), [&](const Ref& e) { return extent_of(e).same_for_all(); }))
    return;
  const int descriptor = descriptor_of(extents, of);
  if (extents.size() == 1) row.length = builder.length_in(descriptor, row.length);
  row.work_offsets = builder.offsets_slot(descriptor);
  row.work_offset_type = offset_type(descriptor);
}

/// One kernel for reductions of rows that are equally long at equal positions.
void GroupBuilder::add_reduce(const Made& made) {
  const std::span<const Ref> folds = made.results;
  const Ref& argument = Fold(folds[0]).array();
  KernelStep step;
  KernelBuilder builder(*this, step);
  Kernel& kernel = step.kernel;
  kernel::Reduce reduce;
  begin_rows(kernel, reduce.row, argument, *folds[0]);
  for (const Ref& fold : folds.subspan(1)) kernel.name += ", " + title(*fold);
  reduce.order = Fold(folds[0]).order();
  std::vector<std::size_t> begins;
  for (const Ref& fold : folds) {
    begins.push_back(kernel.body.size());
    add_element(kernel, reduce.row, Fold(fold).array(), last_axis(argument));
    reduce.reductions.push_back(reduction_of(Fold(fold), fold->place(), context_.expand));
  }
  const auto results = [&](const Ref& array) {
    const auto fold = std::find(folds.begin(), folds.end(), array);
    return fold == folds.end() ? std::optional<std::size_t>()
                               : begins[static_cast<std::size_t>(fold - folds.begin())];
  };
  builder.domain(array(number_stored(made)));
  for (std::size_t i = 0; i < folds.size(); ++i)
    if (made.outputs[i] >= 0) builder.write(made.outputs[i], begins[i]);
  add_epilogues(builder, kernel, made, results, kernel.index, kernel::KernelOutput::Write::position);
  measure_rows(builder, reduce.row, argument, last_axis(argument));
  finish_reduce(builder, step, std::move(reduce), folds);
}

/// One of the arrays that the kernel stores.
int GroupBuilder::number_stored(const Made& made) {
  for (const int number : made.outputs)
    if (number >= 0) return number;
  return made.of_epilogues[0];
}

/// What is made of the results where they are stored. `result_at`: the first component of what an array of the kernel has at
/// its own position, if the array is one of the kernel's results.
void GroupBuilder::add_epilogues(KernelBuilder& builder, Kernel& kernel, const Made& made,
                                 const std::function<std::optional<std::size_t>(const Ref&)>& result_at,
                                 const std::vector<Ref>& position, kernel::KernelOutput::Write write) {
  if (made.epilogues.empty()) return;
  kernel::Epilogue& epilogue = kernel.epilogue;
  for (const Ref& component : kernel.body)
    epilogue.results.push_back(parameter(component->type(), component->place()));
  if (std::any_of(made.outputs.begin(), made.outputs.end(), [](int number) { return number >= 0; }))
    epilogue.body = epilogue.results;
  std::unordered_map<const Node*, Ref> known;  // elements of the epilogues so far
  Rewriter of_results(
      [&](const Ref&, const Ref& rebuilt) -> Ref {
        if (!is_read(rebuilt->op())) return rebuilt;
        const Ref& array = Read(rebuilt).array();
        if (const auto element = known.find(array.get()); element != known.end()) return element->second;
        const std::optional<std::size_t> first = result_at(array);
        if (!first) return rebuilt;
        const auto begin = epilogue.results.begin() + static_cast<std::ptrdiff_t>(*first);
        return tuple({begin, begin + array->type().components()});
      },
      [](const Node& node) { return !node.type().is_array(); });
  for (std::size_t i = 0; i < made.epilogues.size(); ++i) {
    const Ref& array = made.epilogues[i];
    kernel.name += ", " + title(*array);
    const Ref element = of_results(context_.expand.inline_reads(context_.expand.definition(array, position)));
    known[array.get()] = element;
    builder.write(made.of_epilogues[i], epilogue.body.size(), write);
    for (const Ref& component : components(element)) epilogue.body.push_back(component);
  }
}

void GroupBuilder::finish_reduce(KernelBuilder& builder, KernelStep& step, kernel::Reduce reduce,
                                 std::span<const Ref> folds) {
  Kernel& kernel = step.kernel;
  std::vector<std::vector<Ref>*> bodies{&kernel.body};
  for (kernel::Reduction& r : reduce.reductions) bodies.push_back(&r.combine);
  for (kernel::Reduction& r : reduce.reductions) bodies.push_back(&r.seed);
  bodies.push_back(&kernel.epilogue.body);
  builder.bind(bodies);
  const auto seedless =
      std::find_if(folds.begin(), folds.end(), [](const Ref& fold) { return !Fold(fold).has_seed(); });
  if (seedless != folds.end())
    kernel.checks.push_back({Check::Kind::empty_fold, nullptr, (*seedless)->label(), (*seedless)->place()});
  kernel.form = std::move(reduce);
  builder.finish();
  group_.steps.emplace_back(std::move(step));
}

/// One kernel for those results of a scan that are stored.
void GroupBuilder::add_scan(const Made& made) {
  const std::span<const Ref> results = made.results;
  const Scan scan(maker_of(*results[0]));
  KernelStep step;
  KernelBuilder builder(*this, step);
  Kernel& kernel = step.kernel;
  kernel::Scan form;
  form.kind = scan.kind();
  if (scan.axis() != last_axis(scan.array())) form.axis = scan.axis();
  begin_rows(kernel, form.row, scan.array(), *results[0]);
  add_element(kernel, form.row, scan.array(), scan.axis());
  form.reduction = reduction_of(scan, kernel.place, context_.expand);
  if (form.kind.from_right) std::swap(form.reduction.left, form.reduction.right);

  builder.domain(
      rows_of(scan.array(), scan.axis(), context_.staged.facts_of(results[0]).form == Form::avoided));
  const auto is_prefixes = [](const Ref& array) {
    return array->op() == Op::project_array && ProjectArray(array).which() == 0;
  };
  for (std::size_t i = 0; i < results.size(); ++i)
    if (made.outputs[i] >= 0)
      builder.write(made.outputs[i], 0,
                    is_prefixes(results[i]) ? kernel::KernelOutput::Write::element
                                            : kernel::KernelOutput::Write::position);
  add_epilogues(
      builder, kernel, made,
      [&](const Ref& array) {
        const bool own = is_prefixes(array) && &maker_of(*array) == &maker_of(*results[0]);
        return own ? std::optional<std::size_t>(0) : std::nullopt;
      },
      position_in(kernel, form.row, scan.axis()), kernel::KernelOutput::Write::element);
  measure_rows(builder, form.row, scan.array(), scan.axis());
  builder.bind({&kernel.body, &form.reduction.combine, &form.reduction.seed, &kernel.epilogue.body});
  kernel.form = std::move(form);
  builder.finish();
  group_.steps.emplace_back(std::move(step));
}

/// The states along the rows of an array. Its elements are computed where the next state is.
void GroupBuilder::add_recurrence(const Made& made) {
  const Ref& node = made.results[0];
  const ScanState scan(node);
  KernelStep step;
  KernelBuilder builder(*this, step);
  Kernel& kernel = step.kernel;
  kernel::Recurrence form;
  begin_rows(kernel, form.row, scan.array(), *node);
  for (const ScalarType s : scan.seed()->type().scalars)
    form.state.push_back(parameter(Type::element(s), kernel.place));
  const std::vector<Ref> ix = position_in(kernel, form.row, last_axis(scan.array()));
  const std::vector<Ref> operands{tuple(form.state), context_.expand.element(scan.array(), ix)};
  kernel.body = components(context_.expand.inline_reads(ir::apply(scan.function(), operands)[0]));
  form.initial = components(context_.expand.inline_reads(scan.seed()));

  builder.domain(
      rows_of(scan.array(), last_axis(scan.array()), context_.staged.facts_of(node).form == Form::avoided));
  constexpr auto write = kernel::KernelOutput::Write::element;
  if (made.outputs[0] >= 0) builder.write(made.outputs[0], 0, write);
  add_epilogues(
      builder, kernel, made,
      [&](const Ref& array) { return array == node ? std::optional<std::size_t>(0) : std::nullopt; }, ix,
      write);
  measure_rows(builder, form.row, scan.array(), last_axis(scan.array()));
  builder.bind({&kernel.body, &form.initial, &kernel.epilogue.body});
  kernel.form = std::move(form);
  builder.finish();
  group_.steps.emplace_back(std::move(step));
}

/// Where an array of one element for each row would have its elements. `once`: all items share them. An array
/// may be the same for all items and what is computed of its rows not: a seed may depend on the item.
PlanLayout GroupBuilder::rows_of(const Ref& array, int axis, bool once) {
  std::vector<Ref> extents = context_.staged.facts_of(array).extents;
  extents.erase(extents.begin() + axis);
  PlanLayout layout;
  for (const Ref& e : extents) layout.extents.push_back(extent_of(e));
  if (once) return layout;
  const bool uniform = std::all_of(layout.extents.begin(), layout.extents.end(),
                                   [](const PlanExtent& e) { return e.same_for_all(); });
  layout.form = uniform ? Form::regular : Form::segmented;
  if (!uniform) layout.descriptor = descriptor_of(extents, *array);
  return layout;
}

}  // namespace anabranch::plan
