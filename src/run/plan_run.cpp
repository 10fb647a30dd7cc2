#include "run/plan_run.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <string>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "ir/cancelled.h"
#include "ir/run_error.h"
#include "run/context/rearrangement.h"
#include "run/stages/stage.h"
#include "scheduler/threads.h"

namespace anabranch::runtime {

using plan::PlanArray;

namespace {

/// An array whose memory counts as long as it, or an array of some of its components, lives: rounds of a loop hand arrays
/// on.
using Account = std::shared_ptr<const std::vector<scheduler::Reservation>>;

HostArray counted(const detail::ArrayData& array, const Account& account) {
  struct Counted {
    std::shared_ptr<void> memory;
    Account account;
  };
  auto counted = std::make_shared<detail::ArrayData>(array);
  for (std::shared_ptr<void>& buffer : counted->buffers) {
    void* const elements = buffer.get();
    buffer = {std::make_shared<Counted>(std::move(buffer), account), elements};
  }
  return counted;
}

/// Memory that counts as long as it lives.
std::shared_ptr<void> counted(std::shared_ptr<void> memory, scheduler::Reservation reservation) {
  struct Held {
    std::shared_ptr<void> memory;
    scheduler::Reservation reservation;
  };
  void* const address = memory.get();
  return {std::make_shared<Held>(std::move(memory), std::move(reservation)), address};
}

HostArray counted(const detail::ArrayData& array, scheduler::Reservation reservation) {
  std::vector<scheduler::Reservation> account;
  account.push_back(std::move(reservation));
  return counted(array, std::make_shared<const std::vector<scheduler::Reservation>>(std::move(account)));
}

/// Others end as cancelled when one fails.
void rethrow_first(const std::vector<std::exception_ptr>& errors) {
  std::exception_ptr cancelled;
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const Cancelled&) {
      cancelled = error;
    }
  }
  if (cancelled) std::rethrow_exception(cancelled);
}

bool shares_memory(std::span<const HostArray> arrays, const HostArray& array) {
  const auto shares = [&](const HostArray& other) {
    return std::find_first_of(other->buffers.begin(), other->buffers.end(), array->buffers.begin(),
                              array->buffers.end()) != other->buffers.end();
  };
  return std::any_of(arrays.begin(), arrays.end(), shares);
}

}  // namespace

PlanRun::PlanRun(RunContext& context, RunBackend& backend, const std::vector<HostArray>& arguments, Inner)
    : context_(context),
      backend_(backend),
      values_(
          context.plan, arguments, context.options.stop,
          [&backend](const HostArray& array) { backend.fetch(array); }, context.item),
      sizes_(context.plan.bodies.size()) {}

PlanRun::PlanRun(RunContext& context, RunBackend& backend, const std::vector<HostArray>& arguments)
    : PlanRun(context, backend, arguments, Inner{}) {
  inputs_ = inputs_of(context.plan, arguments);
  into_ = context.into;
  if (!into_.empty()) check_given_memory(into_, inputs_);
  std::int64_t bytes = 0;
  for (const HostArray& input : inputs_)
    for (ScalarType s : input->scalars) bytes += input->size() * static_cast<std::int64_t>(size_of(s));
  held_inputs_ = context.reserve("inputs held whole", bytes);
  backend.take_inputs(inputs_);
}

void PlanRun::run(std::size_t begin, std::size_t end) {
  for (std::size_t a = begin; a < end; ++a) {
    std::visit([this](const auto& action) { run_action(action); }, context_.plan.actions[a]);
    for (const int array : context_.plan.last_needed[a]) values_.forget(array);
  }
}

/// Was it made in this run? `array`: what the plan's array `number`, or components of it, turned out to be.
bool PlanRun::is_own(int number, const HostArray& array) const {
  const PlanArray& planned = context_.plan.global.arrays[static_cast<std::size_t>(number)];
  switch (planned.origin) {
    case PlanArray::Origin::computed:
    case PlanArray::Origin::stream:
      return true;
    case PlanArray::Origin::control:  // a loop without a round gives what it was given
      return !shares_memory(inputs_, array);
    case PlanArray::Origin::components:
      return is_own(planned.index, array);
    case PlanArray::Origin::use:
    case PlanArray::Origin::argument:
    case PlanArray::Origin::item:
    case PlanArray::Origin::nested:
    case PlanArray::Origin::view:
      return false;
  }
  return false;
}

