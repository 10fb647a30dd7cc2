#include "run/execute.h"

#include <algorithm>

#include <fmt/format.h>

#include "interp/evaluate.h"
#include "ir/run_error.h"
#include "ir/walk.h"
#include "run/collector.h"
#include "run/device_run.h"
#include "run/run_trace.h"
#include "run/stage.h"

namespace anabranch {

using plan::BufferRef;
using plan::PlanArray;

std::int64_t ResultSizes::of(int stage, int result) const {
  const std::lock_guard lock(mutex_);
  const auto known = elements_.find({stage, result});
  return known == elements_.end() ? 0 : known->second;
}

void ResultSizes::note(int stage, int result, std::int64_t elements) {
  const std::lock_guard lock(mutex_);
  elements_[{stage, result}] = elements;
}

GlobalValues::GlobalValues(const plan::Plan& plan, const std::vector<HostArray>& arguments,
                           std::stop_token stop)
    : plan_(plan),
      stop_(std::move(stop)),
      arrays_(plan.global.arrays.size()),
      uniforms_(plan.global.uniforms.size()) {
  for (std::size_t a = 0; a < plan.global.arrays.size(); ++a) {
    const PlanArray& array = plan.global.arrays[a];
    if (array.origin == PlanArray::Origin::use) set(static_cast<int>(a), array.node->payload().array);
    if (array.origin == PlanArray::Origin::argument)
      set(static_cast<int>(a), arguments[static_cast<std::size_t>(array.index)]);
  }
}

void GlobalValues::set(int number, HostArray array) {
  by_node_[plan_.global.arrays[static_cast<std::size_t>(number)].node.get()] = array;
  arrays_[static_cast<std::size_t>(number)] = std::move(array);
}

const HostArray* GlobalValues::find(const ir::Node* node) const {
  const auto it = by_node_.find(node);
  return it == by_node_.end() ? nullptr : &it->second;
}

std::int64_t GlobalValues::uniform(int number) {
  auto& value = uniforms_[static_cast<std::size_t>(number)];
  if (!value) value = evaluate_uniform(plan_.global.uniforms[static_cast<std::size_t>(number)], *this);
  return *value;
}

std::vector<HostArray> inputs_of(const plan::Plan& plan, const std::vector<HostArray>& arguments) {
  std::vector<HostArray> inputs;
  for (const PlanArray& array : plan.global.arrays) {
    if (array.origin == PlanArray::Origin::use) inputs.push_back(array.node->payload().array);
    if (array.origin == PlanArray::Origin::argument)
      inputs.push_back(arguments[static_cast<std::size_t>(array.index)]);
  }
  return inputs;
}

std::int64_t evaluate_uniform(const ir::Ref& expression, const GlobalValues& values) {
  // Nearly all are an extent of a known array.
  const ir::Node& e = *expression;
  if (e.op() == ir::Op::constant) return static_cast<std::int64_t>(e.payload().bits);
  const ir::Node* shape = e.op() == ir::Op::project ? e.child(0).get() : &e;
  if (shape->op() == ir::Op::shape) {
    const HostArray* array = values.find(shape->child(0).get());
    if (array)
      return (*array)->extents[static_cast<std::size_t>(e.op() == ir::Op::project ? e.payload().first : 0)];
  }
  interp::Evaluator evaluator({&expression, 1}, values.stop());
  for (interp::Evaluator::Number n = 0; n < evaluator.size(); ++n) {
    const ir::Node& node = evaluator.node(n);
    if (!node.type().is_array()) continue;
    const HostArray* array = values.find(&node);
    if (!array) continue;
    if (node.op() == ir::Op::parameter)
      evaluator.bind(n, *array);
    else
      evaluator.set_array(n, *array);
  }
  return evaluator.integers(evaluator.number(e))[0];
}

namespace {

/// Executes the global group's steps and the stages, in the plan's order.
class PlanRun {
 public:
  PlanRun(RunContext& context, const std::vector<HostArray>& arguments)
      : context_(context), values_(context.plan, arguments, context.options.stop) {
    if (!context.into.empty()) check_given_memory(context.into, inputs_of(context.plan, arguments));
    std::int64_t inputs = 0;
    for (const PlanArray& array : context.plan.global.arrays) {
      if (array.origin != PlanArray::Origin::use && array.origin != PlanArray::Origin::argument) continue;
      const HostArray& host = *values_.find(array.node.get());
      for (ScalarType s : array.type.scalars) inputs += host->size() * static_cast<std::int64_t>(size_of(s));
    }
    inputs_ = context.budget.reserve("inputs held whole", inputs);
  }

  void run(std::size_t actions) {
    for (std::size_t a = 0; a < actions; ++a) {
      const plan::Action& action = context_.plan.actions[a];
      if (action.kind == plan::Action::Kind::step)
        step(context_.plan.global.steps[static_cast<std::size_t>(action.index)]);
      else
        stage(action.index);
    }
  }
  GlobalValues& values() { return values_; }

  /// Result r as the caller gets it. What is no array of this run's own, or has been given out before, is
  /// copied.
  HostArray result(std::size_t r) {
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
    HostArray copy = given ? in_memory_of(*given, array->extents)
                           : new_array(array->scalars, array->extents, array->size());
    copy_elements(&context_.executor, *array, *copy);
    given_out_.push_back(copy);
    return copy;
  }

 private:
  /// Memory that the caller gives for this array of the global group, if it is to lie there.
  HostArray given_for(int array) const {
    const auto& results = context_.plan.results;
    const auto found = std::find(results.begin(), results.end(), array);
    if (context_.into.empty() || found == results.end()) return nullptr;
    return context_.into[static_cast<std::size_t>(found - results.begin())];
  }

