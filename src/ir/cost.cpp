#include "ir/cost.h"

#include <algorithm>

#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::ir {

namespace {

constexpr std::int64_t word = 8;
constexpr std::int64_t most = 1 << 20;
/// The cost of a read at a computed position, besides the element.
constexpr Cost position{3, 0};

/// The cost of a node without that of the elements it reads.
Cost without_elements(const Node& node) {
  if (!node.op().is_a<ScalarOp>()) return {};
  switch (node.op().as<ScalarOp>()) {
    case Op::primitive:
      return {info(node.payload().primitive).cost, 0};
    case Op::cond:
      return {1, 0};
    case Op::index:
    case Op::linear_index:
      return Read(node).array()->type().rank > 0 ? position : Cost{};
    case Op::constant:
    case Op::tuple:
    case Op::project:
    case Op::while_loop:
    case Op::shape:
      break;
  }
  return {};
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  operations = std::min(most, operations + other.operations);
  bytes = std::min(most * word, bytes + other.bytes);
  return *this;
}

std::int64_t additions(const Cost& cost) { return cost.operations + (cost.bytes + word - 1) / word; }

Cost element_read(const Type& array) {
  std::int64_t bytes = 0;
  for (const ScalarType type : array.scalars) bytes += static_cast<std::int64_t>(size_of(type));
  return {0, (bytes + word - 1) / word * word};
}

Cost own_cost(const Node& node) {
  Cost cost = without_elements(node);
  if (is_read(node.op())) cost += element_read(Read(node).array()->type());
  return cost;
}

Cost evaluation_cost(std::span<const Ref> roots, const std::function<Cost(const Node&)>& element) {
  Cost cost;
  for (const Node* node : topological(roots, [](const Node& n) { return !n.type().is_array(); })) {
    cost += without_elements(*node);
    if (is_read(node->op()))
      cost += element ? element(*Read(*node).array()) : element_read(Read(*node).array()->type());
    if (node->op() == Op::while_loop) cost += unknown_rounds;
  }
  return cost;
}

}  // namespace anabranch::ir
