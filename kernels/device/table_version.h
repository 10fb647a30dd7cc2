#pragma once

#include <anabranch/version.h>

#include "device/table.h"

/// Both sides compute this from their own headers.
namespace anabranch::device {

inline std::uint64_t table_version() {
  constexpr std::uint64_t interface = 5;
  std::uint64_t hash = 1469598103934665603u;
  for (const std::uint64_t part :
       {interface, std::uint64_t{version_major}, std::uint64_t{version_minor}, std::uint64_t{version_patch},
        std::uint64_t{sizeof(Table)}, std::uint64_t{sizeof(Sort)}, std::uint64_t{sizeof(Select)},
        std::uint64_t{sizeof(Group)}, std::uint64_t{sizeof(LastAt)}, std::uint64_t{sizeof(Accumulate)},
        std::uint64_t{sizeof(Repeat)}, std::uint64_t{sizeof(Failure)}, std::uint64_t{sizeof(ItemOffsets)}}) {
    hash ^= part;
    hash *= 1099511628211u;
  }
  return hash;
}

}  // namespace anabranch::device
