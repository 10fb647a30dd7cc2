#pragma once

#include <cstdint>

#include <anabranch/source.h>

/// Offsets of either width, as sources give them.
namespace anabranch::ir {

/// Bytes of one.
constexpr std::int64_t offset_bytes(OffsetType type) {
  switch (type) {
    case OffsetType::int32:
      return 4;
    case OffsetType::int64:
      return 8;
  }
  return 0;
}

inline std::int64_t offset_at(const void* offsets, OffsetType type, std::int64_t i) {
  switch (type) {
    case OffsetType::int32:
      return static_cast<const std::int32_t*>(offsets)[i];
    case OffsetType::int64:
      return static_cast<const std::int64_t*>(offsets)[i];
  }
  return 0;
}

}  // namespace anabranch::ir
