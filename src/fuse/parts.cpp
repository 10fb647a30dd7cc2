#include "fuse/parts.h"

#include <algorithm>

#include "ir/node_map.h"
#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

namespace {

/// All that a program computes from, or hands to what it runs.
std::vector<Ref> roots_of(const Staged& staged) {
  std::vector<Ref> roots = staged.results;
  const auto add = [&](std::span<const Ref> more) { roots.insert(roots.end(), more.begin(), more.end()); };
  for (const Control& control : staged.controls) add(inputs_of(control));
  for (const Stage& stage : staged.stages) {
    for (const StageSource& source : stage.sources) add(inputs_of(source));
    for (const ItemBound& bound : stage.bounds) roots.push_back(bound.count);
    for (const Stage::Sink& sink : stage.sinks) add(sink.inputs);
    add(stage.results);
  }
  return roots;
}

class Pusher {
 public:
  explicit Pusher(const Staged& staged) {
    const std::vector<Ref> roots = roots_of(staged);
    for (const Ref& root : roots) ++uses_[root.get()];
    for (const Node* node : topological(roots, within_stage)) {
      if (!within_stage(*node) || node->op() == Op::shape) continue;  // neither reads elements here
      for (const Ref& child : node->children()) ++uses_[child.get()];
    }
  }

  void run(Stage& stage) {
    Rewriter rewriter(
        [&](const Ref& original, const Ref& rebuilt) { return rule(stage, *original, rebuilt); },
        within_stage);
    for (Ref& result : stage.results) result = rewriter(result);
  }

 private:
  Ref rule(Stage& stage, const Node& original, const Ref& rebuilt) {
    if (original.op() != Op::part || !mentions(original, stage.items)) return rebuilt;
    const Ref& whole = PartOf(original).array();
    if (whole->op() != Op::reshape || mentions(*whole, stage.items)) return rebuilt;
    const Ref& values = Reshape(whole).array();
    if (values->type().rank != 1) return rebuilt;
    stage.required.push_back(whole);
    return pushed(values, rebuilt, uses_[whole.get()] == 1);
  }

  /// The row-major one.
  static Ref position(const Ref& ix, const Ref& extents) {
    Ref at;
    for (int d = 0; d < extents->type().components(); ++d) {
      if (at) at = primitive(Primitive::multiply, {at, component(extents, d)}, ix->place());
      at = at ? primitive(Primitive::add, {at, component(ix, d)}, ix->place()) : component(ix, d);
    }
    return at ? at : int64(0);
  }

  /// What the part is of a vector, here of `values`, whose elements have the same positions.
  Ref pushed(const Ref& values, const Ref& part, bool alone) {
    const PartOf of(part);
    const auto is_alone = [&](const Node& array) { return alone && uses_[&array] == 1; };
    const auto enter = [&](const Node& node) { return node.op() == Op::map && is_alone(node); };
    NodeMap<Ref> parts;
    for (const Node* node : topological({&values, 1}, enter)) {
      if (!node->type().is_array()) continue;
      Ref result;
      if (enter(*node)) {
        std::vector<Ref> arrays;
        for (const Ref& array : Map(*node).arrays()) arrays.push_back(parts.at(array.get()));
        result = map(Map(*node).function(), std::move(arrays), node->place(), node->payload().label);
      } else if (is_alone(*node) && node->op() == Op::generate) {
        const Ref ix = parameter(of.shape()->type(), node->place());
        const Ref at = primitive(Primitive::add, {of.begin(), position(ix, of.shape())}, node->place());
        result = generate(of.shape(), lambda({ix}, ir::apply(Generate(*node).function(), {{at}})),
                          node->place(), node->payload().label);
      } else {
        result = ir::part(of.shape(), Ref(node), of.begin(), part->place(), part->payload().label,
                          part->payload().consecutive);
      }
      parts[node] = std::move(result);
    }
    return parts.at(values.get());
  }

  NodeMap<int> uses_;  ///< how many operands a node is
};

}  // namespace

void parts(Staged& staged) {
  const auto has_parts = [](const Stage& stage) {
    const std::vector<const Node*> nodes = topological(stage.results, within_stage);
    return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) { return node->op() == Op::part; });
  };
  if (std::none_of(staged.stages.begin(), staged.stages.end(), has_parts)) return;
  Pusher pusher(staged);
  for (Stage& stage : staged.stages) pusher.run(stage);
}

}  // namespace anabranch::fuse
