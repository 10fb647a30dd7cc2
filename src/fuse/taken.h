#pragma once

#include <span>
#include <vector>

#include "ir/node_map.h"

/// Which components of elements scalar code takes: of its parameters, and of the arrays that it reads.
namespace anabranch::fuse {

/// Scalar components of an element, first to last.
using Mask = std::vector<bool>;

Mask all_of(const ir::Type& type);
bool any(const Mask& mask);
bool all(const Mask& mask);
/// Those of `more`, too.
void add(Mask& mask, const Mask& more);

struct Taken {
  ir::NodeMap<Mask> parameters;
  ir::NodeMap<std::vector<Mask>> arrays;  ///< one for each place that reads an element
};

/// What terms take of which these components are asked for.
Taken taken_by(std::span<const ir::Ref> terms, std::span<const Mask> masks);

}  // namespace anabranch::fuse
