#include "plan/lives.h"

#include <algorithm>

#include "ir/walk.h"

namespace anabranch::plan {

using namespace ir;

namespace {

/// What one action after the other needs of the global group. Uniforms are evaluated when they are first asked for: all
/// that may ask need what they are computed from.
class Lives {
 public:
  explicit Lives(const Plan& plan) : plan_(plan), last_(plan.global.arrays.size(), -1) {
    for (std::size_t a = 0; a < plan.global.arrays.size(); ++a)
      numbers_of_[plan.global.arrays[a].node.get()].push_back(static_cast<int>(a));
  }

  std::vector<int> run() {
    for (; action_ < static_cast<int>(plan_.actions.size()); ++action_)
      std::visit([&](const auto& action) { needs(action); },
                 plan_.actions[static_cast<std::size_t>(action_)]);
    for (const int result : plan_.results) array(result);
    return std::move(last_);
  }

 private:
  void array(int number) {
    if (number >= 0) last_[static_cast<std::size_t>(number)] = action_;
  }
  void term(const Ref& term) {
    const auto enter = [&](const Node& node) { return !numbers_of_.contains(&node); };
    for (const Node* node : topological({&term, 1}, enter))
      if (const auto found = numbers_of_.find(node); found != numbers_of_.end())
        for (const int number : found->second) array(number);
  }
  void uniform(int number) {
    if (number >= 0) term(plan_.global.uniforms[static_cast<std::size_t>(number)]);
  }
  void extents(const PlanLayout& layout) {
    for (const PlanExtent& e : layout.extents)
      if (e.kind == PlanExtent::Kind::uniform) uniform(e.index);
  }
  void written(int number) {
    if (number < 0) return;
    array(number);
    extents(plan_.global.arrays[static_cast<std::size_t>(number)]);
  }

  void needs(const StepAction& action) {
    std::visit([&](const auto& step) { of_step(step); },
               plan_.global.steps[static_cast<std::size_t>(action.step)]);
  }
  void of_step(const KernelStep& step) {
    extents(step.positions);
    for (const BufferRef& ref : step.buffers)
      if (ref.kind == BufferRef::Kind::array) array(ref.index);
    for (const int number : step.scalars) uniform(number);
    for (const int output : step.outputs) written(output);
  }
  void of_step(const RequireStep& step) { uniform(step.uniform); }
  void of_step(const RearrangeStep& step) {
    for (const RearrangeStep::Input& input : step.inputs) array(input.index);
    for (const int output : step.outputs) written(output);
  }
  void of_step(const OffsetsStep&) {}  // these two are of chunks
  void of_step(const NestedStep&) {}

  void needs(const StageAction& action) {
    of_stage(action.stage);
    for (const int stage : action.with) of_stage(stage);
    made_by(PlanArray::Origin::stream, action.stage);
    for (const int stage : action.with) made_by(PlanArray::Origin::stream, stage);
  }
  void of_stage(int number) {
    const StagePlan& stage = plan_.stages[static_cast<std::size_t>(number)];
    for (std::size_t s = 0; s < stage.sources.size(); ++s) {
      for (const int feed : stage.sources[s].feeds) of_stage(feed);
      inputs(stage.source_inputs[s]);
      for (const FedArray& fed : stage.fed[s])
        for (const int extent : fed.extents) uniform(extent);
    }
    for (const StagePlan::Inputs& numbers : stage.sink_inputs) inputs(numbers);
    const Group& group = stage.group;
    for (const ItemDomain& domain : group.domains)
      for (const ItemBound& bound : domain.bounds) uniform(bound.uniform);
    for (const Ref& value : group.uniforms) term(value);
    for (const PlanArray& made : group.arrays)
      if (made.origin == PlanArray::Origin::view) array(made.index);
    for (const Step& step : group.steps) {
      if (const auto* kernel = std::get_if<KernelStep>(&step))
        for (const BufferRef& ref : kernel->buffers)
          if (ref.kind == BufferRef::Kind::array && ref.global) array(ref.index);
      const auto inputs = [&](const std::vector<RearrangeStep::Input>& all) {
        for (const RearrangeStep::Input& input : all)
          if (input.global) array(input.index);
      };
      if (const auto* rearrange = std::get_if<RearrangeStep>(&step)) inputs(rearrange->inputs);
      if (const auto* nested = std::get_if<NestedStep>(&step)) inputs(nested->inputs);
    }
  }
  void inputs(const StagePlan::Inputs& numbers) {
    for (const int number : numbers.arrays) array(number);
    for (const int number : numbers.uniforms) uniform(number);
    for (const int number : numbers.bodies) of_body(number);
  }
  void needs(const LoopAction& action) {
    for (const int state : action.state) array(state);
    of_body(action.predicate);
    of_body(action.body);
    made_by(PlanArray::Origin::control, action.number);
  }
  void needs(const BranchAction& action) {
    uniform(action.condition);
    of_body(action.then);
    of_body(action.otherwise);
    made_by(PlanArray::Origin::control, action.number);
  }
  void of_body(int number) {
    for (const int captured : plan_.bodies[static_cast<std::size_t>(number)].captured) array(captured);
  }
  void made_by(PlanArray::Origin origin, int number) {
    for (std::size_t a = 0; a < plan_.global.arrays.size(); ++a)
      if (plan_.global.arrays[a].origin == origin && plan_.global.arrays[a].index == number)
        array(static_cast<int>(a));
  }

  const Plan& plan_;
  NodeMap<std::vector<int>> numbers_of_;  ///< of the global arrays
  std::vector<int> last_;                 ///< action that needs it
  int action_ = 0;
};

}  // namespace

std::vector<int> last_actions(const Plan& plan) { return Lives(plan).run(); }

void find_lives(Plan& plan) {
  const std::vector<int> last = last_actions(plan);
  plan.last_needed.assign(plan.actions.size(), {});
  for (std::size_t a = 0; a < last.size(); ++a) {
    const PlanArray::Origin origin = plan.global.arrays[a].origin;
    const bool is_given = origin == PlanArray::Origin::use || origin == PlanArray::Origin::argument;
    const bool is_result = last[a] == static_cast<int>(plan.actions.size());
    if (last[a] >= 0 && !is_given && !is_result)
      plan.last_needed[static_cast<std::size_t>(last[a])].push_back(static_cast<int>(a));
  }
}

}  // namespace anabranch::plan
