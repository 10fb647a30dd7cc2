#pragma once

#include <string>

#include "compile.h"

namespace anabranch {

/// What the compiler made of a program and why: every operation with its form and the reason, whether it is
/// stored or fused away, the kernels with their loops, exact bytes per chunk as expressions, and the time of
/// each pass.
std::string explain(const Compiled& compiled);

}  // namespace anabranch
