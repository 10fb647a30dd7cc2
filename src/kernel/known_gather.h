#pragma once

#include <optional>

#include "kernel/kernel.h"

/// Reads whose positions are known long before.
namespace anabranch::kernel {

/// A read at positions that lie in memory, of all rows one behind the other: that of a vector by the columns of a sparse
/// matrix's entries. Where it will read some hundred elements later can be looked up now.
struct KnownGather {
  const ir::Node* read = nullptr;          ///< of `from`, at the row's element of `positions`
  const KernelArray* from = nullptr;       ///< one dimension, the same for all items
  const KernelArray* positions = nullptr;  ///< the items' rows
  int component = 0;                       ///< of `positions`: int32 or int64
};

/// The first one of a kernel with rows; nullopt: it has none.
std::optional<KnownGather> known_gather(const Kernel& kernel);

}  // namespace anabranch::kernel
