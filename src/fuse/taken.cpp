#include "fuse/taken.h"

#include <algorithm>
#include <functional>

#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

class Demand {
 public:
  Taken run(std::span<const Ref> terms, std::span<const Mask> masks) {
    for (std::size_t i = 0; i < terms.size(); ++i) ask(*terms[i], masks[i]);
    const auto order = topological(terms, [](const Node& node) { return !node.type().is_array(); });
    for (auto it = order.rbegin(); it != order.rend(); ++it) pass_on(**it);
    return std::move(taken_);
  }

 private:
  void ask(const Node& node, const Mask& mask) {
    Mask& known = asked_[&node];
    known.resize(std::max(known.size(), mask.size()));
    add(known, mask);
  }
  void ask_all(const Node& node) {
    if (node.op() == Op::lambda)
      for (const Ref& result : node.results()) ask_all(*result);
    else if (!node.type().is_array())
      ask(node, all_of(node.type()));
  }

  void pass_on(const Node& node) {
    const auto found = asked_.find(&node);
    if (found == asked_.end() || !any(found->second)) return;
    const Mask mask = found->second;
    if (!node.op().is_a<ScalarOp>()) {
      if (node.op() == Op::parameter) taken_.parameters[&node] = mask;
      return;
    }
    switch (node.op().as<ScalarOp>()) {
      case Op::tuple: {
        auto at = mask.begin();
        for (const Ref& part : node.children()) {
          const auto end = at + part->type().components();
          ask(*part, Mask(at, end));
          at = end;
        }
        return;
      }
      case Op::project: {
        const Project part(node);
        Mask of_value(static_cast<std::size_t>(part.value()->type().components()), false);
        std::copy(mask.begin(), mask.end(), of_value.begin() + part.first());
        return ask(*part.value(), of_value);
      }
      case Op::cond:
        ask_all(*Cond(node).condition());
        ask(*Cond(node).then(), mask);
        return ask(*Cond(node).otherwise(), mask);
      case Op::index:
      case Op::linear_index:
        taken_.arrays[Read(node).array().get()].push_back(mask);
        return ask_all(*Read(node).at());
      case Op::while_loop:
      case Op::primitive:
        for (const Ref& child : node.children()) ask_all(*child);
        return;
      case Op::constant:
      case Op::shape:
        return;
    }
  }

  NodeMap<Mask> asked_;
  Taken taken_;
};

}  // namespace

Mask all_of(const Type& type) { return Mask(static_cast<std::size_t>(type.components()), true); }

bool any(const Mask& mask) { return std::find(mask.begin(), mask.end(), true) != mask.end(); }

bool all(const Mask& mask) { return std::find(mask.begin(), mask.end(), false) == mask.end(); }

void add(Mask& mask, const Mask& more) {
  std::transform(mask.begin(), mask.end(), more.begin(), mask.begin(), std::logical_or<>());
}

Taken taken_by(std::span<const Ref> terms, std::span<const Mask> masks) { return Demand().run(terms, masks); }

}  // namespace anabranch::fuse
