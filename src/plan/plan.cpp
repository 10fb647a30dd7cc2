#include "plan/plan.h"

#include <fmt/format.h>

#include "ir/run_error.h"

namespace anabranch::plan {

namespace {
std::int64_t value(const PlanExtent& d, const ChunkShape& shape) {
  return d.kind == PlanExtent::Kind::constant ? d.value : shape.uniforms[static_cast<std::size_t>(d.index)];
}

[[noreturn]] void bad_extent(const PlanArray& array, const ChunkShape& shape, std::int64_t extent) {
  ir::raise(array.node->label(), ir::negative_extent(extent), array.node->place(), shape.first_item);
}

[[noreturn]] void too_large(const PlanArray& array, const ChunkShape& shape) {
  std::vector<std::int64_t> extents;
  if (array.form != ir::Form::segmented)
    for (const PlanExtent& d : array.extents) extents.push_back(value(d, shape));
  ir::raise(array.node->label(), ir::too_many_elements(extents), array.node->place(), shape.first_item);
}

std::string dim_text(const PlanExtent& d) {
  switch (d.kind) {
    case PlanExtent::Kind::constant:
      return fmt::format("{}", d.value);
    case PlanExtent::Kind::uniform:
      return fmt::format("u{}", d.index);
    case PlanExtent::Kind::per_item:
      return fmt::format("c{}[item]", d.index);
    case PlanExtent::Kind::item_extent:
      return fmt::format("extent {} of item {}", d.dimension, d.index);
  }
  return "?";
}
}  // namespace

void require(const RequireStep& step, std::int64_t value, std::int64_t item) {
  switch (step.kind) {
    case RequireStep::Kind::same_size:
      if (value != 0) ir::raise(step.what, ir::other_size(value), step.place, item);
      return;
    case RequireStep::Kind::extent:
      if (value < 0) ir::raise(step.what, ir::negative_extent(value), step.place, item);
      return;
  }
}

std::int64_t elements_of(const Group&, const PlanArray& array, const ChunkShape& shape) {
  if (array.form == ir::Form::segmented)
    return shape.descriptor_totals[static_cast<std::size_t>(array.descriptor)];
  std::int64_t elements =
      array.form == ir::Form::regular ? shape.items[static_cast<std::size_t>(array.domain)] : 1;
  for (const PlanExtent& d : array.extents) {
    const std::int64_t extent = value(d, shape);
    if (extent < 0) bad_extent(array, shape, extent);
    if (__builtin_mul_overflow(elements, extent, &elements)) too_large(array, shape);
  }
  return elements;
}

std::int64_t bytes_of(const Group& group, const PlanArray& array, const ChunkShape& shape) {
  const std::int64_t elements = elements_of(group, array, shape);
  std::int64_t bytes = 0;
  for (ScalarType s : array.type.scalars) {
    std::int64_t part = 0;
    if (__builtin_mul_overflow(elements, static_cast<std::int64_t>(size_of(s)), &part) ||
        __builtin_add_overflow(bytes, part, &bytes))
      too_large(array, shape);
  }
  return bytes;
}

namespace {
/// Nothing is said of what the sources give.
std::string domain_text(int domain) { return domain == 0 ? "" : fmt::format(" of domain {}", domain); }
}  // namespace

std::string size_text(const Group& group, const PlanArray& array) {
  std::size_t width = 0;
  for (ScalarType s : array.type.scalars) width += size_of(s);
  std::string text = fmt::format("{} B", width);
  if (array.form == ir::Form::segmented) {
    const Descriptor& d = group.descriptors[static_cast<std::size_t>(array.descriptor)];
    return text + (d.item >= 0 ? fmt::format(" x elements of item {}", d.item)
                               : fmt::format(" x elements under d{}", array.descriptor));
  }
  if (array.form == ir::Form::regular && !group.domains.empty())
    text += " x items" + domain_text(array.domain);
  for (const PlanExtent& d : array.extents) text += " x " + dim_text(d);
  return text;
}

namespace {

void group_text(const Group& group, char letter, std::string& out) {
  for (std::size_t i = 0; i < group.domains.size(); ++i) {
    const ItemDomain& domain = group.domains[i];
    if (domain.parent >= 0) out += fmt::format("  domain {}: items of domain {}\n", i, domain.parent);
    for (const ItemBound& bound : domain.bounds)
      out += fmt::format("  at most u{} items{}: {}\n", bound.uniform, domain_text(static_cast<int>(i)),
                         bound.take->label());
  }
  for (std::size_t i = 0; i < group.arrays.size(); ++i) {
    const PlanArray& a = group.arrays[i];
    static constexpr const char* origins[] = {"host array", "argument", "stream result", "item", "computed"};
    out += fmt::format("  {}{} : {} {} = {}{}; {}; {}{}\n", letter, i, name_of(a.form),
                       ir::to_string(ir::Type::array(a.type)), origins[static_cast<int>(a.origin)],
                       a.origin == PlanArray::Origin::item || a.origin == PlanArray::Origin::argument
                           ? fmt::format(" {}", a.index)
                           : std::string(),
                       size_text(group, a), a.why, a.result >= 0 ? fmt::format("; result {}", a.result) : "");
  }
  for (std::size_t i = 0; i < group.descriptors.size(); ++i) {
    const Descriptor& d = group.descriptors[i];
    out += d.item >= 0 ? fmt::format("  d{} : offsets given by the source for item {}\n", i, d.item)
                       : fmt::format("  d{} : offsets computed from {} extents\n", i, d.extents.size());
  }
}

void step_text(const Group& group, const Step& step, char letter, std::string& out) {
  (void)group;
  if (const auto* kernel = std::get_if<KernelStep>(&step)) {
    std::string written;
    for (const int array : kernel->outputs)
      written += fmt::format("{}{}{}", written.empty() ? "" : ", ", letter, array);
    out += fmt::format("  {} <- {}", written, to_string(kernel->kernel));
  } else if (const auto* scan = std::get_if<OffsetsStep>(&step)) {
    out += fmt::format("  d{} <- scan of item sizes\n", scan->descriptor);
  } else if (const auto* require = std::get_if<RequireStep>(&step)) {
    out += require->kind == RequireStep::Kind::same_size
               ? fmt::format("  require: {} keeps the number of elements\n", require->what)
               : fmt::format("  require: an extent of {} is not negative\n", require->what);
  }
}

}  // namespace

std::string to_string(const Plan& plan) {
  std::string out = "once per run:\n";
  group_text(plan.global, 'g', out);
  for (const Action& action : plan.actions) {
    if (action.kind == Action::Kind::step) {
      step_text(plan.global, plan.global.steps[static_cast<std::size_t>(action.index)], 'g', out);
      continue;
    }
    const StagePlan& stage = plan.stages[static_cast<std::size_t>(action.index)];
    out += fmt::format("stage {}, for every chunk:\n", action.index);
    group_text(stage.group, 'c', out);
    for (const Step& step : stage.group.steps) step_text(stage.group, step, 'c', out);
    for (const auto& t : stage.sinks)
      out += fmt::format("  {} of result {} (c{})\n", name_of(t.kind), t.result,
                         stage.results[static_cast<std::size_t>(t.result)]);
  }
  return out;
}

}  // namespace anabranch::plan
