#include "interp/evaluate.h"

#include <algorithm>

#include <fmt/format.h>

#include "interp/primitives.h"
#include "ir/cancelled.h"
#include "ir/run_error.h"
#include "ir/standard_arithmetic.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::interp {

using ir::Node;
using ir::Op;
using ir::position_of;
using ir::ScalarOp;

void fail(const Node& node, const Place& nearest, const std::string& wrong, std::int64_t item) {
  const std::string label = node.op() == Op::primitive ? std::string(ir::info(node.payload().primitive).name)
                                                       : std::string(node.label());
  ir::raise(label, wrong, node.place().known() ? node.place() : nearest, item);
}

std::string to_string(std::span<const std::int64_t> numbers) {
  return fmt::format("({})", fmt::join(numbers, ", "));
}

namespace {

std::int64_t integer(Bits bits, ScalarType type) {
  if (!ir::is_integer(type)) throw InternalError(std::string("interpreter: no integer: ") + name_of(type));
  return ir::integer_of(type, bits);
}

}  // namespace

void Evaluator::fail(const Node& node, const std::string& wrong) const {
  interp::fail(node, nearest_place, wrong, item);
}

void Evaluator::check_stop() const {
  if (stop_.stop_requested()) ir::raise_cancelled();
}

Evaluator::Evaluator(std::span<const ir::Ref> roots, std::stop_token stop) : stop_(std::move(stop)) {
  const std::vector<const Node*> nodes = ir::topological(roots);
  entries_.reserve(nodes.size());
  numbers_.reserve(nodes.size());
  std::size_t components = 0;
  std::size_t arrays = 0;
  for (const Node* node : nodes) {
    const auto number = static_cast<Number>(entries_.size());
    numbers_.emplace(node, number);
    Entry entry{node, static_cast<std::uint32_t>(children_.size()), 0, 0};
    for (const ir::Ref& child : node->children()) children_.push_back(numbers_.at(child.get()));
    if (node->type().is_element()) {
      entry.slot = static_cast<std::uint32_t>(components);
      components += node->type().scalars.size();
    } else if (node->type().is_array()) {
      entry.slot = static_cast<std::uint32_t>(arrays++);
    } else if (node->type().is_several()) {
      entry.slot = static_cast<std::uint32_t>(arrays);
      arrays += node->type().arrays.size();
    }
    entry.scope = scope_of(*node);
    entries_.push_back(entry);
  }
  values_.resize(components);
  arrays_.resize(arrays);
  in_use_.resize(entries_.size());
}

std::uint32_t Evaluator::scope_of(const Node& node) {
  // Constructors share equal sets wherever it is cheap; two scopes for equal sets only cost time.
  const auto [found, inserted] =
      scope_of_set_.emplace(node.shared_free().get(), static_cast<std::uint32_t>(scopes_.size()));
  if (inserted) {
    scopes_.emplace_back();
    for (const Node* parameter : node.free()) {
      const auto known = numbers_.find(parameter);
      // A parameter has a smaller number than every node it is free in; a set never outlives its parameters.
      if (known == numbers_.end())
        throw InternalError("interpreter: a free parameter is not part of the program");
      scopes_with_[known->second].push_back(found->second);
    }
  }
  return found->second;
}

Evaluator::Number Evaluator::number(const Node& node) const {
  const auto found = numbers_.find(&node);
  if (found == numbers_.end()) throw InternalError("interpreter: this node is not part of the program");
  return found->second;
}

std::span<const Evaluator::Number> Evaluator::children(Number number) const {
  const Entry& entry = entries_[number];
  return std::span(children_).subspan(entry.first_child, entry.node->children().size());
}

std::span<const Evaluator::Number> Evaluator::parameters(Number lambda) const {
  return children(lambda).first(static_cast<std::size_t>(node(lambda).payload().first));
}

std::span<const Evaluator::Number> Evaluator::results(Number lambda) const {
  return children(lambda).subspan(static_cast<std::size_t>(node(lambda).payload().first));
}

void Evaluator::enter(Number parameter) {
  Shadow shadow{parameter, in_use_[parameter], 0, {}, {}, {}};
  if (shadow.in_use) {
    shadow.computed = entries_[parameter].computed;
    for (std::uint32_t scope : scopes_with_[parameter]) shadow.bindings.push_back(scopes_[scope].binding);
    if (node(parameter).type().is_array()) {
      shadow.array = arrays_[entries_[parameter].slot];
    } else {
      const auto present = value(parameter);
      shadow.value.assign(present.begin(), present.end());
    }
  }
  in_use_[parameter] = true;
  shadows_.push_back(std::move(shadow));
}

