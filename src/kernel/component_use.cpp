#include "kernel/component_use.h"

#include <algorithm>

#include "ir/views.h"
#include "ir/walk.h"

namespace anabranch::kernel {

ComponentUse::ComponentUse(const Kernel& kernel) {
  std::vector<ir::Ref> roots = kernel.body;
  for (const auto* part : other_bodies(kernel)) roots.insert(roots.end(), part->begin(), part->end());
  const auto mark = [&](const ir::Node& node, std::size_t first, std::size_t count) {
    std::vector<bool>& used = used_[&node];
    used.resize(std::max(used.size(), first + count));
    std::fill_n(used.begin() + static_cast<std::ptrdiff_t>(first), count, true);
  };
  const auto mark_all = [&](const ir::Node& node) { mark(node, 0, node.type().scalars.size()); };
  for (const ir::Ref& root : roots) mark_all(*root);
  const std::vector<const ir::Node*> nodes = ir::topological(roots);
  for (const ir::Node* node : nodes) {
    if (node->op() == ir::Op::project) {
      const ir::Project part(*node);
      mark(*part.value(), static_cast<std::size_t>(part.first()), static_cast<std::size_t>(part.count()));
    } else {
      for (const ir::Ref& child : node->children()) mark_all(*child);
    }
  }

  for (const KernelArray& array : kernel.arrays) {
    std::vector<bool>& read = arrays_.emplace_back(array.type.scalars.size());
    for (const ir::Node* node : nodes) {
      if (!is_read(node->op()) || ir::Read(*node).array() != array.parameter) continue;
      for (std::size_t c = 0; c < read.size(); ++c) read[c] = read[c] || of_node(*node, c);
    }
  }
}

bool ComponentUse::of_node(const ir::Node& node, std::size_t component) const {
  const auto found = used_.find(&node);
  return found != used_.end() && component < found->second.size() && found->second[component];
}

}  // namespace anabranch::kernel
