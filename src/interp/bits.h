#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>

#include <anabranch/array.h>
#include <anabranch/element.h>

/// How the interpreter holds values: a scalar of any type is its bytes, zero-extended to 64 bits (as in a
/// constant node), and an array is the host array itself.
namespace anabranch::interp {

using Bits = std::uint64_t;
using HostArray = std::shared_ptr<anabranch::detail::ArrayData>;

template <class T>
T from_bits(Bits bits) {
  if constexpr (std::same_as<T, bool>) {
    return bits != 0;
  } else if constexpr (sizeof(T) == 1) {
    return static_cast<T>(bits);
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
  } else {
    return std::bit_cast<T>(bits);
  }
}

template <class T>
Bits to_bits(T value) {
  if constexpr (std::same_as<T, bool>) {
    return value ? 1 : 0;
  } else if constexpr (sizeof(T) == 1) {
    return static_cast<std::uint8_t>(value);
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<std::uint32_t>(value);
  } else {
    return std::bit_cast<std::uint64_t>(value);
  }
}

/// Element i of a buffer of `type`. A bool in memory is true if its byte is not zero.
inline Bits load(ScalarType type, const void* buffer, std::int64_t i) {
  const auto* bytes = static_cast<const unsigned char*>(buffer) + static_cast<std::size_t>(i) * size_of(type);
  switch (type) {
    case ScalarType::boolean:
      return *bytes != 0 ? 1 : 0;
    case ScalarType::uint8:
      return *bytes;
    case ScalarType::int32:
    case ScalarType::float32: {
      std::uint32_t bits = 0;
      std::memcpy(&bits, bytes, sizeof bits);
      return bits;
    }
    case ScalarType::int64:
    case ScalarType::float64: {
      std::uint64_t bits = 0;
      std::memcpy(&bits, bytes, sizeof bits);
      return bits;
    }
  }
  return 0;
}

inline void store(ScalarType type, void* buffer, std::int64_t i, Bits bits) {
  // The low bytes of the 64 bits come first in memory.
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(static_cast<unsigned char*>(buffer) + static_cast<std::size_t>(i) * size_of(type), &bits,
              size_of(type));
}

}  // namespace anabranch::interp
