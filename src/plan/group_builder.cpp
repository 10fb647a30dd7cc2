#include "plan/group_builder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ir/operator_class.h"
#include "ir/views.h"
#include "plan/kernel_builder.h"

namespace anabranch::plan {

using namespace ir;

namespace {

std::string title(const Node& array) {
  return array.place().known() ? fmt::format("{}@{}", array.label(), to_string(array.place()))
                               : array.label();
}

std::vector<Ref> components(const Ref& element) {
  std::vector<Ref> parts;
  for (int c = 0; c < element->type().components(); ++c) parts.push_back(component(element, c));
  return parts;
}

std::vector<Ref> index_parameters(std::size_t rank, const Place& place) {
  std::vector<Ref> parameters;
  for (std::size_t d = 0; d < rank; ++d)
    parameters.push_back(parameter(Type::element(ScalarType::int64), place));
  return parameters;
}

Ref product(const std::vector<Ref>& extents) {
  Ref size = int64(1);
  for (const Ref& e : extents) size = primitive(Primitive::multiply, {size, e});
  return size;
}

}  // namespace

bool leaf_extent(const Ref& e, Ref& array, int& dimension) {
  if (e->op() == Op::shape) {
    array = ShapeOf(e).array();
    dimension = 0;
    return array->type().rank == 1;
  }
  if (e->op() != Op::project) return false;
  const Project part(e);
  if (part.value()->op() != Op::shape || part.count() != 1) return false;
  array = ShapeOf(part.value()).array();
  dimension = part.first();
  return true;
}

void GroupBuilder::provide(std::span<const Ref> roots) {
  for (const Node* node : topological(roots, within_stage)) {
    if (!node->type().is_array()) continue;
    const Ref array(node);
    if (is_global(array)) continue;
    const bool foreign =
        !stage_ && context_.staged.facts_of(array).form != Form::avoided;  // an item of some stage
    if (foreign) continue;
    require_extents(array);
    if (node->op() == Op::reshape) require_reshape(array);
    if (context_.staged.is_manifest(node)) array_of(array);
  }
}

int GroupBuilder::array_of(const Ref& node) {
  if (const auto it = arrays_.find(node.get()); it != arrays_.end()) return it->second;
  return make_array(node);
}

int GroupBuilder::uniform_of(const Ref& e) {
  const Ref key = context_.simplify(e);
  if (const auto it = uniforms_.find(key.get()); it != uniforms_.end()) return it->second;
  const int number = static_cast<int>(group_.uniforms.size());
  group_.uniforms.push_back(key);
  uniforms_[key.get()] = number;
  // What the host will read to evaluate it must exist by then.
  (global_ ? *global_ : *this).provide({&key, 1});
  return number;
}

int GroupBuilder::item_number(const Node* p) const {
  if (!stage_) return -1;
  for (std::size_t i = 0; i < stage_->items.size(); ++i)
    if (stage_->items[i].get() == p) return static_cast<int>(i);
  return -1;
}

bool GroupBuilder::depends_on_item(const Node& node) const {
  return std::any_of(node.free().begin(), node.free().end(),
                     [&](const Node* p) { return item_number(p) >= 0; });
}

int GroupBuilder::item_leaf(const Ref& e) const {
  Ref array;
  int dimension = 0;
  return leaf_extent(e, array, dimension) ? item_number(array.get()) : -1;
}

const std::vector<Ref>& GroupBuilder::item_extents(int item) const {
  return context_.staged.facts_of(stage_->items[static_cast<std::size_t>(item)]).extents;
}

const ArrayInfo* GroupBuilder::source_info(int item) const {
  for (const StageSource& base : stage_->sources)
    if (item >= base.first && item < base.first + base.count && base.node->op() == Op::stream_in)
      return &base.node->payload().source->info().arrays[static_cast<std::size_t>(item - base.first)];
  return nullptr;
}

bool GroupBuilder::ragged_item(int item) const {
  const ArrayInfo* info = source_info(item);
  return info && info->ragged();
}

OffsetType GroupBuilder::offset_type(int descriptor) const {
  const int item = group_.descriptors[static_cast<std::size_t>(descriptor)].item;
  const ArrayInfo* info = item < 0 ? nullptr : source_info(item);
  return info ? info->offsets : OffsetType::int64;
}

PlanExtent GroupBuilder::dim_of(const Ref& extent) {
  const Ref e = context_.simplify(extent);
  if (e->op() == Op::constant)
    return {PlanExtent::Kind::constant, static_cast<std::int64_t>(e->payload().bits), 0, 0};
  if (const int item = item_leaf(e); item >= 0) {
    Ref array;
    int dimension = 0;
    leaf_extent(e, array, dimension);
    return {PlanExtent::Kind::item_extent, 0, item, dimension};
  }
  if (!depends_on_item(*e)) return {PlanExtent::Kind::uniform, 0, uniform_of(e), 0};
  return {PlanExtent::Kind::per_item, 0, size_array(e), 0};
}

int GroupBuilder::item_with(const std::vector<const Node*>& key) {
  if (!stage_) return -1;
  for (std::size_t i = 0; i < stage_->items.size(); ++i) {
    const Facts& facts = context_.staged.facts_of(stage_->items[i]);
    if (facts.form == Form::segmented && size_key(facts.extents) == key) return static_cast<int>(i);
  }
  return -1;
}

// Items whose extents are the same in another order have the same size:
// a transposed array needs no offsets of its own.
std::vector<const Node*> GroupBuilder::size_key(const std::vector<Ref>& extents) {
  std::vector<const Node*> key;
  for (const Ref& e : extents) {
    kept_.push_back(context_.simplify(e));
    key.push_back(kept_.back().get());
  }
  std::sort(key.begin(), key.end(), [](const Node* a, const Node* b) { return a->id() < b->id(); });
  return key;
}

int GroupBuilder::descriptor_of(const std::vector<Ref>& extents, const Node& what) {
  std::vector<const Node*> key = size_key(extents);
  if (const auto it = descriptors_.find(key); it != descriptors_.end()) return it->second;
  for (const Ref& e : extents) require_within(context_.simplify(e));
  Descriptor descriptor;
  descriptor.item = item_with(key);
  if (descriptor.item < 0)
    for (const Ref& e : extents) descriptor.extents.push_back(dim_of(e));
  const Node* array = &what;
  for (const Node* e : key)  // in the name of the array that computes the extent
    if (const auto found = of_extent_.find(e); found != of_extent_.end()) array = found->second;
  descriptor.what = array->label();
  descriptor.place = array->place();
  const int number = static_cast<int>(group_.descriptors.size());
  if (descriptor.item < 0) group_.steps.emplace_back(OffsetsStep{number});
  group_.descriptors.push_back(std::move(descriptor));
  descriptors_[std::move(key)] = number;
  return number;
}

// A rank-0 int64 per item: the extent e, computed by a small kernel before anything that has this extent.
int GroupBuilder::size_array(const Ref& e) {
  if (const auto it = sizes_.find(e.get()); it != sizes_.end()) return it->second;
  const int number = static_cast<int>(group_.arrays.size());
  kept_.push_back(e);
  sizes_[e.get()] = number;
  PlanArray array;
  array.node = unit(int64(0), e->place(), "extent");
  array.type = {0, {ScalarType::int64}};
  array.form = Form::regular;
  array.why = "a shape that depends on the item";
  group_.arrays.push_back(std::move(array));
  add_map(number, e, {}, "extent", e->place());
  return number;
}

void GroupBuilder::shape_of(PlanArray& array, const Facts& facts, const Node& node) {
  array.type = node.type().array_type();
  array.form = facts.form;
  for (const Ref& e : facts.extents) array.extents.push_back(dim_of(e));
  if (facts.form == Form::segmented) array.descriptor = descriptor_of(facts.extents, node);
}

int GroupBuilder::make_array(const Ref& node) {
  if (const auto set = context_.together.find(node.get()); set != context_.together.end()) {
    make_together(set->second);
    return arrays_.at(node.get());
  }
  PlanArray array;
  const bool computed = !is_given(*node);
  if (node->op() == Op::parameter) {
    const auto& arguments = context_.staged.parameters;
    const auto it = std::find(arguments.begin(), arguments.end(), node);
    array.origin = it != arguments.end() ? PlanArray::Origin::argument : PlanArray::Origin::item;
    array.index = it != arguments.end() ? static_cast<int>(it - arguments.begin()) : item_number(node.get());
  } else if (node->op() == Op::use) {
    array.origin = PlanArray::Origin::use;
  } else if (node->op() == Op::consume) {
    array.origin = PlanArray::Origin::stream;
    const auto [stage, terminal] = context_.stream_results.at(node.get());
    array.index = stage;
    array.terminal = terminal;
  } else if (has_bodies(node->op())) {
    array.origin = PlanArray::Origin::control;
    array.index = context_.controls.at(node.get());
  } else if (!computed) {
    throw InternalError(fmt::format("plan: where is {} given?", node->label()));
  }
  const int number = enter_array(node, std::move(array));
  if (computed) add_definition(number, node);
  return number;
}

/// The array is entered before its extents are, because extents of given arrays are read off the arrays
/// themselves.
int GroupBuilder::enter_array(const Ref& node, PlanArray array) {
  array.node = node;
  array.why = context_.staged.manifest.at(node.get());
  const int number = static_cast<int>(group_.arrays.size());
  group_.arrays.push_back(array);
  arrays_[node.get()] = number;
  shape_of(array, context_.staged.facts_of(node), *node);
  group_.arrays[static_cast<std::size_t>(number)] = std::move(array);
  return number;
}

/// Reductions of one kernel: all that any of them reads comes before it.
void GroupBuilder::make_together(const std::vector<Ref>& folds) {
  for (const Ref& fold : folds) provide(fold->children());
  std::vector<int> numbers;
  for (const Ref& fold : folds) numbers.push_back(enter_array(fold, {}));
  add_reduce(numbers, folds);
}

int GroupBuilder::result_of(const Ref& node, int result) {
  const bool own = context_.staged.facts_of(node).form != Form::avoided && node->op() != Op::parameter;
  int number = own ? array_of(node) : -1;
  if (!own || array(number).result >= 0) number = copy_of(node);
  group_.arrays[static_cast<std::size_t>(number)].result = result;
  return number;
}

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
  if (node->op() == Op::fold) return add_reduce({&output, 1}, {&node, 1});
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
  builder.write(output, 0);
  builder.bind({&kernel.body});
  builder.finish();
  group_.steps.emplace_back(std::move(step));
}

