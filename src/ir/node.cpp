#include "ir/node.h"

namespace anabranch::ir {

namespace {
std::atomic<std::uint64_t> next_id{1};
}

Node::Node(Op op, Type type, std::vector<Ref> children, Payload payload, Place place, FreeParameters free)
    : op_(op),
      id_(next_id.fetch_add(1, std::memory_order_relaxed)),
      type_(std::move(type)),
      children_(std::move(children)),
      payload_(std::move(payload)),
      place_(place),
      free_(std::move(free)) {}

// The children of a destroyed node are put on a list instead of being released from its destructor, so that a
// chain of any length is destroyed in constant stack. The list is linked through the destroyed nodes' ids,
// which are no longer used, so that it needs no memory, which may have run out.
void Node::destroy(const Node* node) noexcept {
  static_assert(sizeof(id_) >= sizeof(Node*));
  Node* dead = nullptr;
  const auto add = [&dead](const Node* next) {
    auto* const last = const_cast<Node*>(next);
    last->id_ = reinterpret_cast<std::uintptr_t>(std::exchange(dead, last));
  };
  add(node);
  while (dead) {
    Node* const dying = dead;
    dead = reinterpret_cast<Node*>(static_cast<std::uintptr_t>(dying->id_));
    for (Ref& child : dying->children_) {
      const Node* orphan = std::exchange(child.node_, nullptr);
      if (orphan && orphan->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) add(orphan);
    }
    delete dying;
  }
}

}  // namespace anabranch::ir
