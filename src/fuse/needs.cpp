#include "fuse/needs.h"

#include <algorithm>

#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::fuse {

using namespace ir;

void Need::add(const Need& other) {
  level = std::max(level, other.level);
  stored = std::max(stored, other.stored);
  parts = std::max(parts, other.parts);
}

Needs::Needs(const Staged& staged) : staged_(staged) {
  for (std::size_t p = 0; p < staged.parts.size(); ++p) {
    const auto& [kind, index, with] = staged.parts[p];
    switch (kind) {
      case Part::Kind::stage:
        stage(index, static_cast<int>(p) + 1);
        for (const int other : with) stage(other, static_cast<int>(p) + 1);
        break;
      case Part::Kind::control:
        control(staged.controls[static_cast<std::size_t>(index)], static_cast<int>(p) + 1);
        break;
    }
  }
  std::vector<Ref> roots = staged.results;
  for (const ExtentCheck& check : staged.extent_checks) roots.push_back(check.extent);
  of_all(roots, -1);
}

Need Needs::of(const Node& node) const {
  const auto known = need_.find(&node);
  return known == need_.end() ? Need{} : known->second;
}

int Needs::stage_of(const Node& node) const {
  const auto known = stage_.find(&node);
  return known == stage_.end() ? -1 : known->second;
}

bool Needs::enter(const Node& node) const {
  return within_stage(node) && node.op() != Op::shape && !need_.contains(&node);
}

void Needs::stage(int number, int parts) {
  const Stage& stage = staged_.stages[static_cast<std::size_t>(number)];
  for (const StageSource& source : stage.sources)
    for (const int feed : source.feeds) this->stage(feed, parts);
  for (const Nested& nested : stage.nested) {
    Need need = of_all(nested.body.captured, number);
    need.parts = parts;
    ++need.stored;
    for (const Nested::Result& result : nested.results) need_[result.array.get()] = need;
  }
  std::vector<Ref> roots = stage.results;
  for (const StageSource& source : stage.sources)
    for (Ref& input : inputs_of(source)) roots.push_back(std::move(input));
  for (const Ref& input : inputs_of_functions(staged_, stage)) roots.push_back(input);
  for (const ItemBound& bound : stage.bounds) roots.push_back(bound.count);
  for (const ExtentCheck& check : stage.extent_checks) roots.push_back(check.extent);
  for (const Ref& reshape : stage.required)
    for (const Ref& extent : extents_compared(staged_, *reshape)) roots.push_back(extent);
  Need need = of_all(roots, number);
  need.parts = parts;
  for (const Stage::Sink& sink : stage.sinks)
    if (sink.consume) need_[sink.consume.get()] = need;
}

void Needs::control(const Control& control, int parts) {
  Need need = of_all(inputs_of(control), -1);  // before a place in the table is asked for
  need.parts = parts;
  need_[control.node.get()] = need;
}

Need Needs::of_all(const std::vector<Ref>& roots, int stage) {
  Need all;
  const auto unknown = [this](const Node& node) { return enter(node); };
  for (const Node* node : topological(roots, unknown)) all.add(compute(*node, stage));
  return all;
}

Need Needs::compute(const Node& node, int stage) {
  if (const auto known = need_.find(&node); known != need_.end()) return known->second;
  Need need;
  for (const Ref& child : node.children()) need.add(of(*child));
  if (const auto facts = staged_.facts.find(&node); facts != staged_.facts.end()) {
    need.add(of_all(facts->second.extents, stage));
    if (facts->second.form != Form::avoided) stage_[&node] = stage;
  }
  // What a stage, a loop or a branch gives has extents when that has run.
  if (node.op() == Op::shape) need.parts = std::max(need.parts, of(maker_of(*ShapeOf(node).array())).parts);
  if (node.op() == Op::fold) ++need.level;
  if (staged_.is_manifest(&node)) ++need.stored;
  need_[&node] = need;
  return need;
}

}  // namespace anabranch::fuse
