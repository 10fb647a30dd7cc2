#include "run/context/global_values.h"

#include <algorithm>
#include <span>

#include "interp/evaluate.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::runtime {

using plan::PlanArray;

namespace {

/// Some components of an array, where these lie.
HostArray components_of(const detail::ArrayData& array, std::span<const int> components) {
  auto part = std::make_shared<detail::ArrayData>(array);
  part->scalars.clear();
  part->buffers.clear();
  for (const int c : components) {
    part->scalars.push_back(array.scalars[static_cast<std::size_t>(c)]);
    part->buffers.push_back(array.buffers[static_cast<std::size_t>(c)]);
  }
  return part;
}

}  // namespace

GlobalValues::GlobalValues(const plan::Plan& plan, const std::vector<HostArray>& arguments,
                           std::stop_token stop, Fetch fetch, std::int64_t item)
    : plan_(plan),
      stop_(std::move(stop)),
      fetch_(std::move(fetch)),
      item_(item),
      arrays_(plan.global.arrays.size()),
      uniforms_(plan.global.uniforms.size()) {
  for (std::size_t a = 0; a < plan.global.arrays.size(); ++a) {
    const PlanArray& array = plan.global.arrays[a];
    if (array.origin == PlanArray::Origin::use) set(static_cast<int>(a), array.node->payload().array);
    if (array.origin == PlanArray::Origin::argument)
      set(static_cast<int>(a), arguments[static_cast<std::size_t>(array.index)]);
  }
}

void GlobalValues::set(int number, const HostArray& array) {
  by_node_[plan_.global.arrays[static_cast<std::size_t>(number)].node.get()] = array;
  arrays_[static_cast<std::size_t>(number)] = array;
  for (std::size_t a = 0; a < plan_.global.arrays.size(); ++a)
    if (const PlanArray& part = plan_.global.arrays[a];
        part.origin == PlanArray::Origin::components && part.index == number)
      set(static_cast<int>(a), components_of(*array, part.components));
}

const HostArray& GlobalValues::array(int number) const {
  const HostArray& array = place(number);
  fetch_(array);
  return array;
}

const HostArray& GlobalValues::place(int number) const {
  const HostArray& array = arrays_[static_cast<std::size_t>(number)];
  if (!array) throw InternalError("the run asks for an array that is not there");
  return array;
}

std::optional<plan::ArrayPart> GlobalValues::overwritten_by(int number, std::size_t component) const {
  const PlanArray& planned = plan_.global.arrays[static_cast<std::size_t>(number)];
  if (planned.in_place_of.empty() || planned.in_place_of[component].array < 0) return std::nullopt;
  const plan::ArrayPart part = planned.in_place_of[component];
  const auto& old = place(part.array)->buffers[static_cast<std::size_t>(part.component)];
  return place(number)->buffers[component] == old ? std::optional(part) : std::nullopt;
}

void GlobalValues::forget(int number) {
  HostArray& array = arrays_[static_cast<std::size_t>(number)];
  const auto known = by_node_.find(plan_.global.arrays[static_cast<std::size_t>(number)].node.get());
  if (known != by_node_.end() && known->second == array) by_node_.erase(known);
  array.reset();
}

const HostArray* GlobalValues::find(const ir::Node* node) const {
  const auto it = by_node_.find(node);
  return it == by_node_.end() ? nullptr : &it->second;
}

std::int64_t GlobalValues::uniform(int number) {
  const std::lock_guard lock(mutex_);
  auto& value = uniforms_[static_cast<std::size_t>(number)];
  if (!value) value = evaluate_uniform(plan_.global.uniforms[static_cast<std::size_t>(number)], *this);
  return *value;
}

std::int64_t GlobalValues::positions(const plan::KernelStep& step) {
  plan::ChunkShape shape;
  shape.items = {1};
  shape.uniforms.resize(uniforms_.size());
  for (const plan::PlanExtent& d : step.positions.extents)
    if (d.kind == plan::PlanExtent::Kind::uniform)
      shape.uniforms[static_cast<std::size_t>(d.index)] = uniform(d.index);
  return plan::positions_of(step, shape);
}