  /// Of these types and extents, not filled.
  HostArray new_array(const ir::Scalars& scalars, std::vector<std::int64_t> extents, std::int64_t elements) {
    auto array = std::make_shared<detail::ArrayData>();
    array->scalars = scalars;
    array->extents = std::move(extents);
    array->buffers.reserve(scalars.size());
    for (ScalarType s : scalars)
      array->buffers.push_back(
          context_.memory.share(context_.memory.take(static_cast<std::size_t>(elements) * size_of(s) + 64)));
    return array;
  }

  void stage(int number) {
    const auto& arrays = context_.plan.global.arrays;
    const plan::StagePlan& plan = context_.plan.stages[static_cast<std::size_t>(number)];
    std::vector<HostArray> into(plan.results.size());
    for (std::size_t a = 0; a < arrays.size(); ++a) {
      if (arrays[a].origin != PlanArray::Origin::stream || arrays[a].index != number) continue;
      const int result = plan.sinks[static_cast<std::size_t>(arrays[a].terminal)].result;
      HostArray& memory = into[static_cast<std::size_t>(result)];
      if (!memory) memory = given_for(static_cast<int>(a));
    }
    StageRun run(context_, number, values_);
    const std::vector<HostArray> results = run.run(into);
    for (scheduler::Reservation& r : run.take_reservations()) held_.push_back(std::move(r));
    for (std::size_t a = 0; a < arrays.size(); ++a)
      if (arrays[a].origin == PlanArray::Origin::stream && arrays[a].index == number)
        values_.set(static_cast<int>(a), results[static_cast<std::size_t>(arrays[a].terminal)]);
  }

  void step(const plan::Step& step) {
    if (const auto* kernel = std::get_if<plan::KernelStep>(&step)) return launch(*kernel);
    if (const auto* require = std::get_if<plan::RequireStep>(&step)) {
      plan::require(*require, values_.uniform(require->uniform), ir::no_item);
      return;
    }
    throw InternalError("the global group has no offsets");
  }

  void make_output(int number) {
    const plan::Group& group = context_.plan.global;
    const PlanArray& output = group.arrays[static_cast<std::size_t>(number)];
    plan::ChunkShape shape;
    shape.items = 1;
    shape.uniforms.resize(group.uniforms.size());
    for (const plan::PlanExtent& d : output.extents)
      if (d.kind == plan::PlanExtent::Kind::uniform)
        shape.uniforms[static_cast<std::size_t>(d.index)] = values_.uniform(d.index);
    const std::int64_t bytes = plan::bytes_of(group, output, shape);
    held_.push_back(context_.budget.reserve(
        fmt::format("{} ({})", output.node->label(), to_string(output.node->place())), bytes));
    std::vector<std::int64_t> extents;
    for (const plan::PlanExtent& d : output.extents)
      extents.push_back(d.kind == plan::PlanExtent::Kind::constant ? d.value : values_.uniform(d.index));
    const std::int64_t elements = plan::elements_of(group, output, shape);
    HostArray array;
    if (const HostArray given = given_for(number)) {
      check_capacity(*given, elements, *output.node);
      array = in_memory_of(*given, std::move(extents));
    } else {
      try {
        array = new_array(output.type.scalars, std::move(extents), elements);
      } catch (const ResourceError&) {
        throw ResourceError(fmt::format("{}: {} bytes are more memory than the system gives ({})",
                                        output.node->label(), bytes, to_string(output.node->place())));
      }
    }
    values_.set(number, array);
  }

  void launch(const plan::KernelStep& step) {
    for (const int output : step.outputs) make_output(output);
    if (context_.device && !context_.cpu_too) return context_.device->launch_global(step, values_);

    std::vector<void*> buffers;
    std::int64_t touched = 0;
    for (const BufferRef& ref : step.buffers) {
      const detail::ArrayData& data = *values_.array(ref.index);
      const auto c = static_cast<std::size_t>(ref.component);
      buffers.push_back(data.buffers[c].get());
      touched += data.size() * static_cast<std::int64_t>(size_of(data.scalars[c]));
    }
    std::vector<std::int64_t> scalars;
    for (int u : step.scalars) scalars.push_back(values_.uniform(u));
    launch_kernel(context_, step.kernel, buffers, scalars, 1, touched >= context_.cache_bytes, ir::no_item);
  }

  RunContext& context_;
  GlobalValues values_;
  scheduler::Reservation inputs_;
  std::vector<scheduler::Reservation> held_;
  std::vector<HostArray> given_out_;
};

}  // namespace

std::vector<HostArray> execute(RunContext& context, const std::vector<HostArray>& arguments) {
  PlanRun run(context, arguments);
  run.run(context.plan.actions.size());
  std::vector<HostArray> results;
  for (std::size_t r = 0; r < context.plan.results.size(); ++r) results.push_back(run.result(r));
  return results;
}

struct ChunkReader::Impl {
  PlanRun run;
  std::unique_ptr<StageRun> stage;
};

ChunkReader::ChunkReader(RunContext& context, const std::vector<HostArray>& arguments)
    : impl_(new Impl{PlanRun(context, arguments), nullptr}) {
  const auto& actions = context.plan.actions;
  impl_->run.run(actions.size() - 1);
  impl_->stage = std::make_unique<StageRun>(context, actions.back().index, impl_->run.values());
  if (context.trace) context.trace->begin_stage(actions.back().index);
}
ChunkReader::~ChunkReader() = default;
bool ChunkReader::next(std::vector<std::vector<HostArray>>& items) { return impl_->stage->next_chunk(items); }

}  // namespace anabranch