namespace {

/// The operator of a fold, its parameters fresh, and its seed.
kernel::Reduction reduction_of(const Fold& fold, const Place& place, Expander& expand) {
  kernel::Reduction reduction;
  for (ScalarType s : fold.array()->type().scalars) {
    reduction.left.push_back(parameter(Type::element(s), place));
    reduction.right.push_back(parameter(Type::element(s), place));
  }
  const std::vector<Ref> operands{tuple(reduction.left), tuple(reduction.right)};
  reduction.combine = components(expand.inline_reads(ir::apply(fold.function(), operands)[0]));
  if (fold.has_seed()) reduction.seed = components(expand.inline_reads(fold.seed()));
  return reduction;
}

}  // namespace

/// One kernel for reductions of rows that are equally long at equal positions.
void GroupBuilder::add_reduce(std::span<const int> outputs, std::span<const Ref> folds) {
  const Node& first = *folds[0];
  const Ref& argument = Fold(folds[0]).array();
  const Facts& facts = context_.staged.facts_of(argument);
  KernelStep step;
  KernelBuilder builder(*this, step);
  Kernel& kernel = step.kernel;
  kernel.name = title(first);
  for (const Ref& fold : folds.subspan(1)) kernel.name += ", " + title(*fold);
  kernel.place = first.place();
  kernel.index = index_parameters(facts.extents.size() - 1, first.place());
  kernel::Reduce reduce;
  reduce.order = fold_order_class(*Fold(folds[0]).function());
  reduce.row.index = parameter(Type::element(ScalarType::int64), first.place());
  std::vector<Ref> ix = kernel.index;
  ix.push_back(reduce.row.index);
  std::vector<std::size_t> begins;
  for (const Ref& fold : folds) {
    begins.push_back(kernel.body.size());
    for (Ref& component :
         components(context_.expand.inline_reads(context_.expand.element(Fold(fold).array(), ix))))
      kernel.body.push_back(std::move(component));
    reduce.reductions.push_back(reduction_of(Fold(fold), fold->place(), context_.expand));
  }

  for (std::size_t i = 0; i < outputs.size(); ++i) builder.write(outputs[i], begins[i]);
  reduce.row.length = builder.extent_of(facts.extents.back());
  if (facts.form == Form::segmented) {
    const int descriptor = descriptor_of(facts.extents, *argument);
    reduce.row.work_offsets = builder.offsets_slot(descriptor);
    reduce.row.work_offset_type = offset_type(descriptor);
  }
  std::vector<std::vector<Ref>*> bodies{&kernel.body};
  for (kernel::Reduction& r : reduce.reductions) bodies.push_back(&r.combine);
  for (kernel::Reduction& r : reduce.reductions) bodies.push_back(&r.seed);
  builder.bind(bodies);
  const auto seedless =
      std::find_if(folds.begin(), folds.end(), [](const Ref& fold) { return fold->children().size() < 3; });
  if (seedless != folds.end())
    kernel.checks.push_back({Check::Kind::empty_fold, nullptr, (*seedless)->label(), (*seedless)->place()});
  kernel.form = std::move(reduce);
  builder.finish();
  group_.steps.emplace_back(std::move(step));
}