/// Where the back end keeps it; else null.
HostArray PlanRun::kept_result(int number) {
  const HostArray& array = values_.place(number);
  if (!is_own(number, array) || shares_memory(given_out_, array)) return nullptr;
  auto residence = backend_.keep(array);
  if (!residence) return nullptr;
  auto kept = std::make_shared<detail::ArrayData>(*array);
  kept->residence = std::move(residence);
  given_out_.push_back(kept);
  return kept;
}

HostArray PlanRun::result(std::size_t r) {
  const int number = context_.plan.results[r];
  if (context_.keeps_results)
    if (HostArray kept = kept_result(number)) return kept;
  const HostArray& array = values_.array(number);
  const HostArray given = into_.empty() ? nullptr : into_[r];
  const PlanArray& planned = context_.plan.global.arrays[static_cast<std::size_t>(number)];
  const bool in_place = !given || array->buffers == given->buffers;
  if (in_place && is_own(number, array) && !shares_memory(given_out_, array)) {
    given_out_.push_back(array);
    return array;
  }
  if (given) check_capacity(*given, array->size(), *planned.node);
  held_.push_back(context_.reserve("results", array->size() * width_of(planned.type)));
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
  if (into_.empty() || found == results.end()) return nullptr;
  return into_[static_cast<std::size_t>(found - results.begin())];
}

/// Of these types and extents, not filled.
HostArray PlanRun::new_array(const ir::Scalars& scalars, std::vector<std::int64_t> extents,
                             std::int64_t elements) {
  auto array = std::make_shared<detail::ArrayData>();
  array->scalars = scalars;
  array->extents = std::move(extents);
  array->buffers.reserve(scalars.size());
  for (ScalarType s : scalars)
    array->buffers.push_back(new_memory(elements * static_cast<std::int64_t>(size_of(s))));
  return array;
}

std::shared_ptr<void> PlanRun::new_memory(std::int64_t bytes) const {
  return context_.memory.share(context_.memory.take(static_cast<std::size_t>(bytes) + 64));
}

// ---- Stages

/// Per result of a stage: memory that the caller gives for it, or null.
std::vector<HostArray> PlanRun::memory_for(int stage) const {
  const auto& arrays = context_.plan.global.arrays;
  const plan::StagePlan& plan = context_.plan.stages[static_cast<std::size_t>(stage)];
  std::vector<HostArray> into(plan.results.size());
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    if (arrays[a].origin != PlanArray::Origin::stream || arrays[a].index != stage) continue;
    const int result = plan.sinks[static_cast<std::size_t>(arrays[a].part)].result;
    HostArray& memory = into[static_cast<std::size_t>(result)];
    if (!memory) memory = given_for(static_cast<int>(a));
  }
  return into;
}

void PlanRun::run_action(const plan::StageAction& action) {
  std::vector<int> stages{action.stage};
  stages.insert(stages.end(), action.with.begin(), action.with.end());
  PassStreams pass(context_.plan, stages, context_.budget);
  if (stages.size() > 1) return run_together(stages, pass);
  StageRun run(context_, backend_, action.stage, values_, memory_for(action.stage), applied_functions(), pass,
               0);
  const std::vector<HostArray> results = run.run();
  set_stream(action.stage, results, run.take_reservations());
}

void PlanRun::set_stream(int stage, const std::vector<HostArray>& results,
                         std::vector<scheduler::Reservation> reservations) {
  const auto& arrays = context_.plan.global.arrays;
  const auto account = std::make_shared<const std::vector<scheduler::Reservation>>(std::move(reservations));
  for (std::size_t a = 0; a < arrays.size(); ++a)
    if (arrays[a].origin == PlanArray::Origin::stream && arrays[a].index == stage)
      values_.set(static_cast<int>(a), counted(*results[static_cast<std::size_t>(arrays[a].part)], account));
}

