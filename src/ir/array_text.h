#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ir/node.h"

/// Arrays as text, for people.
namespace anabranch::ir {

/// The elements of one array, row-major, each component for itself.
struct ElementsAt {
  const Scalars& scalars;
  std::span<const void* const> components;
  std::int64_t first = 0;  ///< where they begin
};

/// "{{1, 2, 3}, {4, 5, 6}}"; elements of several components in parentheses. Of an array of more than 1000 elements the
/// first three and the last three along each dimension.
std::string array_text(const ElementsAt& elements, std::span<const std::int64_t> extents);

/// What a `trace` prints: its text, the item (unless no_item), the extents and the elements, in one line.
std::string traced_line(const Node& trace, std::int64_t item, const ElementsAt& elements,
                        std::span<const std::int64_t> extents);

}  // namespace anabranch::ir
