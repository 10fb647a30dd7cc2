#pragma once

#include "ir/primitive.h"

/// The mathematical functions on the host, one value at a time: what the interpreter computes, and the bits
/// that every other machine gives.
namespace anabranch::ir {

/// `y` is not looked at where the function takes one operand. InternalError where it is no such primitive.
float mathematical(Primitive primitive, float x, float y = 0);
double mathematical(Primitive primitive, double x, double y = 0);

}  // namespace anabranch::ir
