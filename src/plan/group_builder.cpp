#include "plan/group_builder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "ir/views.h"

namespace anabranch::plan {

using namespace ir;

void GroupBuilder::provide(std::span<const Ref> roots) {
  for (const Node* node : topological(roots, within_stage)) {
    if (!node->type().is_array()) {
      if (!depends_on_item(*node)) compare(*node);  // whoever reads it says what is wrong with it
      continue;
    }
    const Ref array(node);
    if (is_global(array) || is_number(array)) continue;
    const bool foreign =
        !stage_ && context_.staged.facts_of(array).form != Form::avoided;  // an item of some stage
    if (foreign) continue;
    require_extents(array);
    if (node->op() == Op::reshape) require_reshape(array);
    if (context_.staged.is_manifest(node) && !in_work_.contains(node)) array_of(array);
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

bool GroupBuilder::is_number(const Ref& array) const {
  const int item = item_number(array.get());
  return item >= 0 &&
         std::any_of(stage_->sources.begin(), stage_->sources.end(), [&](const StageSource& source) {
           return source.node->op() == Op::produce && source.first == item;
         });
}

bool GroupBuilder::depends_on_item(const Node& node) const { return stage_ && mentions(node, stage_->items); }

bool may_overlap(const Stage& stage, const Ref& item) {
  constexpr std::int64_t short_window = 64;
  if (std::find(stage.results.begin(), stage.results.end(), item) != stage.results.end()) return false;
  const auto number = std::find(stage.items.begin(), stage.items.end(), item) - stage.items.begin();
  return std::any_of(stage.sources.begin(), stage.sources.end(), [&](const StageSource& source) {
    if (source.node->op() != Op::windows_seq || source.first != number) return false;
    const auto shape = WindowsSeq(source.node).shape();
    const Node& size = *shape[0];
    return shape.size() == 1 && size.op() == Op::constant &&
           static_cast<std::int64_t>(size.payload().bits) >= short_window;
  });
}

const std::vector<Ref>& GroupBuilder::item_extents(int item) const {
  return context_.staged.facts_of(stage_->items[static_cast<std::size_t>(item)]).extents;
}

const ArrayInfo* GroupBuilder::source_info(int item) const {
  for (const StageSource& source : stage_->sources)
    if (item >= source.first && item < source.first + source.count && source.node->op() == Op::stream_in)
      return &source.node->payload().source->info().arrays[static_cast<std::size_t>(item - source.first)];
  return nullptr;
}

bool inner_extents_are_positive(std::span<const Ref> extents) {
  return std::all_of(extents.begin() + 1, extents.end(), [](const Ref& e) {
    return e->op() == Op::constant && static_cast<std::int64_t>(e->payload().bits) > 0;
  });
}

bool GroupBuilder::ragged_item(int item) const {
  for (const StageSource& source : stage_->sources)
    if (item >= source.first && item < source.first + source.count && !source.feeds.empty()) {
      const std::vector<Ref>& extents = item_extents(item);
      return !extents.empty() && depends_on_item(*extents[0]) && inner_extents_are_positive(extents);
    }
  const ArrayInfo* info = source_info(item);
  return info && info->ragged();
}

OffsetType GroupBuilder::offset_type(int descriptor) const {
  const int item = group_.descriptors[static_cast<std::size_t>(descriptor)].item;
  const ArrayInfo* info = item < 0 ? nullptr : source_info(item);
  return info ? info->offsets : OffsetType::int64;
}

PlanExtent GroupBuilder::extent_of(const Ref& extent) {
  const Ref e = context_.simplify(extent);
  if (e->op() == Op::constant)
    return {PlanExtent::Kind::constant, static_cast<std::int64_t>(e->payload().bits), 0, 0};
  if (const auto leaf = as_extent(*e)) {
    if (const int item = item_number(leaf->array.get()); item >= 0)
      return {PlanExtent::Kind::item_extent, 0, item, leaf->dimension};
    if (stage_ && is_nested(*stage_, *leaf->array)) {
      array_of(leaf->array);
      return {PlanExtent::Kind::per_item, 0, nested_extents_.at({leaf->array.get(), leaf->dimension}), 0};
    }
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
    for (const Ref& e : extents) descriptor.extents.push_back(extent_of(e));
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
  provide({&e, 1});
  sizes_[e.get()] = static_cast<int>(group_.arrays.size());
  return add_size(e, 0);
}

/// The same of a chunk's first item only.
int GroupBuilder::first_of_chunk(const Ref& e) {
  if (const auto it = firsts_.find(e.get()); it != firsts_.end()) return it->second;
  if (firsts_.empty()) {
    first_domain_ = static_cast<int>(group_.domains.size());
    group_.domains.push_back({.parent = 0, .bounds = {}, .first_only = true});
  }
  firsts_[e.get()] = static_cast<int>(group_.arrays.size());
  return add_size(e, first_domain_);
}

int GroupBuilder::add_size(const Ref& e, int domain) {
  const int number = static_cast<int>(group_.arrays.size());
  kept_.push_back(e);
  PlanArray array;
  array.node = unit(int64(0), e->place(), "extent");
  array.type = {0, {ScalarType::int64}};
  array.form = Form::regular;
  array.domain = domain;
  array.why = "a shape that depends on the item";
  group_.arrays.push_back(std::move(array));
  add_map(number, e, {}, "extent", e->place());
  return number;
}

void GroupBuilder::shape_of(PlanArray& array, const Facts& facts, const Node& node) {
  array.type = node.type().array_type();
  array.form = facts.form;
  for (const Ref& e : facts.extents) array.extents.push_back(extent_of(e));
  if (facts.form == Form::segmented) array.descriptor = descriptor_of(facts.extents, node);
}

int GroupBuilder::make_array(const Ref& node) {
  if (const auto set = context_.together.find(node.get()); set != context_.together.end()) {
    make_together(set->second);
    return arrays_.at(node.get());
  }
  if (node->op() == Op::project_array && !is_given(*node)) {
    make_results(context_.results_of.at(&maker_of(*node)));
    return arrays_.at(node.get());
  }
  if (make_nested(node)) return arrays_.at(node.get());
  if (is_view(context_.staged, *node)) return make_view(node);
  if (const auto of = components_of(context_.staged, *node)) {
    PlanArray array;
    array.origin = PlanArray::Origin::components;
    array.index = array_of(of->array);
    array.components = of->components;
    return enter_array(node, std::move(array));
  }
  PlanArray array;
  const bool computed = !is_given(*node);
  if (node->op() == Op::parameter) {
    const auto& arguments = context_.staged.parameters;
    const auto it = std::find(arguments.begin(), arguments.end(), node);
    array.origin = it != arguments.end() ? PlanArray::Origin::argument : PlanArray::Origin::item;
    array.index = it != arguments.end() ? static_cast<int>(it - arguments.begin()) : item_number(node.get());
    array.overlap = it == arguments.end() && may_overlap(*stage_, node);
  } else if (node->op() == Op::use) {
    array.origin = PlanArray::Origin::use;
  } else if (node->op() == Op::consume) {
    array.origin = PlanArray::Origin::stream;
    const auto [stage, sink] = context_.stream_results.at(node.get());
    array.index = stage;
    array.part = sink;
  } else if (const Node& maker = maker_of(*node); has_bodies(maker.op())) {
    array.origin = PlanArray::Origin::control;
    array.index = context_.controls.at(&maker);
    array.part = ProjectArray(node).which();
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
  array.why = array.overlap ? "read where it lies in the signal" : why_stored(context_.staged, *node);
  const int number = static_cast<int>(group_.arrays.size());
  group_.arrays.push_back(array);
  arrays_[node.get()] = number;
  shape_of(array, context_.staged.facts_of(node), *node);
  group_.arrays[static_cast<std::size_t>(number)] = std::move(array);
  return number;
}

/// Arrays of one kernel: all that any of them reads comes before it.
void GroupBuilder::make_together(const std::vector<Ref>& arrays) {
  for (const Ref& array : arrays) in_work_.insert(array.get());
  for (const Ref& array : arrays) {
    provide(array->children());
    require_extents(array);
    if (array->op() == Op::reshape) require_reshape(array);
  }
  std::vector<int> numbers;
  for (const Ref& array : arrays)
    numbers.push_back(context_.staged.is_manifest(array.get()) ? enter_array(array, {}) : -1);
  if (maker_of(*arrays[0]).op().is_a<ArrayOp>() && info(maker_of(*arrays[0]).op()).storage == Storage::stored)
    add_rows(numbers, arrays);
  else
    add_maps(numbers, arrays);
}

/// A kernel with rows. Behind what it gives itself stand its epilogues. Where it does not store an array the number is -1.
void GroupBuilder::add_rows(std::span<const int> outputs, std::span<const Ref> arrays) {
  const Op first = maker_of(*arrays[0]).op();
  const std::size_t own = own_of_kernel(arrays);
  const Made made{outputs.first(own), arrays.first(own), outputs.subspan(own), arrays.subspan(own)};
  if (first == Op::fold)
    add_reduce(made);
  else if (first == Op::scan)
    add_scan(made);
  else
    add_recurrence(made);
}

/// The stored results of an operation that gives several arrays.
void GroupBuilder::make_results(const std::vector<Ref>& results) {
  std::vector<int> numbers;
  for (const Ref& result : results) numbers.push_back(enter_array(result, {}));
  if (maker_of(*results[0]).op() == Op::scan)
    add_scan({numbers, results, {}, {}});
  else
    add_rearrange(numbers, results);
}

/// What the program of a sequence inside of the stage gives, all of it; false where the array is nothing of that kind.
bool GroupBuilder::make_nested(const Ref& wanted) {
  if (!stage_) return false;
  for (std::size_t n = 0; n < stage_->nested.size(); ++n) {
    const Nested& nested = stage_->nested[n];
    const auto gives = [&](const Nested::Result& result) { return result.array == wanted; };
    if (std::none_of(nested.results.begin(), nested.results.end(), gives)) continue;
    provide(nested.body.captured);
    NestedStep step;
    step.number = static_cast<int>(n);
    for (const Ref& input : nested.body.captured) step.inputs.push_back(whole_input(input, true));
    step.outputs.assign(nested.body.program.results.size(), -1);
    std::vector<std::pair<int, const Nested::Result*>> made;
    for (const Nested::Result& result : nested.results) {
      PlanArray array;
      array.node = result.array;
      array.type = result.array->type().array_type();
      array.origin = PlanArray::Origin::nested;
      array.index = step.number;
      const int number = static_cast<int>(group_.arrays.size());
      group_.arrays.push_back(array);
      arrays_[result.array.get()] = number;
      step.outputs[static_cast<std::size_t>(result.elements)] = number;
      made.emplace_back(number, &result);
      for (std::size_t d = 0; d < result.extents.size(); ++d) {
        if (result.extents[d] < 0) continue;
        PlanArray sizes;
        sizes.node = unit(int64(0), result.array->place(), "extent");
        sizes.type = {0, {ScalarType::int64}};
        sizes.form = Form::regular;
        sizes.origin = PlanArray::Origin::nested;
        sizes.index = step.number;
        sizes.why = "a shape that depends on the item";
        const int at = static_cast<int>(group_.arrays.size());
        group_.arrays.push_back(std::move(sizes));
        nested_extents_[{result.array.get(), static_cast<int>(d)}] = at;
        step.outputs[static_cast<std::size_t>(result.extents[d])] = at;
      }
    }
    group_.steps.emplace_back(std::move(step));
    for (const auto& [number, result] : made) {
      PlanArray array = group_.arrays[static_cast<std::size_t>(number)];
      array.why = why_stored(context_.staged, *result->array);
      shape_of(array, context_.staged.facts_of(result->array), *result->array);
      group_.arrays[static_cast<std::size_t>(number)] = std::move(array);
    }
    return true;
  }
  return false;
}

/// An array of which a step takes all elements, those of all items one after the other; `once`: an avoided one as it is.
RearrangeStep::Input GroupBuilder::whole_input(const Ref& array, bool once) {
  if (is_global(array) && once) return {true, global_->array_of(array)};
  const bool elsewhere = is_global(array) || is_view(context_.staged, *array);
  if (elsewhere || (is_item(array) && may_overlap(*stage_, array))) return {false, copy_of(array)};
  return {false, array_of(array)};
}

int GroupBuilder::make_view(const Ref& part) {
  PlanArray array;
  array.origin = PlanArray::Origin::view;
  array.index = global_->array_of(PartOf(part).array());
  array.consecutive = part->payload().consecutive;
  const Ref begin = context_.simplify(PartOf(part).begin());
  array.part = array.consecutive ? first_of_chunk(begin) : size_array(begin);
  return enter_array(part, std::move(array));
}

/// The arrays that the operation of these results reads are stored.
void GroupBuilder::add_rearrange(std::span<const int> outputs, std::span<const Ref> results) {
  RearrangeStep step;
  step.node = Ref(&maker_of(*results[0]));
  const bool once = context_.staged.facts_of(results[0]).form == Form::avoided;
  each_operand(*step.node, [&](const Operand& how, const Ref& operand) {
    if (how.role != Role::array) return;
    step.inputs.push_back(whole_input(operand, once));
  });
  if (step.node->type().is_several())
    step.outputs.assign(step.node->type().arrays.size(), -1);
  else
    step.outputs.assign(1, -1);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::size_t which = results[i]->op() == Op::project_array
                                  ? static_cast<std::size_t>(ProjectArray(results[i]).which())
                                  : 0;
    step.outputs[which] = outputs[i];
  }
  group_.steps.emplace_back(std::move(step));
}

int GroupBuilder::result_of(const Ref& node, int result) {
  const bool own = context_.staged.facts_of(node).form != Form::avoided && !is_given(*node) &&
                   !is_view(context_.staged, *node);
  int number = own ? array_of(node) : -1;
  if (!own || array(number).result >= 0) number = copy_of(node);
  PlanArray& array = group_.arrays[static_cast<std::size_t>(number)];
  array.result = result;
  if (is_item(node) && !is_number(node) && !may_overlap(*stage_, node))
    array.copy_of_item = item_number(node.get());
  return number;
}

void GroupBuilder::check(std::span<const ExtentCheck> checks) {
  for (const ExtentCheck& c : checks) {
    const Ref e = context_.simplify(c.extent);
    kept_.push_back(e);
    unchecked_[c.array.get()].push_back({e.get(), c.items.get()});
    of_extent_.try_emplace(e.get(), c.array.get());
  }
}

/// Before an array is computed: its extents that do not depend on the item, those from which others are computed, and all that
/// its reads are in range by.
void GroupBuilder::require_extents(const Ref& array) {
  if (!required_.insert(array.get()).second) return;
  compare_items(*array);
  for (const Ref& e : context_.staged.facts_of(array).extents)
    if (depends_on_item(*e))
      require_within(context_.simplify(e));
    else
      require_now(e);
  if (const auto found = context_.staged.relies_on.find(array.get());
      found != context_.staged.relies_on.end())
    for (const Ref& e : found->second) require_now(e);
}

/// An extent, and those from which it is computed, unless they have been compared.
void GroupBuilder::require_now(const Ref& extent) {
  const Ref e = context_.simplify(extent);
  require_within(e);
  compare(*e);
}

void GroupBuilder::require_within(const Ref& extent) {
  for (const Node* node : topological({&extent, 1}, [](const Node& n) { return !n.type().is_array(); }))
    if (node != extent.get()) compare(*node);
}

void GroupBuilder::compare(const Node& e) {
  if (global_) global_->compare(e);
  const auto found = of_extent_.find(&e);
  if (found == of_extent_.end()) return;
  const Node& array = *found->second;
  std::vector<Unchecked>& all = unchecked_[&array];
  const auto at = std::find_if(all.begin(), all.end(), [&](const Unchecked& u) { return u.extent == &e; });
  if (at == all.end()) return;
  const Unchecked here = *at;
  all.erase(at);
  compare_items(array);
  compare(here, array);
}

void GroupBuilder::compare(const Unchecked& unchecked, const Node& array) {
  if (counts_compared_.contains(unchecked.extent)) return;
  if (unchecked.items) {
    counts_compared_.insert(unchecked.extent);
    require(RequireStep::Kind::items, *unchecked.items, Ref(unchecked.extent));
  } else if (!is_counted(*unchecked.extent, array)) {
    require(RequireStep::Kind::extent, array, Ref(unchecked.extent));
  }
}

/// The numbers of items that an array is made of.
void GroupBuilder::compare_items(const Node& array) {
  const auto found = unchecked_.find(&array);
  if (found == unchecked_.end()) return;
  std::vector<Unchecked> now;
  std::erase_if(found->second, [&](const Unchecked& u) {
    if (!u.items) return false;
    now.push_back(u);
    return true;
  });
  for (const Unchecked& u : now) {
    require_within(Ref(u.extent));
    compare(u, array);
  }
}

/// Does it belong to what a program inside of the stage gives, one that is planned? That compares it where it differs.
bool GroupBuilder::is_counted(const Node& e, const Node& array) const {
  return stage_ && depends_on_item(e) && is_nested(*stage_, array) && arrays_.contains(&array);
}

void GroupBuilder::require_rest(std::span<const ExtentCheck> checks) {
  for (const ExtentCheck& c : checks)
    for (const Unchecked& u : std::exchange(unchecked_[c.array.get()], {}))
      if (u.items || !makes_offsets_of(*u.extent)) compare(u, *c.array);
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

void GroupBuilder::require_size(const Ref& reshape) {
  require_extents(reshape);
  require_reshape(reshape);
}

namespace {

/// What exceeds all sizes is that much.
constexpr std::int64_t too_many = std::int64_t{1} << 62;

/// The product of extents, which are between 0 and a few times most_extent; `beyond`, which is at least too_many, where
/// it exceeds too_many and none of them is 0.
Ref size_of_shape(const std::vector<Ref>& extents, std::int64_t beyond) {
  if (extents.empty()) return int64(1);
  Ref size = extents[0];
  for (std::size_t d = 1; d < extents.size(); ++d) {
    const Ref at_least_one = primitive(Primitive::maximum, {extents[d], int64(1)});
    const Ref most = primitive(Primitive::divide, {int64(too_many), at_least_one});
    const Ref is_none = primitive(Primitive::less, {extents[d], int64(1)});
    size = cond(primitive(Primitive::less, {most, size}), cond(is_none, int64(0), int64(beyond)),
                primitive(Primitive::multiply, {size, extents[d]}));
  }
  return size;
}

/// Are these all extents of an array that is given?
bool are_of_given(const std::vector<Ref>& extents) {
  Ref array;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const auto extent = as_extent(*extents[d]);
    if (!extent || extent->dimension != static_cast<int>(d) || (array && extent->array != array))
      return false;
    array = extent->array;
  }
  return array && array->type().rank == static_cast<int>(extents.size());
}

}  // namespace

void GroupBuilder::require_reshape(const Ref& node) {
  if (!reshaped_.insert(node.get()).second) return;
  const auto& to = context_.staged.facts_of(node).extents;
  const auto& from = context_.staged.facts_of(Reshape(node).array()).extents;
  const auto less = [&](const Ref& x, const Ref& y) {
    return context_.simplify(primitive(Primitive::subtract, {x, y}, node->place()));
  };
  Ref difference = less(product(to), product(from));
  const bool same = difference->op() == Op::constant && difference->payload().bits == 0;
  // Products that may wrap around are the same where the numbers are not.
  const auto is_exact = [](const std::vector<Ref>& extents) {
    return extents.size() <= 1 || are_of_given(extents);
  };
  const bool exact = is_exact(from) && is_exact(to);
  if (same && (exact || to == from)) return;
  if (!exact) {
    const auto size = [&](const std::vector<Ref>& extents, std::int64_t beyond) {
      return is_exact(extents) ? product(extents) : size_of_shape(extents, beyond);
    };
    difference = less(size(to, too_many + 1), size(from, too_many + 3));
  }
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