// The scopes get their old bindings back, so that what the outer application has computed so far is current
// again, except for nodes that the inner one has computed anew.
void Evaluator::leave(std::size_t before) {
  while (shadows_.size() > before) {
    Shadow& shadow = shadows_.back();
    in_use_[shadow.parameter] = shadow.in_use;
    if (shadow.in_use) {
      const auto& scopes = scopes_with_[shadow.parameter];
      for (std::size_t i = 0; i < scopes.size(); ++i) scopes_[scopes[i]].binding = shadow.bindings[i];
      entries_[shadow.parameter].computed = shadow.computed;
      std::copy(shadow.value.begin(), shadow.value.end(), slot(shadow.parameter));
      if (shadow.array) arrays_[entries_[shadow.parameter].slot] = std::move(shadow.array);
    }
    shadows_.pop_back();
  }
}

void Evaluator::rebind(Number parameter) {
  ++bindings_;
  for (std::uint32_t scope : scopes_with_[parameter]) scopes_[scope].binding = bindings_;
  done(parameter);
}

void Evaluator::bind(Number parameter, std::span<const Bits> value) {
  rebind(parameter);
  std::copy(value.begin(), value.end(), slot(parameter));
}

void Evaluator::bind(Number parameter, HostArray value) {
  rebind(parameter);
  arrays_[entries_[parameter].slot] = std::move(value);
}

void Evaluator::set_arrays(Number computation, std::vector<HostArray> values) {
  std::move(values.begin(), values.end(), arrays_.begin() + entries_[computation].slot);
  done(computation);
}

const HostArray& Evaluator::array(Number number, int which) const {
  if (!ready(number)) throw InternalError("interpreter: an array was asked for before it was computed");
  return arrays_[entries_[number].slot + static_cast<std::size_t>(which)];
}

std::span<const Bits> Evaluator::value(Number number) const {
  return std::span(values_).subspan(entries_[number].slot, entries_[number].node->type().scalars.size());
}

std::span<const Bits> Evaluator::evaluate(Number expression) {
  const std::size_t base = stack_.size();
  const std::size_t applied = shadows_.size();
  try {
    tick();
    demand(expression);
    for (; stack_.size() > base; tick()) step(stack_.back());
  } catch (...) {
    stack_.resize(base);
    leave(applied);
    throw;
  }
  return value(expression);
}

std::vector<std::int64_t> Evaluator::integers(Number expression) {
  std::vector<std::int64_t> out;
  for (Bits bits : evaluate(expression)) out.push_back(from_bits<std::int64_t>(bits));
  return out;
}

bool Evaluator::demand(Number number) {
  if (ready(number)) return true;
  stack_.push_back({number});
  return false;
}

bool Evaluator::demand_children(Number number) {
  bool all = true;
  for (Number child : children(number))
    if (node(child).type().is_element() && !demand(child)) all = false;
  return all;
}

/// Works on the top of the stack: either pushes what it needs first, or computes its value and pops it.
void Evaluator::step(Frame frame) {
  // A node may have been pushed twice before it was computed once.
  if (ready(frame.number)) return stack_.pop_back();
  if (node(frame.number).op() == Op::parameter) throw InternalError("interpreter: a parameter has no value");
  switch (node(frame.number).op().as<ScalarOp>()) {
    case Op::cond:
      return step_cond(frame.number);
    case Op::while_loop:
      return step_while(frame);
    case Op::constant:
    case Op::primitive:
    case Op::tuple:
    case Op::project:
    case Op::index:
    case Op::linear_index:
    case Op::shape:
      if (!demand_children(frame.number)) return;
      compute(frame.number);
      done(frame.number);
      return stack_.pop_back();
  }
}

void Evaluator::step_cond(Number number) {
  const auto parts = children(number);
  const Number condition = parts[position_of(Op::cond, "condition")];
  if (!demand(condition)) return;
  const Number taken =
      value(condition)[0] ? parts[position_of(Op::cond, "then")] : parts[position_of(Op::cond, "otherwise")];
  if (!demand(taken)) return;
  const auto result = value(taken);
  std::copy(result.begin(), result.end(), slot(number));
  done(number);
  stack_.pop_back();
}

