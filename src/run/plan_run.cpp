#include "run/plan_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/run_error.h"
#include "run/stage.h"

namespace anabranch::runtime {

using plan::PlanArray;

PlanRun::PlanRun(RunContext& context, RunBackend& backend, const std::vector<HostArray>& arguments)
    : context_(context), backend_(backend), values_(context.plan, arguments, context.options.stop) {
  const std::vector<HostArray> inputs = inputs_of(context.plan, arguments);
  if (!context.into.empty()) check_given_memory(context.into, inputs);
  std::int64_t bytes = 0;
  for (const HostArray& input : inputs)
    for (ScalarType s : input->scalars) bytes += input->size() * static_cast<std::int64_t>(size_of(s));
  inputs_ = context.budget.reserve("inputs held whole", bytes);
}

void PlanRun::run(std::size_t actions) {
  for (std::size_t a = 0; a < actions; ++a) {
    const plan::Action& action = context_.plan.actions[a];
    switch (action.kind) {
      case plan::Action::Kind::step:
        std::visit([&](const auto& step) { run_step(step); },
                   context_.plan.global.steps[static_cast<std::size_t>(action.index)]);
        break;
      case plan::Action::Kind::stage:
        run_stage(action.index);
        break;
    }
  }
}

HostArray PlanRun::result(std::size_t r) {
  const int number = context_.plan.results[r];
  const HostArray& array = values_.array(number);
  const HostArray given = context_.into.empty() ? nullptr : context_.into[r];
  const PlanArray& planned = context_.plan.global.arrays[static_cast<std::size_t>(number)];
  const bool own =
      (planned.origin == PlanArray::Origin::computed || planned.origin == PlanArray::Origin::stream) &&
      std::none_of(given_out_.begin(), given_out_.end(),
                   [&](const HostArray& other) { return other->buffers == array->buffers; });
  if (own) {
    given_out_.push_back(array);
    return array;
  }
  if (given) check_capacity(*given, array->size(), *planned.node);
  held_.push_back(context_.budget.reserve("results", array->size() * width_of(planned.type)));
  HostArray copy =
      given ? in_memory_of(*given, array->extents) : new_array(array->scalars, array->extents, array->size());
  copy_elements(&context_.executor, *array, *copy);
  given_out_.push_back(copy);
  return copy;
}

/// Memory that the caller gives for this array of the global group, if it is to lie there.
HostArray PlanRun::given_for(int array) const {
  const auto& results = context_.plan.results;
  const auto found = std::find(results.begin(), results.end(), array);
  if (context_.into.empty() || found == results.end()) return nullptr;
  return context_.into[static_cast<std::size_t>(found - results.begin())];
}

/// Of these types and extents, not filled.
HostArray PlanRun::new_array(const ir::Scalars& scalars, std::vector<std::int64_t> extents,
                             std::int64_t elements) {
  auto array = std::make_shared<detail::ArrayData>();
  array->scalars = scalars;
  array->extents = std::move(extents);
  array->buffers.reserve(scalars.size());
  for (ScalarType s : scalars)
    array->buffers.push_back(
        context_.memory.share(context_.memory.take(static_cast<std::size_t>(elements) * size_of(s) + 64)));
  return array;
}

// ---- Stages

/// Per result of a stage: memory that the caller gives for it, or null.
std::vector<HostArray> PlanRun::memory_for(int stage) const {
  const auto& arrays = context_.plan.global.arrays;
  const plan::StagePlan& plan = context_.plan.stages[static_cast<std::size_t>(stage)];
  std::vector<HostArray> into(plan.results.size());
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    if (arrays[a].origin != PlanArray::Origin::stream || arrays[a].index != stage) continue;
    const int result = plan.sinks[static_cast<std::size_t>(arrays[a].terminal)].result;
    HostArray& memory = into[static_cast<std::size_t>(result)];
    if (!memory) memory = given_for(static_cast<int>(a));
  }
  return into;
}

void PlanRun::run_stage(int number) {
  const auto& arrays = context_.plan.global.arrays;
  StageRun run(context_, backend_, number, values_, memory_for(number));
  const std::vector<HostArray> results = run.run();
  for (scheduler::Reservation& r : run.take_reservations()) held_.push_back(std::move(r));
  for (std::size_t a = 0; a < arrays.size(); ++a)
    if (arrays[a].origin == PlanArray::Origin::stream && arrays[a].index == number)
      values_.set(static_cast<int>(a), results[static_cast<std::size_t>(arrays[a].terminal)]);
}

// ---- Steps of the global group

void PlanRun::run_step(const plan::KernelStep& step) {
  for (const int number : step.outputs) values_.set(number, make_output(number));
  backend_.compute_global(step, values_);
}

void PlanRun::run_step(const plan::OffsetsStep&) { throw InternalError("the global group has no offsets"); }

void PlanRun::run_step(const plan::RequireStep& step) {
  plan::require(step, values_.uniform(step.uniform), ir::no_item);
}

/// Room for what the kernel writes, with its exact bytes.
HostArray PlanRun::make_output(int number) {
  const plan::Group& group = context_.plan.global;
  const PlanArray& output = group.arrays[static_cast<std::size_t>(number)];
  plan::ChunkShape shape;
  shape.uniforms.resize(group.uniforms.size());
  std::vector<std::int64_t> extents;
  for (const plan::PlanExtent& d : output.extents) {
    if (d.kind == plan::PlanExtent::Kind::uniform)
      shape.uniforms[static_cast<std::size_t>(d.index)] = values_.uniform(d.index);
    extents.push_back(d.kind == plan::PlanExtent::Kind::constant ? d.value : values_.uniform(d.index));
  }
  const std::int64_t bytes = plan::bytes_of(group, output, shape);
  const std::int64_t elements = plan::elements_of(group, output, shape);
  held_.push_back(context_.budget.reserve(
      fmt::format("{} ({})", output.node->label(), to_string(output.node->place())), bytes));
  if (const HostArray given = given_for(number)) {
    check_capacity(*given, elements, *output.node);
    return in_memory_of(*given, std::move(extents));
  }
  try {
    return new_array(output.type.scalars, std::move(extents), elements);
  } catch (const ResourceError&) {
    throw ResourceError(fmt::format("{}: {} bytes are more memory than the system gives ({})",
                                    output.node->label(), bytes, to_string(output.node->place())));
  }
}

}  // namespace anabranch::runtime