void GroupBuilder::check(std::span<const ExtentCheck> checks) {
  for (const ExtentCheck& c : checks) {
    const Ref e = context_.simplify(c.extent);
    kept_.push_back(e);
    unchecked_[c.array.get()].push_back(e.get());
    of_extent_.try_emplace(e.get(), c.array.get());
  }
}

/// Extents that do not depend on the item: before anything is computed from them.
void GroupBuilder::require_extents(const Ref& array) {
  const auto found = unchecked_.find(array.get());
  if (found == unchecked_.end()) return;
  std::erase_if(found->second, [&](const Node* e) {
    if (depends_on_item(*e)) return false;
    require(RequireStep::Kind::extent, *array, Ref(e));
    return true;
  });
}

/// Extents from which this one is computed (the smallest of several, say) before it.
void GroupBuilder::require_within(const Ref& extent) {
  for (const Node* node : topological({&extent, 1}, [](const Node& n) { return !n.type().is_array(); })) {
    const auto found = of_extent_.find(node);
    if (node == extent.get() || found == of_extent_.end()) continue;
    if (std::erase(unchecked_[found->second], node) > 0)
      require(RequireStep::Kind::extent, *found->second, Ref(node));
  }
}

void GroupBuilder::require_rest(std::span<const ExtentCheck> checks) {
  for (const ExtentCheck& c : checks)
    for (const Node* e : std::exchange(unchecked_[c.array.get()], {}))
      if (!makes_offsets_of(*e)) require(RequireStep::Kind::extent, *c.array, Ref(e));
}