/// Each by a thread of its own, as each reads when it needs items; they share the run's threads. The first one is what
/// progress and timelines tell of.
void PlanRun::run_together(const std::vector<int>& stages, PassStreams& pass) {
  const auto members = static_cast<int>(stages.size());
  std::deque<RunOptions> options;
  std::deque<RunContext> contexts;
  std::vector<std::unique_ptr<StageRun>> runs;
  const RunBody run_in_turn = [&](int body, const std::vector<HostArray>& arguments, std::int64_t item,
                                  std::span<const HostArray> into) {
    const PassStreams::Turn turn = pass.turn();
    return apply(body, arguments, item, into);
  };
  for (int m = 0; m < members; ++m) {
    const int stage = stages[static_cast<std::size_t>(m)];
    RunContext& context = m == 0 ? context_ : contexts.emplace_back(context_.beside(options.emplace_back()));
    runs.push_back(std::make_unique<StageRun>(context, backend_, stage, values_, memory_for(stage),
                                              run_in_turn, pass, m));
  }
  std::vector<std::vector<HostArray>> results(stages.size());
  std::vector<std::exception_ptr> errors(stages.size());
  const auto run_member = [&](std::size_t m) {
    try {
      results[m] = runs[m]->run();
      pass.ended(static_cast<int>(m));
    } catch (...) {
      errors[m] = std::current_exception();
      pass.abort();
    }
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (std::size_t m = 1; m < stages.size(); ++m) threads.emplace_back(run_member, m);
      run_member(0);
    } catch (const std::system_error& e) {
      pass.abort();
      throw scheduler::NoThreads(std::string("a thread could not be started: ") + e.what());
    } catch (...) {
      pass.abort();
      throw;
    }
  }
  rethrow_first(errors);
  for (std::size_t m = 0; m < stages.size(); ++m)
    set_stream(stages[m], results[m], runs[m]->take_reservations());
}

// ---- Loops and branches

namespace {
/// Which arrays of the next state nobody else has.
std::vector<bool> own_after(const plan::LoopAction& loop, const std::vector<bool>& own) {
  std::vector<bool> next;
  for (const plan::LoopAction::Own& o : loop.own)
    next.push_back(o.made || (o.passed_on >= 0 && own[static_cast<std::size_t>(o.passed_on)]));
  return next;
}
}  // namespace

/// What a round has computed is given back when it ends, but for the state.
void PlanRun::run_action(const plan::LoopAction& loop) {
  std::vector<HostArray> state;
  std::vector<bool> own;
  for (std::size_t s = 0; s < loop.state.size(); ++s) {
    state.push_back(values_.place(loop.state[s]));
    own.push_back(loop.own[s].at_first && may_overwrite(loop.state[s]));
  }
  const auto goes_on = [&] {
    if (context_.options.stop.stop_requested()) ir::raise_cancelled();
    const HostArray condition = run_body(loop.predicate, state)[0];
    backend_.fetch(condition);
    return *static_cast<const bool*>(condition->buffers[0].get());
  };
  std::vector<std::vector<HostArray>> collected(loop.collected.size());
  while (goes_on()) {
    std::vector<HostArray> results = run_body(loop.body, state, own);
    own = own_after(loop, own);
    for (std::size_t c = 0; c < collected.size(); ++c) collected[c].push_back(results[state.size() + c]);
    results.resize(state.size());
    state = std::move(results);
  }
  for (std::size_t c = 0; c < collected.size(); ++c)
    state.push_back(joined(collected[c], loop.collected[c], loop.number));
  set_results(loop.number, state);
}

/// One vector of several.
HostArray PlanRun::joined(const std::vector<HostArray>& parts, const ir::Scalars& scalars, int control) {
  if (parts.size() == 1) return parts[0];
  std::int64_t elements = 0, bytes = 0;
  for (const HostArray& part : parts) {
    backend_.fetch(part);
    elements += part->size();
  }
  for (const ScalarType s : scalars) bytes += elements * static_cast<std::int64_t>(size_of(s));
  scheduler::Reservation held = context_.reserve(fmt::format("results of loop {}", control), bytes);
  const HostArray all = counted(*new_array(scalars, {elements}, elements), std::move(held));
  for (std::size_t c = 0; c < scalars.size(); ++c) {
    auto* to = static_cast<std::byte*>(all->buffers[c].get());
    for (const HostArray& part : parts) {
      const std::size_t size = static_cast<std::size_t>(part->size()) * size_of(scalars[c]);
      if (size > 0) std::memcpy(to, part->buffers[c].get(), size);
      to += size;
    }
  }
  return all;
}

