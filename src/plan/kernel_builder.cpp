#include "plan/kernel_builder.h"

#include <algorithm>

#include "ir/cost.h"
#include "ir/views.h"
#include "kernel/pointwise.h"

namespace anabranch::plan {

using namespace ir;

kernel::Layout KernelBuilder::layout(const PlanLayout& plan, bool global) {
  kernel::Layout layout;
  layout.form = plan.form;
  for (const PlanExtent& e : plan.extents) layout.extents.push_back(bound(e, global));
  if (plan.form == Form::segmented) {
    layout.offsets = offsets_slot(plan.descriptor);
    layout.offset_type = group_.offset_type(plan.descriptor);
  }
  return layout;
}

/// A vector's extent that is a value for each item: the offsets that were made of these tell it, too, and where all items'
/// elements are that are computed without regard to items.
KernelExtent KernelBuilder::length_in(int descriptor, const KernelExtent& extent) {
  if (extent.kind != KernelExtent::Kind::per_item) return extent;
  KernelExtent e;
  e.kind = KernelExtent::Kind::ragged;
  e.slot = offsets_slot(descriptor);
  e.offsets = group_.offset_type(descriptor);
  return e;
}

KernelArray KernelBuilder::array(int number, bool global) {
  const PlanArray plan = (global ? *group_.global() : group_).array(number);
  KernelArray view;
  view.type = plan.type;
  static_cast<kernel::Layout&>(view) = layout(plan, global);
  // Vectors that are rows of the kernel.
  if (view.form == Form::segmented && view.extents.size() == 1 && kernel_.domain.extents.empty())
    view.extents[0] = length_in(plan.descriptor, view.extents[0]);
  const bool elsewhere = plan.origin == PlanArray::Origin::view;
  if (elsewhere && !plan.consecutive) {
    view.form = Form::segmented;
    view.offsets = buffer({BufferRef::Kind::array, false, plan.part, 0});
    view.offset_type = OffsetType::int64;
  }
  if (plan.overlap) {
    view.form = Form::segmented;
    view.offsets = buffer({BufferRef::Kind::item_extents, false, plan.index, plan.type.rank});
    view.offset_type = OffsetType::int64;
  }
  view.first_buffer = static_cast<int>(step_.buffers.size());
  for (int c = 0; c < static_cast<int>(plan.type.scalars.size()); ++c)
    step_.buffers.push_back({BufferRef::Kind::array, global || elsewhere, elsewhere ? plan.index : number, c,
                             elsewhere && plan.consecutive ? number : -1});
  return view;
}

void KernelBuilder::domain(const PlanLayout& positions) {
  step_.positions = positions;
  static_cast<kernel::Layout&>(kernel_.domain) = layout(step_.positions, false);
}

void KernelBuilder::write(int number, std::size_t first, kernel::KernelOutput::Write how) {
  kernel_.outputs.push_back({array(number, false), first, how});
  if (step_.outputs.empty() || step_.outputs.back() != number) step_.outputs.push_back(number);
}

void KernelBuilder::write_one_of(int number, std::size_t first, std::int64_t which, std::int64_t of) {
  write(number, first);
  kernel_.outputs.back().which = which;
  kernel_.outputs.back().of = of;
}

int KernelBuilder::buffer(const BufferRef& ref) {
  const auto it = std::find(step_.buffers.begin(), step_.buffers.end(), ref);
  if (it != step_.buffers.end()) return static_cast<int>(it - step_.buffers.begin());
  step_.buffers.push_back(ref);
  return static_cast<int>(step_.buffers.size()) - 1;
}

int KernelBuilder::scalar(int uniform) {
  const auto it = std::find(step_.scalars.begin(), step_.scalars.end(), uniform);
  if (it != step_.scalars.end()) return static_cast<int>(it - step_.scalars.begin());
  step_.scalars.push_back(uniform);
  return static_cast<int>(step_.scalars.size()) - 1;
}

KernelExtent KernelBuilder::bound(const PlanExtent& extent, bool global) {
  KernelExtent e;
  switch (extent.kind) {
    case PlanExtent::Kind::constant:
      e.value = extent.value;
      return e;
    case PlanExtent::Kind::uniform:
      e.kind = KernelExtent::Kind::uniform;
      // A global array's extents are the same for every chunk; the chunk's group evaluates them for itself.
      e.slot = scalar(global ? group_.uniform_of(group_.global()->uniform(extent.index)) : extent.index);
      return e;
    case PlanExtent::Kind::per_item:
      e.kind = KernelExtent::Kind::per_item;
      e.slot = buffer({BufferRef::Kind::array, false, extent.index, 0});
      return e;
    case PlanExtent::Kind::item_extent:
      break;
  }
  if (group_.ragged_item(extent.index)) return bound_to_offsets(extent.index);
  e.kind = KernelExtent::Kind::per_item;
  e.slot = buffer({BufferRef::Kind::item_extents, false, extent.index, extent.dimension});
  return e;
}

/// The outermost extent of a ragged item.
KernelExtent KernelBuilder::bound_to_offsets(int item) {
  const std::vector<Ref>& extents = group_.item_extents(item);
  const int descriptor = group_.descriptor_of(extents, *extents[0]);
  KernelExtent e;
  e.kind = KernelExtent::Kind::ragged;
  e.slot = offsets_slot(descriptor);
  e.offsets = group_.offset_type(descriptor);
  const PlanExtent divisor = group_.extent_of(product(std::span(extents).subspan(1)));
  if (!divisor.same_for_all())
    throw InternalError("plan: the inner extents of a ragged array differ from item to item");
  const bool constant = divisor.kind == PlanExtent::Kind::constant;
  e.divisor_kind = constant ? KernelExtent::Kind::constant : KernelExtent::Kind::uniform;
  e.divisor = constant ? divisor.value : scalar(divisor.index);
  return e;
}

void KernelBuilder::bind(const std::vector<std::vector<Ref>*>& bodies) {
  Rewriter rewriter([this](const Ref& original, const Ref& rebuilt) { return rule(original, rebuilt); },
                    [](const Node& node) { return !node.type().is_array() && node.op() != Op::shape; });
  // Of an item's shape, and of what a program inside of the stage gives, only the extents that are mentioned are bound.
  // The images of shapes are set beforehand, as the rewriter does not look into them.
  for (const std::vector<Ref>* body : bodies)
    for (const Node* node :
         topological(*body, [](const Node& n) { return !n.type().is_array() && n.op() != Op::shape; })) {
      if (as_extent(*node))
        rewriter.set(Ref(node), scalar_for(Ref(node)));
      else if (node->op() == Op::shape && !group_.is_of_items(ShapeOf(*node).array()))
        rewriter.set(Ref(node), whole_shape(*node));
    }
  for (std::vector<Ref>* body : bodies)
    for (Ref& component : *body) component = group_.context().simplify(rewriter(component));
  unshare_functions(bodies);
  for (const std::vector<Ref>* body : bodies) find_checks(*body);
}

Ref KernelBuilder::rule(const Ref& original, const Ref& rebuilt) {
  if (!is_read(original->op())) return rebuilt;
  if (group_.is_number(Read(original).array())) return number_of_item();
  const Ref view = array_parameter(Read(original).array());
  // Rank 0 has one position, which is always there.
  const bool in_bounds =
      Read(original).in_bounds() || (original->op() == Op::index && view->type().rank == 0);
  const Symbol label = original->payload().label;
  return original->op() == Op::index
             ? index(view, Read(rebuilt).at(), rebuilt->place(), in_bounds, label)
             : linear_index(view, Read(rebuilt).at(), rebuilt->place(), in_bounds, label);
}

Ref KernelBuilder::whole_shape(const Node& shape) {
  std::vector<Ref> extents;
  for (int d = 0; d < shape.type().components(); ++d)
    extents.push_back(scalar_for(ir::extent(ShapeOf(shape).array(), d)));
  return tuple(extents);
}

Ref KernelBuilder::scalar_for(const Ref& e) {
  const Ref key = group_.context().simplify(e);
  if (const auto it = scalars_.find(key.get()); it != scalars_.end()) return it->second;
  kept_.push_back(key);
  KernelScalar bound;
  bound.parameter = parameter(Type::element(ScalarType::int64), e->place());
  bound.value = extent_of(key);
  kernel_.scalars.push_back(bound);
  scalars_[key.get()] = bound.parameter;
  return bound.parameter;
}

Ref KernelBuilder::number_of_item() {
  if (!number_) {
    number_ = parameter(Type::element(ScalarType::int64), kernel_.place);
    KernelExtent number;
    number.kind = KernelExtent::Kind::number;
    number.slot = scalar(first_item);
    kernel_.scalars.push_back({number_, number});
  }
  return number_;
}

Ref KernelBuilder::array_parameter(const Ref& node) {
  if (const auto it = arrays_.find(node.get()); it != arrays_.end()) return it->second;
  kept_.push_back(node);
  const bool global = group_.is_global(node);
  KernelArray view = array((global ? *group_.global() : group_).array_of(node), global);
  view.parameter = parameter(node->type(), node->place());
  kernel_.arrays.push_back(view);
  arrays_[node.get()] = view.parameter;
  return view.parameter;
}

namespace {
Ref with_own_parameter(const Ref& function, std::unordered_set<const Node*>& bound) {
  if (bound.insert(function->parameters()[0].get()).second) return function;
  const std::vector<Ref> mine{parameter(function->parameters()[0]->type(), function->place())};
  return lambda(mine, ir::apply(function, mine), function->place(), function->payload().label);
}
}  // namespace

// Two loops that share a function after inlining get functions of their own: a parameter has one binder in a
// kernel.
void KernelBuilder::unshare_functions(const std::vector<std::vector<Ref>*>& bodies) {
  std::unordered_set<const Node*> bound;
  Rewriter rewriter([&](const Ref&, const Ref& rebuilt) -> Ref {
    if (rebuilt->op() != Op::while_loop) return rebuilt;
    const WhileLoop loop(rebuilt);
    return while_loop(with_own_parameter(loop.predicate(), bound), with_own_parameter(loop.body(), bound),
                      loop.initial(), rebuilt->place());
  });
  for (std::vector<Ref>* body : bodies)
    for (Ref& component : *body) component = rewriter(component);
}

void KernelBuilder::find_checks(const std::vector<Ref>& body) {
  std::unordered_set<const Node*> known;
  for (const Check& check : kernel_.checks) known.insert(check.node);
  for (const Node* node : topological(body)) {
    if (known.contains(node)) continue;
    if (is_read(node->op()) && !Read(*node).in_bounds())
      kernel_.checks.push_back({Check::Kind::index, node, node->label(), node->place()});
    if (node->op() == Op::primitive && can_fail(*node))
      kernel_.checks.push_back({Check::Kind::division, node,
                                std::string(ir::info(node->payload().primitive).name), node->place()});
  }
}

/// Reads of an array at the position, or the element of a row, that is being computed are in range where the
/// extents are the same: they need no check, and back ends may then read ahead.
void KernelBuilder::drop_needless_checks() {
  const auto own = [&](const Node& read) {
    return kernel::row_of(kernel_) ? kernel::at_own_element(kernel_, read)
                                   : kernel::is_pointwise(kernel_, read);
  };
  bool dropped = false;
  Rewriter rewriter([&](const Ref& original, const Ref& rebuilt) -> Ref {
    if (original->op() != Op::index || Read(original).in_bounds() || !own(*original)) return rebuilt;
    dropped = true;
    return index(Read(rebuilt).array(), Read(rebuilt).at(), rebuilt->place(), true, rebuilt->payload().label);
  });
  std::vector<Ref> body;
  for (const Ref& component : kernel_.body) body.push_back(rewriter(component));
  if (!dropped) return;
  kernel_.body = std::move(body);
  std::erase_if(kernel_.checks, [](const Check& check) { return check.node != nullptr; });
  find_checks(kernel_.body);
  for (const auto* other : kernel::other_bodies(kernel_)) find_checks(*other);
}

void KernelBuilder::finish() {
  drop_needless_checks();
  kernel_.buffer_slots = static_cast<int>(step_.buffers.size());
  kernel_.scalar_slots = static_cast<int>(step_.scalars.size());
  std::vector<Ref> roots(kernel_.body);
  const auto operators = [&](const kernel::Reduce& form) {
    for (const kernel::Reduction& r : form.reductions)
      roots.insert(roots.end(), r.combine.begin(), r.combine.end());
  };
  const auto scan = [&](const kernel::Scan& form) {
    roots.insert(roots.end(), form.reduction.combine.begin(), form.reduction.combine.end());
  };
  std::visit(kernel::overloaded{[](const kernel::Map&) {}, operators, scan, [](const kernel::Recurrence&) {}},
             kernel_.form);
  kernel_.operations = static_cast<int>(additions(evaluation_cost(roots)));
}

}  // namespace anabranch::plan
