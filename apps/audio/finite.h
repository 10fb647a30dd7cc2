#pragma once

#include <bit>
#include <cstdint>

namespace anabranch::apps {

/// Neither infinite nor NaN; as loops over many are vectorised.
inline bool is_finite(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7f800000U) != 0x7f800000U;
}

}  // namespace anabranch::apps
