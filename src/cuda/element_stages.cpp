#include "cuda/element_stages.h"

#include <algorithm>
#include <utility>

#include "ir/views.h"
#include "kernel/component_use.h"

namespace anabranch::cuda {
namespace {

constexpr std::int64_t words_of_address = 2;

std::int64_t words_of(ScalarType type) { return (static_cast<std::int64_t>(size_of(type)) + 3) / 4; }

}  // namespace

ElementStages::ElementStages(const kernel::Kernel& kernel, const kernel::Regions& body, const Holds& shared,
                             const Holds& own)
    : kernel_(kernel), shared_(shared), own_(own), nodes_(body[0].nodes) {
  std::erase_if(nodes_, [&](const ir::Node* node) { return shared_(*node); });
  for (const ir::Node* node : nodes_) stages_[node] = combine;
  const kernel::ComponentUse use(kernel);
  for (const ir::Node* node : nodes_) {
    if (!is_read(node->op())) continue;
    const bool is_own = own_ && own_(*node);
    const auto needed =
        is_own ? std::vector<const ir::Node*>() : kernel::reachable(node->children(), [&](const ir::Node& n) {
          return shared_(n) || (own_ && own_(n));
        });
    const bool at_read_place = std::any_of(
        needed.begin(), needed.end(), [&](const ir::Node* n) { return is_read(n->op()) && !shared_(*n); });
    const Stage stage = at_read_place ? gather : fetch;
    stages_[node] = std::min(stages_[node], stage);
    for (const ir::Node* n : needed)
      if (const auto at = stages_.find(n); at != stages_.end()) at->second = std::min(at->second, stage);
    gathers_ = gathers_ || at_read_place;
    if (stage == gather) words_ += words_of_address;
    const auto& scalars = node->type().scalars;
    for (std::size_t c = 0; c < scalars.size(); ++c) {
      if (!use.of_node(*node, c)) continue;
      if (stage == fetch) bytes_ += static_cast<std::int64_t>(size_of(scalars[c]));
      words_ += words_of(scalars[c]);
    }
  }
  for (const Stage stage : {fetch, gather}) {
    const auto used = used_after(stage);
    used_after_[stage].insert(used.begin(), used.end());
  }
  for (const ir::Node* node : handed_on(gather))
    if (!is_read(node->op()))
      for (const ScalarType type : node->type().scalars) words_ += words_of(type);
}

bool ElementStages::is_free(const ir::Node& node) const {
  return node.op() == ir::Op::constant || node.op() == ir::Op::tuple || node.op() == ir::Op::project ||
         (own_ && own_(node));
}

bool ElementStages::belongs(const ir::Node& node, Stage stage) const {
  const auto at = stages_.find(&node);
  if (at == stages_.end()) return false;
  return at->second == stage ||
         (at->second < stage && is_free(node) && used_after_[stage - 1].contains(&node));
}

bool ElementStages::is_done(const ir::Node& node, Stage stage) const {
  const auto at = stages_.find(&node);
  return at != stages_.end() && at->second <= stage;
}

/// What later stages need, of whatever stage: what only the places of reads need that are done is not among it.
std::vector<const ir::Node*> ElementStages::used_after(Stage stage) const {
  return kernel::reachable(kernel_.body, [&](const ir::Node& node) {
    return shared_(node) || (is_read(node.op()) && is_done(node, stage));
  });
}

std::vector<const ir::Node*> ElementStages::handed_on(Stage stage) const {
  std::vector<const ir::Node*> out;
  for (const ir::Node* node : used_after(stage))
    if (is_done(*node, stage) && !is_free(*node)) out.push_back(node);
  return out;
}

}  // namespace anabranch::cuda
