#pragma once

#include <optional>
#include <span>

#include "interp/bits.h"
#include "ir/primitive.h"

/// The scalar primitives in plain C++, one type at a time, as ir/primitive.h states them. Written from that
/// text and from nothing else: no table is shared with a code generator, so that each tests the other.
namespace anabranch::interp {

/// The result of `primitive` on operands of type `type`; `result` is the type asked of a cast (else ignored).
/// Nothing where the language has no result: an integer divided by zero, MIN / -1, MIN % -1.
std::optional<Bits> apply(ir::Primitive primitive, ScalarType type, ScalarType result,
                          std::span<const Bits> operands);

}  // namespace anabranch::interp
