#include "ir/staged.h"

#include <algorithm>

#include "ir/make.h"
#include "ir/print.h"

namespace anabranch::ir {

std::string why_stored(const Staged& staged, const Node& array) { return why_stored(staged, array, title); }

std::string why_stored(const Staged& staged, const Node& array,
                       const std::function<std::string(const Node&)>& name) {
  std::string text = staged.manifest.at(&array);
  const auto beside = staged.beside.find(&array);
  if (beside == staged.beside.end()) return text;
  for (const Beside& one : beside->second) {
    text += (one.why.empty() ? ", in one kernel with " : ", not in one kernel with ") + name(*one.other);
    if (!one.why.empty()) text += ": " + one.why;
  }
  return text;
}

std::size_t own_of_kernel(std::span<const Ref> set) {
  const Op first = maker_of(*set[0]).op();
  if (info(first).storage == Storage::delayed) return set.size();
  return static_cast<std::size_t>(
      std::count_if(set.begin(), set.end(), [&](const Ref& a) { return maker_of(*a).op() == first; }));
}

NodeSet arrays_together(const Staged& staged) {
  NodeSet arrays;
  for (const std::vector<Ref>& set : staged.together)
    for (const Ref& array : set) arrays.insert(array.get());
  return arrays;
}

std::vector<Ref> inputs_of(const StageSource& source) {
  if (is_fed(source.node->op())) return source.inputs;
  std::vector<Ref> inputs;
  each_operand(*source.node, [&](const Operand& how, const Ref& operand) {
    if (how.role == Role::array || how.role == Role::element) inputs.push_back(operand);
  });
  return inputs;
}

std::vector<Ref> inputs_of(const Control& control) {
  std::vector<Ref> inputs;
  each_own_input(control, [&](const Ref& input) { inputs.push_back(input); });
  each_body(control, [&](const char*, const Body& body) {
    inputs.insert(inputs.end(), body.captured.begin(), body.captured.end());
  });
  return inputs;
}

std::vector<Ref> inputs_of_functions(const Staged& staged, const Stage& stage) {
  std::vector<Ref> inputs;
  const auto add = [&](const std::vector<int>& bodies) {
    for (const int body : bodies)
      for (Ref& input : inputs_of(staged.controls[static_cast<std::size_t>(body)]))
        inputs.push_back(std::move(input));
  };
  for (const StageSource& source : stage.sources) add(source.bodies);
  for (const Stage::Sink& sink : stage.sinks) {
    inputs.insert(inputs.end(), sink.inputs.begin(), sink.inputs.end());
    add(sink.bodies);
  }
  return inputs;
}

std::vector<Ref> arguments_of(const Control& control, const Body& body) {
  std::vector<Ref> arguments = std::visit(
      overloaded{[](const Loop& loop) { return loop.state; }, [](const auto&) { return std::vector<Ref>(); }},
      control.what);
  arguments.insert(arguments.end(), body.captured.begin(), body.captured.end());
  return arguments;
}

bool is_view(const Staged& staged, const Node& array) {
  return array.op() == Op::part && staged.facts.at(&array).form != Form::avoided &&
         staged.facts_of(PartOf(array).array()).form == Form::avoided;
}

std::optional<ComponentsOf> components_of(const Staged& staged, const Node& array) {
  if (array.op() != Op::map || Map(array).arrays().size() != 1 || !staged.is_manifest(&array)) return {};
  ComponentsOf of{Map(array).arrays()[0], {}};
  const auto is_of_program = [&](const Node& node) { return staged.facts.at(&node).form == Form::avoided; };
  if (!staged.is_manifest(of.array.get()) || !is_of_program(array) || !is_of_program(*of.array)) return {};
  const Node* const element = Map(array).function()->parameters()[0].get();
  for (const Ref& component : ir::components(Map(array).function()->result())) {
    const bool is_part = component->op() == Op::project && Project(component).value().get() == element;
    if (!is_part && component.get() != element) return {};
    of.components.push_back(is_part ? Project(component).first() : 0);
  }
  return of;
}

std::vector<Ref> extents_compared(const Staged& staged, const Node& reshape) {
  std::vector<Ref> extents = staged.facts.at(&reshape).extents;
  const auto& others = staged.facts_of(Reshape(reshape).array()).extents;
  extents.insert(extents.end(), others.begin(), others.end());
  return extents;
}

bool is_nested(const Stage& stage, const Node& array) {
  for (const Nested& nested : stage.nested)
    for (const Nested::Result& result : nested.results)
      if (result.array.get() == &array) return true;
  return false;
}

}  // namespace anabranch::ir
