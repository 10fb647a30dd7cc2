#include "plan/build.h"

#include <algorithm>

#include "ir/views.h"
#include "plan/equal_items.h"
#include "plan/group_builder.h"
#include "plan/in_place.h"
#include "plan/lives.h"

namespace anabranch::plan {

using namespace ir;

namespace {

/// After which step of its group an array is no longer read: its memory can be used again.
void find_last_uses(Group& group) {
  for (std::size_t s = 0; s < group.steps.size(); ++s) {
    const int step = static_cast<int>(s);
    const auto read = [&](int array) {
      if (array >= 0) group.arrays[static_cast<std::size_t>(array)].last_step = step;
    };
    const auto of_kernel = [&](const KernelStep& kernel) {
      for (const BufferRef& b : kernel.buffers)
        if (b.kind == BufferRef::Kind::array && !b.global)
          read(b.index);
        else if (b.view >= 0)
          read(group.arrays[static_cast<std::size_t>(b.view)].part);
      for (const int output : kernel.outputs) read(output);
    };
    const auto of_offsets = [&](const OffsetsStep& offsets) {
      for (const PlanExtent& e : group.descriptors[static_cast<std::size_t>(offsets.descriptor)].extents)
        if (e.kind == PlanExtent::Kind::per_item) read(e.index);
    };
    const auto of_require = [&](const RequireStep& require) { read(require.array); };
    const auto with_sizes = [&](int array) {
      read(array);
      if (array < 0) return;
      for (const PlanExtent& e : group.arrays[static_cast<std::size_t>(array)].extents)
        if (e.kind == PlanExtent::Kind::per_item) read(e.index);
    };
    const auto of_rearrange = [&](const RearrangeStep& rearrange) {
      for (const RearrangeStep::Input& input : rearrange.inputs)
        if (!input.global) with_sizes(input.index);
      for (const int output : rearrange.outputs) with_sizes(output);
    };
    const auto of_nested = [&](const NestedStep& nested) {
      for (const RearrangeStep::Input& input : nested.inputs)
        if (!input.global) read(input.index);
      for (const int output : nested.outputs) read(output);
    };
    std::visit(kernel::overloaded{of_kernel, of_offsets, of_require, of_rearrange, of_nested},
               group.steps[s]);
  }
}

/// Of operations that give several arrays: those that are stored, by their numbers.
std::unordered_map<const Node*, std::vector<Ref>> results_of(const Staged& staged) {
  std::unordered_map<const Node*, std::vector<Ref>> results;
  for (const auto& [array, why] : staged.manifest)
    if (array->op() == Op::project_array && !is_given(*array))
      results[&maker_of(*array)].push_back(Ref(array));
  for (auto& [maker, arrays] : results)
    std::sort(arrays.begin(), arrays.end(),
              [](const Ref& a, const Ref& b) { return ProjectArray(a).which() < ProjectArray(b).which(); });
  return results;
}

/// Builds the plan of one program, part by part.
class PlanBuilder {
 public:
  /// `states`: how many of the program's arguments are the state of a loop, of which this is the body.
  PlanBuilder(const Staged& staged, const Options& options, std::size_t states)
      : staged_(staged),
        options_(options),
        states_(states),
        context_{staged, Expander(staged), ir::Simplifier(false), {}, {}, {}, results_of(staged)} {
    for (const std::vector<Ref>& set : staged.together)
      for (const Ref& fold : set) context_.together[fold.get()] = set;
    plan_.stages.resize(staged.stages.size());
    plan_.parameters = staged.parameters;
  }

  Plan build() {
    global_.check(staged_.extent_checks);
    for (const Part& part : staged_.parts) switch (part.kind) {
        case Part::Kind::stage:
          add_stages(part);
          break;
        case Part::Kind::control:
          add_control(part.index);
          break;
      }
    plan_.results = arrays_of(staged_.results);
    global_.require_rest(staged_.extent_checks);
    run_new_steps();
    find_last_uses(plan_.global);
    find_lives(plan_);
    if (options_.in_place) write_in_place(plan_, states_);
    return std::move(plan_);
  }

 private:
  void run_new_steps() {
    for (; done_ < plan_.global.steps.size(); ++done_)
      plan_.actions.emplace_back(StepAction{static_cast<int>(done_)});
  }

  std::vector<int> arrays_of(std::span<const Ref> arrays) {
    global_.provide(arrays);
    std::vector<int> numbers;
    for (const Ref& array : arrays) numbers.push_back(global_.array_of(array));
    return numbers;
  }

  void add_stages(const Part& part) {
    add_stage(part.index);
    for (const int number : part.with) add_stage(number);
    run_new_steps();
    plan_.actions.emplace_back(StageAction{part.index, part.with});
  }

