#pragma once

#include <cstdint>

namespace anabranch::ir {

/// How a value looks inside a chunk of items (docs/architecture.md, "Lifting").
///   avoided    one value, shared by all items: it does not depend on the item
///   regular    items x extents: its shape is the same for all items
///   segmented  flat values and offsets: its shape differs from item to item
enum class Form : std::uint8_t { avoided, regular, segmented };

constexpr const char* name_of(Form form) {
  switch (form) {
    case Form::avoided:
      return "avoided";
    case Form::regular:
      return "regular";
    case Form::segmented:
      return "segmented";
  }
  return "?";
}

}  // namespace anabranch::ir
