#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "ir/node.h"

/// What it takes to evaluate scalar code: the one model by which fusion chooses between storing and computing
/// twice, the code generators between conditionals and branches, loops and copies, and work is cut into
/// pieces.
namespace anabranch::ir {

struct Cost {
  std::int64_t operations = 0;  ///< in additions (PrimitiveInfo::cost)
  std::int64_t bytes = 0;       ///< read from memory

  /// Sums saturate: terms that share much are counted as trees in places.
  Cost& operator+=(const Cost& other);
};

/// One number to compare by: a vector unit adds 8 bytes about as fast as the caches deliver them.
std::int64_t additions(const Cost& cost);

/// Reading the element at the current position of a thread or lane. Whole words are read.
Cost element_read(const Type& array);

/// The node by itself: neither its operands nor its functions. A read at a computed position costs the
/// position, its check and the element; an array of rank 0 is read outside of all loops.
Cost own_cost(const Node& node);

/// What a loop costs besides one round: how many there will be is unknown.
inline constexpr Cost unknown_rounds{64, 0};

/// One evaluation of all these terms: shared ones count once, of conditionals both sides. `element` gives the
/// cost of an element of an array that is read (default: element_read).
Cost evaluation_cost(std::span<const Ref> roots, const std::function<Cost(const Node&)>& element = {});

}  // namespace anabranch::ir
