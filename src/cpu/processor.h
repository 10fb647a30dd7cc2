#pragma once

#include <cstdint>
#include <string>

namespace anabranch::cpu {

/// Everything by which a code generator may tell one processor from another: vendor, family, model, features,
/// and the registers that the operating system saves. A part of cache keys, found without opening the code
/// generator (LLVM reads the same numbers); not meant to be read by people.
const std::string& processor_identity();
/// The same, asked of the core that this thread runs on.
std::string read_processor_identity();

/// Bytes of caches, of the core that asks first.
struct Caches {
  std::int64_t of_core = 0;  ///< the second level, which a core has for itself
  std::int64_t of_thread =
      0;                    ///< of that, where all threads of the core, or all cores that share it, compute
  std::int64_t shared = 0;  ///< the last level, that part of it which this core uses
};
const Caches& caches();

}  // namespace anabranch::cpu
