#pragma once

#include <string>

namespace anabranch::cpu {

/// Everything by which a code generator may tell one processor from another: vendor, family, model, features,
/// and the registers that the operating system saves. A part of cache keys, found without opening the code
/// generator (LLVM reads the same numbers); not meant to be read by people.
const std::string& processor_identity();
/// The same, asked of the core that this thread runs on.
std::string read_processor_identity();

}  // namespace anabranch::cpu
