#pragma once

#include <cstdint>

#include "kernel/kernel.h"

/// What is known about the operator of a commutative fold. Throws InternalError where it is not one.
namespace anabranch::kernel {

/// The operator's primitive on component c.
ir::Primitive operator_of(const Kernel& kernel, std::size_t c);

/// The scalar x (its bits) such that joining x and y, on either side, gives y bit for bit.
std::uint64_t identity_of(ir::Primitive primitive, ScalarType type);

}  // namespace anabranch::kernel