  void add_stage(int number, bool feeds = false) {
    const Stage& stage = staged_.stages[static_cast<std::size_t>(number)];
    for (const StageSource& source : stage.sources)
      for (const int feed : source.feeds) add_stage(feed, true);
    StagePlan& out = plan_.stages[static_cast<std::size_t>(number)];
    out.feeds = feeds;
    out.sources = stage.sources;
    out.sinks = stage.sinks;
    global_.provide(stage.results);
    for (const Ref& reshape : stage.required) global_.require_size(reshape);
    for (const StageSource& source : stage.sources) {
      out.source_inputs.push_back(inputs(ir::inputs_of(source), source.bodies));
      out.fed.push_back(fed_arrays(stage, source));
    }
    for (const Stage::Sink& sink : stage.sinks) out.sink_inputs.push_back(inputs(sink.inputs, sink.bodies));
    for (const Nested& nested : stage.nested) {
      global_.provide(nested.body.captured);
      out.nested.push_back(plan::build(nested.body.program, options_));
    }
    GroupBuilder chunk(context_, out.group, &global_, &stage);
    for (const ir::ItemBound& bound : stage.bounds)
      out.group.domains[0].bounds.push_back({global_.uniform_of(bound.count), bound.take});
    chunk.check(stage.extent_checks);
    chunk.provide(stage.results);
    for (std::size_t r = 0; r < stage.results.size(); ++r)
      out.results.push_back(feeds && chunk.is_item(stage.results[r])
                                ? chunk.array_of(stage.results[r])
                                : chunk.result_of(stage.results[r], static_cast<int>(r)));
    chunk.require_rest(stage.extent_checks);
    find_last_uses(out.group);
    if (options_.in_place) write_in_place(out.group);
    for (Step& step : out.group.steps)
      if (auto* kernel = std::get_if<KernelStep>(&step))
        kernel->equal_items = equal_items(*kernel, out.group);
    // The shapes of results are asked for when all steps are done.
    for (int r : out.results)
      for (const PlanExtent& e : out.group.arrays[static_cast<std::size_t>(r)].extents)
        if (e.kind == PlanExtent::Kind::per_item)
          out.group.arrays[static_cast<std::size_t>(e.index)].last_step =
              static_cast<int>(out.group.steps.size());
    // Whoever takes the items one by one takes the first before the last is made.
    if (!feeds && !stage.sinks.empty() && !stage.sinks[0].consume)
      global_.require_rest(staged_.extent_checks);
    if (out.feeds) return;
    for (std::size_t t = 0; t < stage.sinks.size(); ++t)
      if (stage.sinks[t].consume)
        context_.stream_results[stage.sinks[t].consume.get()] = {number, static_cast<int>(t)};
  }

  /// What a source or sink is made with.
  StagePlan::Inputs inputs(const std::vector<Ref>& operands, const std::vector<int>& functions) {
    StagePlan::Inputs numbers;
    for (const Ref& operand : operands) {
      if (operand->type().is_array())
        numbers.arrays.push_back(arrays_of({&operand, 1})[0]);
      else
        numbers.uniforms.push_back(global_.uniform_of(operand));
    }
    for (const int function : functions)
      numbers.bodies.push_back(
          add_body(std::get<ir::Applied>(staged_.controls[static_cast<std::size_t>(function)].what).body));
    return numbers;
  }

  std::vector<FedArray> fed_arrays(const Stage& stage, const StageSource& source) {
    std::vector<FedArray> arrays;
    for (int i = 0; i < source.count && !source.feeds.empty(); ++i) {
      const Ref& item = stage.items[static_cast<std::size_t>(source.first + i)];
      FedArray& array = arrays.emplace_back();
      array.scalars = item->type().scalars;
      array.overlap = may_overlap(stage, item);
      const std::vector<Ref>& extents = staged_.facts_of(item).extents;
      const bool differ = std::any_of(extents.begin(), extents.end(),
                                      [&](const Ref& e) { return mentions(*e, stage.items); });
      // Where the others may be 0 an extent does not follow from offsets: then all are given, as if they differed.
      const bool all_differ = differ && extents.size() > 1 && !inner_extents_are_positive(extents);
      for (const Ref& e : extents)
        array.extents.push_back(all_differ || mentions(*e, stage.items) ? -1 : global_.uniform_of(e));
    }
    return arrays;
  }

  void add_control(int number) {
    const Control& control = staged_.controls[static_cast<std::size_t>(number)];
    Action action = std::visit([&](const auto& what) { return action_of(number, what); }, control.what);
    run_new_steps();
    plan_.actions.push_back(std::move(action));
    context_.controls[control.node.get()] = number;
  }

  Action action_of(int number, const ir::Loop& loop) {
    LoopAction action{number, arrays_of(loop.state), {}};
    action.own.resize(action.state.size());
    const auto& results = loop.body.program.results;
    for (std::size_t r = loop.state.size(); r < results.size(); ++r)
      action.collected.push_back(results[r]->type().scalars);
    action.predicate = add_body(loop.predicate);
    action.body = add_body(loop.body, loop.state.size());
    return action;
  }

  Action action_of(int number, const ir::Branch& branch) {
    BranchAction action{number, global_.uniform_of(branch.condition)};
    action.then = add_body(branch.then);
    action.otherwise = add_body(branch.otherwise);
    return action;
  }

  Action action_of(int, const ir::Applied&) {
    throw InternalError("plan: a function of a sequence is no action of its own");
  }

  int add_body(const ir::Body& body, std::size_t states = 0) {
    plan_.bodies.push_back({arrays_of(body.captured), PlanBuilder(body.program, options_, states).build()});
    return static_cast<int>(plan_.bodies.size()) - 1;
  }

  const Staged& staged_;
  const Options options_;
  const std::size_t states_;
  Context context_;
  Plan plan_;
  GroupBuilder global_{context_, plan_.global, nullptr, nullptr};
  std::size_t done_ = 0;  ///< steps of the global group that are actions
};

}  // namespace

Plan build(const Staged& staged, const Options& options) { return PlanBuilder(staged, options, 0).build(); }

}  // namespace anabranch::plan