namespace {

/// What is given twice is held once.
void add_input(std::vector<HostArray>& inputs, const HostArray& array) {
  if (std::find(inputs.begin(), inputs.end(), array) == inputs.end()) inputs.push_back(array);
}

void add_inputs(const plan::Plan& plan, std::vector<HostArray>& inputs) {
  for (const PlanArray& array : plan.global.arrays)
    if (array.origin == PlanArray::Origin::use) add_input(inputs, array.node->payload().array);
  for (const plan::Body& body : plan.bodies) add_inputs(body.plan, inputs);
}

}  // namespace

std::vector<HostArray> inputs_of(const plan::Plan& plan, const std::vector<HostArray>& arguments) {
  std::vector<HostArray> inputs;
  for (const PlanArray& array : plan.global.arrays) {
    if (array.origin == PlanArray::Origin::use) add_input(inputs, array.node->payload().array);
    if (array.origin == PlanArray::Origin::argument)
      add_input(inputs, arguments[static_cast<std::size_t>(array.index)]);
  }
  for (const plan::Body& body : plan.bodies) add_inputs(body.plan, inputs);
  return inputs;
}

namespace {

/// Nearly all uniforms are an extent of a known array, or little more: these are evaluated here, as to make an evaluator takes
/// longer than most rounds of a loop.
class ShortExpression {
 public:
  explicit ShortExpression(const GlobalValues& values) : values_(values) {}

  /// None: an evaluator has to do it.
  std::optional<std::int64_t> value(const ir::Node& e) {
    if (steps_left_-- == 0 || e.type().components() != 1 || e.type().scalars[0] != ScalarType::int64)
      return {};
    if (e.op() == ir::Op::constant) return static_cast<std::int64_t>(e.payload().bits);
    if (const auto extent = ir::as_extent(e)) {
      const HostArray* const array = values_.find(extent->array.get());
      if (!array) return {};
      return (*array)->extents[static_cast<std::size_t>(extent->dimension)];
    }
    if (e.op() == ir::Op::index) return element(ir::Read(e));
    if (e.op() == ir::Op::primitive) return primitive(e.payload().primitive, ir::PrimitiveTerm(e).operands());
    return {};
  }

 private:
  /// The only one of an array of rank 0.
  std::optional<std::int64_t> element(const ir::Read& read) {
    const HostArray* const array = values_.find(read.array().get());
    if (!array || !(*array)->extents.empty()) return {};
    values_.fetch(*array);
    return *static_cast<const std::int64_t*>((*array)->buffers[0].get());
  }

  std::optional<std::int64_t> primitive(detail::Primitive op, std::span<const ir::Ref> operands) {
    using detail::Primitive;
    if (operands.size() != 2) return {};
    const auto a = value(*operands[0]);
    const auto b = a ? value(*operands[1]) : std::nullopt;
    if (!b) return {};
    const auto x = static_cast<std::uint64_t>(*a),
               y = static_cast<std::uint64_t>(*b);  // what is too large wraps
    if (op == Primitive::add) return static_cast<std::int64_t>(x + y);
    if (op == Primitive::subtract) return static_cast<std::int64_t>(x - y);
    if (op == Primitive::multiply) return static_cast<std::int64_t>(x * y);
    if (op == Primitive::minimum) return std::min(*a, *b);
    if (op == Primitive::maximum) return std::max(*a, *b);
    return {};
  }

  const GlobalValues& values_;
  int steps_left_ = 16;
};

}  // namespace

std::int64_t evaluate_uniform(const ir::Ref& expression, const GlobalValues& values) {
  const ir::Node& e = *expression;
  if (const auto value = ShortExpression(values).value(e)) return *value;
  interp::Evaluator evaluator({&expression, 1}, values.stop());
  evaluator.item = values.item();
  for (interp::Evaluator::Number n = 0; n < evaluator.size(); ++n) {
    const ir::Node& node = evaluator.node(n);
    if (!node.type().is_array()) continue;
    const HostArray* array = values.find(&node);
    if (!array) continue;
    values.fetch(*array);
    if (node.op() == ir::Op::parameter)
      evaluator.bind(n, *array);
    else
      evaluator.set_arrays(n, {*array});
  }
  return evaluator.integers(evaluator.number(e))[0];
}

}  // namespace anabranch::runtime
