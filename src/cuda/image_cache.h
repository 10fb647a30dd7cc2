#pragma once

#include <string>

#include "cuda/device.h"

namespace anabranch::cuda {

/// What `compiler.compile` gives, from the cache on disk (cache/kernel_cache.h) where it is there; else it is
/// compiled and kept there. A key is the unit, the headers, and the compiler's settings for the architecture.
/// Throws what `compile` throws.
Compiler::Result find_or_compile(Compiler& compiler, const Unit& unit, const std::string& name,
                                 const std::string& architecture);

}  // namespace anabranch::cuda
