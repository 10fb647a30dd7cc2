#pragma once

#include <anabranch/detail/core.h>

#include "ir/node.h"

/// Between the opaque handles of the public rim and the nodes of the core.
namespace anabranch::front {

inline ir::Ref node_of(const detail::Handle& handle) {
  return ir::Ref(static_cast<const ir::Node*>(handle.node()));
}
inline detail::Handle handle_of(const ir::Ref& node) { return detail::Handle::adopt(node.get()); }
std::vector<ir::Ref> nodes_of(const detail::Handles& handles);

}  // namespace anabranch::front
