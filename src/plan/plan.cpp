#include "plan/plan.h"

#include <fmt/format.h>

#include "ir/print.h"
#include "ir/run_error.h"

namespace anabranch::plan {

namespace {
std::int64_t value(const PlanExtent& e, const ChunkShape& shape) {
  return e.kind == PlanExtent::Kind::constant ? e.value : shape.uniforms[static_cast<std::size_t>(e.index)];
}

/// Whose extents these are, for messages.
struct Named {
  const char* label;
  const Place& place;
};

[[noreturn]] void bad_extent(const Named& what, const ChunkShape& shape, std::int64_t extent) {
  ir::raise(what.label, ir::negative_extent(extent), what.place, shape.first_item);
}

[[noreturn]] void too_large(const Named& what, const PlanLayout& layout, const ChunkShape& shape) {
  std::vector<std::int64_t> extents;
  if (layout.form != ir::Form::segmented)
    for (const PlanExtent& e : layout.extents) extents.push_back(value(e, shape));
  ir::raise(what.label, ir::too_many_elements(extents), what.place, shape.first_item);
}

std::int64_t size_of_layout(const PlanLayout& layout, const Named& what, const ChunkShape& shape) {
  if (layout.form == ir::Form::segmented)
    return shape.descriptor_totals[static_cast<std::size_t>(layout.descriptor)];
  std::int64_t elements =
      layout.form == ir::Form::regular ? shape.items[static_cast<std::size_t>(layout.domain)] : 1;
  if (elements == 0) return 0;  // without items nothing is asked of an item's extents
  bool overflows = false;
  for (const PlanExtent& e : layout.extents) {
    const std::int64_t extent = value(e, shape);
    if (extent < 0) bad_extent(what, shape, extent);
    // One that is 0 may follow.
    overflows = (__builtin_mul_overflow(elements, extent, &elements) || overflows) && extent != 0;
  }
  if (overflows) too_large(what, layout, shape);
  return elements;
}

Named named(const PlanArray& array) { return {array.node->label(), array.node->place()}; }

std::string extent_text(const PlanExtent& e) {
  switch (e.kind) {
    case PlanExtent::Kind::constant:
      return fmt::format("{}", e.value);
    case PlanExtent::Kind::uniform:
      return fmt::format("u{}", e.index);
    case PlanExtent::Kind::per_item:
      return fmt::format("c{}[item]", e.index);
    case PlanExtent::Kind::item_extent:
      return fmt::format("extent {} of item {}", e.dimension, e.index);
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
    case RequireStep::Kind::items:
      if (value < 0)
        ir::raise(step.what,
                  step.kind == RequireStep::Kind::items ? ir::negative_items(step.what, value)
                                                        : ir::negative_extent(value),
                  step.place, item);
      if (value > ir::most_extent) ir::raise(step.what, ir::too_many_elements({&value, 1}), step.place, item);
      return;
  }
}

std::int64_t elements_of(const PlanArray& array, const ChunkShape& shape) {
  return size_of_layout(array, named(array), shape);
}

std::int64_t positions_of(const KernelStep& step, const ChunkShape& shape) {
  return size_of_layout(step.positions, {step.kernel.name.c_str(), step.kernel.place}, shape);
}

std::int64_t bytes_of(const PlanArray& array, const ChunkShape& shape) {
  const std::int64_t elements = elements_of(array, shape);
  std::int64_t bytes = 0;
  for (ScalarType s : array.type.scalars) {
    std::int64_t part = 0;
    if (__builtin_mul_overflow(elements, static_cast<std::int64_t>(size_of(s)), &part) ||
        __builtin_add_overflow(bytes, part, &bytes))
      too_large(named(array), array, shape);
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
  for (const PlanExtent& e : array.extents) text += " x " + extent_text(e);
  return text;
}

namespace {

std::string origin_text(const PlanArray& array) {
  switch (array.origin) {
    case PlanArray::Origin::use:
      return "host array";
    case PlanArray::Origin::argument:
      return fmt::format("argument {}", array.index);
    case PlanArray::Origin::stream:
      return "stream result";
    case PlanArray::Origin::control:
      return fmt::format("control result {}", array.index);
    case PlanArray::Origin::view:
      return fmt::format("a view of g{}", array.index);
    case PlanArray::Origin::components:
      return fmt::format("components {} of g{}", fmt::join(array.components, ", "), array.index);
    case PlanArray::Origin::nested:
      return fmt::format("inner program {}", array.index);
    case PlanArray::Origin::item:
      return fmt::format("item {}", array.index);
    case PlanArray::Origin::computed:
      return "computed";
  }
  return "?";
}

/// "; in place of c3", or of each component "c3.0", or "-" where it has memory of its own.
std::string in_place_text(const Group& group, const PlanArray& array, char letter) {
  if (array.in_place_of.empty()) return "";
  std::string text;
  for (const ArrayPart& part : array.in_place_of) {
    text += text.empty() ? "; in place of " : ", ";
    if (part.array < 0)
      text += "-";
    else if (group.arrays[static_cast<std::size_t>(part.array)].type.scalars.size() == 1)
      text += fmt::format("{}{}", letter, part.array);
    else
      text += fmt::format("{}{}.{}", letter, part.array, part.component);
  }
  return text;
}

void group_text(const Group& group, char letter, std::string& out) {
  for (std::size_t i = 0; i < group.domains.size(); ++i) {
    const ItemDomain& domain = group.domains[i];
    if (domain.first_only)
      out += fmt::format("  domain {}: the first item of domain {}\n", i, domain.parent);
    else if (domain.parent >= 0)
      out += fmt::format("  domain {}: items of domain {}\n", i, domain.parent);
    for (const ItemBound& bound : domain.bounds)
      out += fmt::format("  at most u{} items{}: {}\n", bound.uniform, domain_text(static_cast<int>(i)),
                         bound.take->label());
  }
  for (std::size_t i = 0; i < group.arrays.size(); ++i) {
    const PlanArray& a = group.arrays[i];
    out += fmt::format("  {}{} : {} {} = {}; {}; {}{}{}\n", letter, i, name_of(a.form),
                       ir::to_string(ir::Type::array(a.type)), origin_text(a), size_text(group, a), a.why,
                       a.result >= 0 ? fmt::format("; result {}", a.result) : "",
                       in_place_text(group, a, letter));
  }
  for (std::size_t i = 0; i < group.descriptors.size(); ++i) {
    const Descriptor& d = group.descriptors[i];
    out += d.item >= 0 ? fmt::format("  d{} : offsets given by the source for item {}\n", i, d.item)
                       : fmt::format("  d{} : offsets computed from {} extents\n", i, d.extents.size());
  }
}

std::string step_text(const KernelStep& step, char letter) {
  std::string written;
  for (const int array : step.outputs)
    written += fmt::format("{}{}{}", written.empty() ? "" : ", ", letter, array);
  return fmt::format("  {} <- {}", written, to_string(step.kernel));
}

std::string step_text(const OffsetsStep& step, char) {
  return fmt::format("  d{} <- offsets from the items' sizes\n", step.descriptor);
}

std::string step_text(const RequireStep& step, char) {
  switch (step.kind) {
    case RequireStep::Kind::same_size:
      return fmt::format("  require: {} keeps the number of elements\n", step.what);
    case RequireStep::Kind::extent:
      return fmt::format("  require: an extent of {} is not negative\n", step.what);
    case RequireStep::Kind::items:
      return fmt::format("  require: the number of items of {} is not negative\n", step.what);
  }
  return "";
}

std::string step_text(const RearrangeStep& step, char letter) {
  std::string written, read;
  for (const int array : step.outputs)
    if (array >= 0) written += fmt::format("{}{}{}", written.empty() ? "" : ", ", letter, array);
  for (const RearrangeStep::Input& input : step.inputs)
    read += fmt::format(" {}{}", input.global ? 'g' : letter, input.index);
  return fmt::format("  {} <- {}{}\n", written, ir::title(*step.node), read);
}

std::string step_text(const NestedStep& step, char letter) {
  std::string written, read;
  for (const int array : step.outputs)
    if (array >= 0) written += fmt::format("{}{}{}", written.empty() ? "" : ", ", letter, array);
  for (const RearrangeStep::Input& input : step.inputs)
    read += fmt::format(" {}{}", input.global ? 'g' : letter, input.index);
  return fmt::format("  {} <- inner program {}, with the number of items{}\n", written, step.number, read);
}

std::string step_text(const Step& step, char letter) {
  return std::visit([letter](const auto& s) { return step_text(s, letter); }, step);
}

/// The actions of one plan, as text.
class Listing {
 public:
  explicit Listing(const Plan& plan) : plan_(plan) {}

  std::string text() {
    out_ = "once per run:\n";
    group_text(plan_.global, 'g', out_);
    for (const Action& action : plan_.actions) std::visit([this](const auto& a) { list(a); }, action);
    return std::move(out_);
  }

 private:
  void list(const StepAction& action) {
    out_ += step_text(plan_.global.steps[static_cast<std::size_t>(action.step)], 'g');
  }

  void list(const StageAction& action) {
    const StagePlan& stage = plan_.stages[static_cast<std::size_t>(action.stage)];
    for (const ir::StageSource& source : stage.sources)
      for (const int feed : source.feeds) list(StageAction{feed, {}});
    out_ += fmt::format("stage {}, for every chunk{}:\n", action.stage,
                        stage.feeds ? " that another stage reads" : "");
    group_text(stage.group, 'c', out_);
    for (const Step& step : stage.group.steps) out_ += step_text(step, 'c');
    for (std::size_t n = 0; n < stage.nested.size(); ++n)
      out_ += fmt::format("  inner program {}:\n{}", n, ir::indented(to_string(stage.nested[n]), "    "));
    for (std::size_t t = 0; t < stage.sinks.size(); ++t) {
      out_ += fmt::format("  {} of result {} (c{})\n", name_of(stage.sinks[t].kind), stage.sinks[t].result,
                          stage.results[static_cast<std::size_t>(stage.sinks[t].result)]);
      for (const int body : stage.sink_inputs[t].bodies) list("function", body);
    }
    for (const StagePlan::Inputs& inputs : stage.source_inputs)
      for (const int body : inputs.bodies) list("function", body);
    for (const int other : action.with) {
      out_ += "at the same time, ";
      list(StageAction{other, {}});
    }
  }

  void list(const LoopAction& loop) {
    out_ += fmt::format("loop {}, from {}:\n", loop.number, arrays(loop.state));
    list("while", loop.predicate);
    list("repeat", loop.body);
  }

  void list(const BranchAction& branch) {
    out_ += fmt::format("branch {}, on u{}:\n", branch.number, branch.condition);
    list("then", branch.then);
    list("otherwise", branch.otherwise);
  }

  void list(const char* name, int number) {
    const Body& body = plan_.bodies[static_cast<std::size_t>(number)];
    const std::string captured = arrays(body.captured);
    out_ += fmt::format("  {}{}{}:\n", name, captured.empty() ? "" : ", with ", captured);
    out_ += ir::indented(to_string(body.plan), "    ");
    out_ += fmt::format("    gives {}\n", arrays(body.plan.results));
  }

  static std::string arrays(const std::vector<int>& numbers) {
    std::string text;
    for (const int number : numbers) text += fmt::format("{}g{}", text.empty() ? "" : ", ", number);
    return text;
  }

  const Plan& plan_;
  std::string out_;
};

}  // namespace

std::string to_string(const Plan& plan) { return Listing(plan).text(); }

}  // namespace anabranch::plan
