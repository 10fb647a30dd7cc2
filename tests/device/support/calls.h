#pragma once

#include <vector>

#include "device/primitives.h"

namespace anabranch::test {

/// Asks for the storage, then runs with exactly that much.
inline void perform(const device::Primitives& primitives, const device::Operation& what) {
  device::Temporary temporary{};
  primitives.run(what, temporary);
  std::vector<std::byte> storage(temporary.bytes);
  temporary.at = storage.data();
  primitives.run(what, temporary);
}

}  // namespace anabranch::test