/// Do offsets depend on it? The step that makes them refuses negative extents.
bool GroupBuilder::makes_offsets_of(const Node& extent) const {
  const auto size = sizes_.find(&extent);
  if (size == sizes_.end()) return false;
  return std::any_of(group_.descriptors.begin(), group_.descriptors.end(), [&](const Descriptor& d) {
    return std::any_of(d.extents.begin(), d.extents.end(), [&](const PlanExtent& e) {
      return e.kind == PlanExtent::Kind::per_item && e.index == size->second;
    });
  });
}

void GroupBuilder::require_reshape(const Ref& node) {
  const auto& to = context_.staged.facts_of(node).extents;
  const auto& from = context_.staged.facts_of(Reshape(node).array()).extents;
  const Ref difference =
      context_.simplify(primitive(Primitive::subtract, {product(to), product(from)}, node->place()));
  if (difference->op() == Op::constant && difference->payload().bits == 0) return;
  require(RequireStep::Kind::same_size, *node, difference);
}

void GroupBuilder::require(RequireStep::Kind kind, const Node& array, const Ref& value) {
  RequireStep step;
  step.kind = kind;
  step.what = array.label();
  step.place = array.place();
  if (depends_on_item(*value)) {
    step.array = size_array(value);
  } else {
    step.uniform = uniform_of(value);
  }
  group_.steps.emplace_back(std::move(step));
}

}  // namespace anabranch::plan