void PlanRun::run_action(const plan::BranchAction& branch) {
  set_results(branch.number,
              run_body(values_.uniform(branch.condition) != 0 ? branch.then : branch.otherwise, {}));
}

std::vector<HostArray> PlanRun::run_body(int number, const std::vector<HostArray>& state,
                                         std::vector<bool> own) {
  const plan::Body& body = context_.plan.bodies[static_cast<std::size_t>(number)];
  std::vector<HostArray> arguments = state;
  for (const int array : body.captured) arguments.push_back(values_.place(array));
  RunContext context = context_.for_body(body.plan);
  return run_body(context, backend_, arguments, std::move(own));
}

std::vector<HostArray> PlanRun::run_body(RunContext& context, RunBackend& backend,
                                         const std::vector<HostArray>& arguments, std::vector<bool> own,
                                         std::span<const HostArray> into) {
  PlanRun run(context, backend, arguments, Inner{});
  run.own_arguments_ = std::move(own);
  run.into_ = into;
  run.run(context.plan.actions.size());
  std::vector<HostArray> results;
  for (const int result : context.plan.results) results.push_back(run.values_.place(result));
  return results;
}

std::vector<HostArray> PlanRun::apply(int number, const std::vector<HostArray>& own_arguments,
                                      std::int64_t item, std::span<const HostArray> into) {
  const plan::Body& body = context_.plan.bodies[static_cast<std::size_t>(number)];
  std::vector<HostArray> arguments = own_arguments;
  for (const int array : body.captured) arguments.push_back(values_.place(array));
  RunOptions own;
  RunContext context = context_.for_nested(body.plan, own);
  context.item = item;
  context.sizes = &sizes_[static_cast<std::size_t>(number)];
  std::vector<HostArray> results = run_body(context, backend_, arguments, {}, into);
  for (const HostArray& result : results) backend_.fetch(result);
  return results;
}

void PlanRun::set_results(int control, const std::vector<HostArray>& results) {
  const auto& arrays = context_.plan.global.arrays;
  for (std::size_t a = 0; a < arrays.size(); ++a)
    if (arrays[a].origin == PlanArray::Origin::control && arrays[a].index == control)
      values_.set(static_cast<int>(a), results[static_cast<std::size_t>(arrays[a].part)]);
}

// ---- Steps of the global group

void PlanRun::run_action(const plan::StepAction& action) {
  std::visit([&](const auto& step) { run_step(step); },
             context_.plan.global.steps[static_cast<std::size_t>(action.step)]);
}

void PlanRun::run_step(const plan::KernelStep& step) {
  if (step.makes_outputs)
    for (const int number : step.outputs) values_.set(number, make_output(number));
  backend_.compute_global(step, values_);
}

void PlanRun::run_step(const plan::OffsetsStep&) { throw InternalError("the global group has no offsets"); }

void PlanRun::run_step(const plan::NestedStep&) { throw InternalError("the global group has no items"); }

void PlanRun::run_step(const plan::RequireStep& step) {
  plan::require(step, values_.uniform(step.uniform), context_.item);
}

/// Where the back end does not do it: on the host, to which its operands come.
void PlanRun::run_step(const plan::RearrangeStep& step) {
  for (const int output : step.outputs)
    if (output >= 0) values_.set(output, make_output(output));
  if (backend_.rearrange_global(step, values_)) return;
  const auto place = [&](const HostArray& array) {
    PlacedArray placed;
    for (const auto& buffer : array->buffers) placed.components.push_back(buffer.get());
    placed.parts = parts_of_whole(*array, step);
    if (asks_for_extents(step))
      for (const std::int64_t extent : array->extents) placed.extents.push_back({extent});
    return placed;
  };
  std::vector<PlacedArray> inputs, outputs;
  for (const plan::RearrangeStep::Input& input : step.inputs)
    inputs.push_back(place(values_.array(input.index)));
  for (const int output : step.outputs)
    outputs.push_back(output >= 0 ? place(values_.place(output)) : PlacedArray{});
  run_rearrangement(context_, step, inputs, outputs, ir::ItemNumbers::always(context_.item));
  for (const int output : step.outputs)
    if (output >= 0) backend_.written_by_host(values_.place(output));
}