// The state of the loop lives in the node's own slot.
void Evaluator::step_while(Frame frame) {
  const auto parts = children(frame.number);
  const Number predicate = parts[position_of(Op::while_loop, "predicate")];
  const Number body = parts[position_of(Op::while_loop, "body")];
  const Number initially = parts[position_of(Op::while_loop, "initial")];
  const auto begin_test = [&] {
    bind(parameters(predicate)[0], value(frame.number));
    stack_.back().phase = Frame::Phase::testing;
    demand(results(predicate)[0]);
  };
  switch (frame.phase) {
    case Frame::Phase::start: {
      if (!demand(initially)) return;
      const auto initial = value(initially);
      std::copy(initial.begin(), initial.end(), slot(frame.number));
      enter(parameters(predicate)[0]);
      enter(parameters(body)[0]);
      return begin_test();
    }
    case Frame::Phase::testing:
      if (!value(results(predicate)[0])[0]) {
        leave(shadows_.size() - 2);
        done(frame.number);
        return stack_.pop_back();
      }
      bind(parameters(body)[0], value(frame.number));
      stack_.back().phase = Frame::Phase::stepping;
      demand(results(body)[0]);
      return;
    case Frame::Phase::stepping: {
      const auto next = value(results(body)[0]);
      std::copy(next.begin(), next.end(), slot(frame.number));
      return begin_test();
    }
  }
}

/// A strict node whose operands are there.
void Evaluator::compute(Number number) {
  const Node& node = this->node(number);
  const auto parts = children(number);
  Bits* out = slot(number);
  switch (node.op().as<ScalarOp>()) {
    case Op::constant:
      *out = node.payload().bits;
      return;
    case Op::primitive:
      return compute_primitive(number);
    case Op::tuple:
      for (Number part : parts) {
        const auto from = value(part);
        out = std::copy(from.begin(), from.end(), out);
      }
      return;
    case Op::project: {
      const Number whole = parts[position_of(Op::project, "value")];
      const ir::Project part(node);
      const auto from = value(whole).subspan(static_cast<std::size_t>(part.first()),
                                             static_cast<std::size_t>(part.count()));
      std::copy(from.begin(), from.end(), out);
      return;
    }
    case Op::index:
    case Op::linear_index:
      return compute_index(number);
    case Op::shape:
      for (std::int64_t extent : array(parts[position_of(Op::shape, "array")])->extents)
        *out++ = to_bits(extent);
      return;
    case Op::cond:
    case Op::while_loop:
      break;
  }
  throw InternalError("interpreter: not a strict scalar expression");
}

void Evaluator::compute_primitive(Number number) {
  const Node& node = this->node(number);
  const auto parts = children(number);
  const ScalarType type = ir::PrimitiveTerm(node).operand_type();
  Bits operands[3] = {};
  for (std::size_t i = 0; i < parts.size(); ++i) operands[i] = value(parts[i])[0];
  const ir::StandardArithmetic standard;
  const auto result = apply(node.payload().primitive, type, node.type().scalars[0], {operands, parts.size()});
  if (!result) {
    if (type == ScalarType::uint64) fail(node, ir::divided_by_zero(operands[0]));
    const std::int64_t dividend = integer(operands[0], type);
    fail(node, operands[1] == 0 ? ir::divided_by_zero(dividend) : ir::division_overflows(dividend));
  }
  *slot(number) = *result;
}

void Evaluator::compute_index(Number number) {
  const Node& node = this->node(number);
  const auto parts = children(number);
  const HostArray& source = array(parts[position_of(Op::index, "array")]);
  const auto ix = value(parts[position_of(Op::index, "at")]);
  if (node.op() == Op::linear_index) {
    const auto position = from_bits<std::int64_t>(ix[0]);
    if (position < 0 || position >= source->size()) fail(node, ir::out_of_range(position, source->size()));
    return read_element(number, source, position);
  }
  std::int64_t position = 0;
  for (std::size_t d = 0; d < ix.size(); ++d) {
    const auto i = from_bits<std::int64_t>(ix[d]);
    if (i < 0 || i >= source->extents[d]) fail(node, ir::out_of_range(i, source->extents[d]));
    position = position * source->extents[d] + i;
  }
  read_element(number, source, position);
}

void Evaluator::read_element(Number number, const HostArray& array, std::int64_t position) {
  Bits* out = slot(number);
  for (std::size_t c = 0; c < array->scalars.size(); ++c)
    out[c] = load(array->scalars[c], array->buffers[c].get(), position);
}

}  // namespace anabranch::interp
