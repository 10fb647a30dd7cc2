#pragma once

#include <cstdint>

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include "ir/node.h"

/// Tables over nodes, which every pass makes and fills once: open addressing, no allocation for each entry.
/// Unlike with the standard ones, inserting moves entries, so references into a table do not outlive the next
/// insertion.
namespace anabranch::ir {

struct NodeHash {
  std::size_t operator()(const Node* node) const {
    return static_cast<std::size_t>((reinterpret_cast<std::uintptr_t>(node) >> 4) * 0x9e3779b97f4a7c15ULL >>
                                    16);
  }
};
template <class Value>
using NodeMap = tsl::robin_map<const Node*, Value, NodeHash>;
using NodeSet = tsl::robin_set<const Node*, NodeHash>;

}  // namespace anabranch::ir