/// Room for what the kernel writes, with its exact bytes.
HostArray PlanRun::make_output(int number) {
  const plan::Group& group = context_.plan.global;
  const PlanArray& output = group.arrays[static_cast<std::size_t>(number)];
  plan::ChunkShape shape;
  shape.first_item = context_.item;
  shape.uniforms.resize(group.uniforms.size());
  std::vector<std::int64_t> extents;
  for (const plan::PlanExtent& d : output.extents) {
    if (d.kind == plan::PlanExtent::Kind::uniform)
      shape.uniforms[static_cast<std::size_t>(d.index)] = values_.uniform(d.index);
    extents.push_back(d.kind == plan::PlanExtent::Kind::constant ? d.value : values_.uniform(d.index));
  }
  std::int64_t bytes = plan::bytes_of(output, shape);
  const std::int64_t elements = plan::elements_of(output, shape);
  const auto reserve = [&] {
    return context_.reserve(fmt::format("{} ({})", output.node->label(), to_string(output.node->place())),
                            bytes);
  };
  if (const HostArray given = given_for(number)) {
    scheduler::Reservation held = reserve();
    check_capacity(*given, elements, *output.node);
    return counted(*in_memory_of(*given, std::move(extents)), std::move(held));
  }
  auto array = std::make_shared<detail::ArrayData>();
  array->scalars = output.type.scalars;
  array->extents = std::move(extents);
  const auto bytes_of = [&](std::size_t c) {
    return elements * static_cast<std::int64_t>(size_of(output.type.scalars[c]));
  };
  for (std::size_t c = 0; c < output.type.scalars.size(); ++c) {
    array->buffers.push_back(taken_over(output, c));
    if (array->buffers[c]) bytes -= bytes_of(c);
  }
  scheduler::Reservation held = reserve();
  try {
    for (std::size_t c = 0; c < output.type.scalars.size(); ++c)
      if (!array->buffers[c]) array->buffers[c] = counted(new_memory(bytes_of(c)), held.split(bytes_of(c)));
  } catch (const ResourceError&) {
    throw ResourceError(fmt::format("{}: {} bytes are more memory than the system gives ({})",
                                    output.node->label(), bytes, to_string(output.node->place())),
                        output.node->place());
  }
  return array;
}

/// The memory that a component of an output has of another array; null where it needs its own.
std::shared_ptr<void> PlanRun::taken_over(const PlanArray& output, std::size_t component) const {
  if (output.in_place_of.empty()) return nullptr;
  const plan::ArrayPart part = output.in_place_of[component];
  if (part.array < 0 || !may_overwrite(part.array)) return nullptr;
  return values_.place(part.array)->buffers[static_cast<std::size_t>(part.component)];
}

/// Where nothing needs it any more: does nobody else have it?
bool PlanRun::may_overwrite(int array) const {
  const PlanArray& planned = context_.plan.global.arrays[static_cast<std::size_t>(array)];
  if (planned.origin == PlanArray::Origin::computed) return true;
  const auto argument = static_cast<std::size_t>(planned.index);
  return planned.origin == PlanArray::Origin::argument && argument < own_arguments_.size() &&
         own_arguments_[argument];
}

// ---- Programs inside of a chunk

HostArray borrowed_vector(const ir::Scalars& scalars, const std::vector<void*>& components,
                          std::int64_t elements) {
  auto array = std::make_shared<detail::ArrayData>();
  array->scalars = scalars;
  array->extents = {elements};
  for (void* const component : components) array->buffers.emplace_back(std::shared_ptr<void>(), component);
  return array;
}

HostArray scalar_array(std::int64_t number) {
  HostArray array = detail::allocate_array(ir::Scalars{ScalarType::int64}, {});
  *static_cast<std::int64_t*>(array->buffers[0].get()) = number;
  return array;
}

std::vector<HostArray> run_nested(const RunContext& context, RunBackend& backend, const plan::Plan& program,
                                  const std::vector<HostArray>& arguments) {
  RunOptions options;
  RunContext inner = context.for_nested(program, options);
  std::vector<HostArray> results = PlanRun::run_body(inner, backend, arguments);
  for (const HostArray& result : results) backend.fetch(result);
  return results;
}

}  // namespace anabranch::runtime
