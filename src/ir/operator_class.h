#pragma once

#include <optional>

#include "ir/fold_order.h"
#include "ir/node.h"

/// Which order of reduction an operator gets (ir/fold_order.h). It follows from the operator's expression alone, as it
/// is when the fold is made (Payload::order): passes that know more simplify the expression, not the class.
namespace anabranch::ir {

/// Of a fold's function (left, right) -> element. Commutative if and only if component c of the
/// result is, for every c, one of add, multiply, minimum, maximum, bit_and, bit_or, bit_xor applied
/// to component c of `left` and component c of `right`, in this order. Else ordered; so is an
/// operator on elements without components.
fold_order::OperatorClass fold_order_class(const Node& lambda);

/// The primitive that an operator on elements of one component is, if values joined by it in any order give the same
/// bits: one of those above, on integers or bool, whichever operand it takes first; of bool `||` and `&&`, too.
std::optional<Primitive> primitive_in_any_order(const Node& lambda);

}  // namespace anabranch::ir
