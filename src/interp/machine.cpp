#include "interp/machine.h"

#include <algorithm>
#include <utility>

#include "interp/arrays.h"
#include "interp/control.h"
#include "interp/pass.h"
#include "ir/array_text.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::interp {

using ir::Node;
using ir::Op;
using ir::Type;

namespace {

/// The line that a trace prints of its array.
std::string traced(const Evaluator& evaluator, const Node& trace, const HostArray& array) {
  std::vector<const void*> components;
  for (const auto& buffer : array->buffers) components.push_back(buffer.get());
  return ir::traced_line(trace, evaluator.item, {array->scalars, components}, array->extents);
}

}  // namespace

Machine::Machine(std::span<const ir::Ref> roots, std::stop_token stop, Callbacks callbacks)
    : evaluator_(roots, std::move(stop)), callbacks_(std::move(callbacks)) {
  for (const ir::Ref& root : roots) {
    if (root->closed()) continue;
    const Node& parameter = *root->free()[0];
    throw ProgramError("run: the program depends on a parameter of a function it is not in (introduced at " +
                           anabranch::to_string(parameter.place()) + ")",
                       parameter.place());
  }
}

HostArray Machine::demand(Number array) {
  std::vector<Number> waiting{array};
  while (!waiting.empty()) {
    const Number next = waiting.back();
    if (evaluator_.has_array(next)) {
      waiting.pop_back();
      continue;
    }
    const std::size_t before = waiting.size();
    for (Number need : needs(next))
      if (!evaluator_.has_array(need)) waiting.push_back(need);
    if (waiting.size() > before) continue;
    evaluator_.set_arrays(next, compute(next));
    waiting.pop_back();
  }
  return evaluator_.array(array);
}

std::vector<HostArray> Machine::apply(Number lambda, std::span<const HostArray> arguments,
                                      std::int64_t item) {
  check_stop();
  const auto parameters = evaluator_.parameters(lambda);
  const Evaluator::Application application(evaluator_, parameters);
  for (std::size_t i = 0; i < parameters.size(); ++i) evaluator_.bind(parameters[i], arguments[i]);
  const std::int64_t outer = std::exchange(evaluator_.item, item);
  ++in_item;
  std::vector<HostArray> results;
  for (Number result : evaluator_.results(lambda)) results.push_back(demand(result));
  --in_item;
  evaluator_.item = outer;
  return results;
}

bool Machine::several_read(const SourceBase& source) const {
  if (source.info().rewindable) return false;
  int sinks = 0;
  for (Number n = 0; n < evaluator_.size(); ++n) {
    if (!evaluator_.node(n).op().is_a<ir::SinkOp>()) continue;
    const ir::Ref sink(&evaluator_.node(n));
    const auto within = [](const Node& node) {
      return !node.type().is_array() || node.op().is_a<ir::SinkOp>();
    };
    for (const Node* node : ir::topological({&sink, 1}, within))
      if (node->op() == Op::stream_in && node->payload().source.get() == &source) {
        ++sinks;
        break;
      }
  }
  return sinks > 1;
}

void Machine::demand_needs_of(Number computation) {
  for (Number need : needs(computation)) demand(need);
}

std::vector<HostArray> Machine::compute(Number computation) {
  check_stop();
  const Node& node = evaluator_.node(computation);
  const Place outer = evaluator_.nearest_place;
  if (node.place().known()) evaluator_.nearest_place = node.place();
  std::vector<HostArray> values;
  if (node.op().is_a<ir::SinkOp>())
    values.push_back(run_sink(*this, computation));
  else if (ir::has_bodies(node.op()))
    values = run_control(*this, computation);
  else
    values = execute(evaluator_, computation);
  if (node.op() == Op::trace && on_line()) on_line()(traced(evaluator_, node, values[0]));
  evaluator_.nearest_place = outer;
  return values;
}

const std::vector<Machine::Number>& Machine::needs(Number computation) {
  const auto [known, first] = needs_.try_emplace(computation);
  if (first) known->second = independent_arrays(operands_needed(computation), {});
  return known->second;
}

/// The side of a branch that is not taken needs nothing, but for what the other one needs, too, and streams that are to be read
/// once.
std::vector<Machine::Number> Machine::operands_needed(Number computation) const {
  std::vector<Number> operands;
  const Node& node = evaluator_.node(computation);
  ir::each_operand(node, [&](const ir::Operand& how, const ir::Ref& operand) {
    if (how.role != ir::Role::function || how.access != ir::Access::if_taken)
      operands.push_back(evaluator_.number(*operand));
  });
  if (node.op() == Op::acond) {
    for (const Node* array : own_nodes_.of_both_sides(node)) operands.push_back(evaluator_.number(*array));
    for (const ir::Ref& array : own_nodes_.streams_in_sides(node))
      operands.push_back(evaluator_.number(*array));
  }
  return operands;
}

std::vector<Machine::Number> Machine::independent_arrays(std::vector<Number> computations,
                                                         std::unordered_set<const Node*> items) const {
  std::vector<Number> found;
  std::unordered_set<Number> seen;
  std::vector<Number> open;
  const auto visit = [&](std::span<const Number> numbers) {
    for (Number number : numbers)
      if (seen.insert(number).second) open.push_back(number);
  };
  visit(computations);
  while (!open.empty()) {
    const Number number = open.back();
    open.pop_back();
    const Node& node = evaluator_.node(number);
    switch (node.type().kind) {
      case Type::Kind::element:
      case Type::Kind::sequence:
        visit(operands_needed(number));
        break;
      case Type::Kind::function:
        for (const ir::Ref& parameter : node.parameters())
          if (parameter->type().is_array()) items.insert(parameter.get());
        visit(evaluator_.results(number));
        break;
      case Type::Kind::array:
      case Type::Kind::arrays: {
        if (node.op() == Op::parameter) break;
        const bool per_item = std::any_of(node.free().begin(), node.free().end(),
                                          [&](const Node* p) { return items.contains(p); });
        if (per_item)
          visit(operands_needed(number));
        else
          found.push_back(number);
        break;
      }
    }
  }
  return found;
}

}  // namespace anabranch::interp
