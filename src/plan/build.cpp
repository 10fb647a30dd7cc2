#include "plan/build.h"

#include "ir/views.h"
#include "plan/group_builder.h"

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
    if (const auto* kernel = std::get_if<KernelStep>(&group.steps[s])) {
      for (const BufferRef& b : kernel->buffers)
        if (b.kind == BufferRef::Kind::array && !b.global) read(b.index);
      for (const int output : kernel->outputs) read(output);
    } else if (const auto* scan = std::get_if<OffsetsStep>(&group.steps[s])) {
      for (const PlanExtent& d : group.descriptors[static_cast<std::size_t>(scan->descriptor)].extents)
        if (d.kind == PlanExtent::Kind::per_item) read(d.index);
    } else if (const auto* require = std::get_if<RequireStep>(&group.steps[s])) {
      read(require->array);
    }
  }
}

/// What a source is made from: a global array, or a uniform; -1 for nothing.
int input_of(GroupBuilder& global, const Node& source) {
  switch (source.op().as<SourceOp>()) {
    case Op::stream_in:
      return -1;
    case Op::produce:
      return global.uniform_of(Produce(source).count());
    case Op::rows: {
      const Ref& array = Rows(source).array();
      global.provide({&array, 1});
      return global.array_of(array);
    }
  }
  return -1;
}

}  // namespace

Plan build(const Staged& staged) {
  Plan plan;
  Context context{staged, Expander(staged), ir::Simplifier(false), {}, {}};
  for (const std::vector<Ref>& set : staged.together)
    for (const Ref& fold : set) context.together[fold.get()] = set;
  plan.stages.resize(staged.stages.size());
  plan.parameters = staged.parameters;
  GroupBuilder global(context, plan.global, nullptr, nullptr);

  global.check(staged.extent_checks);
  std::size_t done = 0;
  const auto run_new_steps = [&] {
    for (; done < plan.global.steps.size(); ++done)
      plan.actions.push_back({Action::Kind::step, static_cast<int>(done)});
  };

  for (std::size_t k = 0; k < staged.stages.size(); ++k) {
    const Stage& stage = staged.stages[k];
    StagePlan& out = plan.stages[k];
    out.sources = stage.sources;
    out.items = stage.items;
    out.sinks = stage.sinks;
    global.provide(stage.results);
    for (const StageSource& base : stage.sources) {
      out.source_inputs.push_back(input_of(global, *base.node));
    }
    GroupBuilder chunk(context, out.group, &global, &stage);
    for (const ir::ItemBound& bound : stage.bounds)
      out.group.domains[0].bounds.push_back({global.uniform_of(bound.count), bound.take});
    chunk.check(stage.extent_checks);
    chunk.provide(stage.results);
    for (std::size_t r = 0; r < stage.results.size(); ++r)
      out.results.push_back(chunk.result_of(stage.results[r], static_cast<int>(r)));
    chunk.require_rest(stage.extent_checks);
    find_last_uses(out.group);
    // The shapes of results are asked for when all steps are done.
    for (int r : out.results)
      for (const PlanExtent& d : out.group.arrays[static_cast<std::size_t>(r)].extents)
        if (d.kind == PlanExtent::Kind::per_item)
          out.group.arrays[static_cast<std::size_t>(d.index)].last_step =
              static_cast<int>(out.group.steps.size());
    run_new_steps();
    plan.actions.push_back({Action::Kind::stage, static_cast<int>(k)});
    for (std::size_t t = 0; t < stage.sinks.size(); ++t)
      if (stage.sinks[t].consume)
        context.stream_results[stage.sinks[t].consume.get()] = {static_cast<int>(k), static_cast<int>(t)};
  }
  global.provide(staged.results);
  for (const Ref& result : staged.results) plan.results.push_back(global.array_of(result));
  global.require_rest(staged.extent_checks);
  run_new_steps();
  find_last_uses(plan.global);
  return plan;
}

}  // namespace anabranch::plan
