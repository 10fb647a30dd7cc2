#pragma once

#include <bit>
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
  return anabranch::detail::value_of<T>(bits);
}

template <class T>
Bits to_bits(T value) {
  return anabranch::detail::bits_of(value);
}

/// Element i of a buffer of `type`. A bool in memory is true if its byte is not zero.
inline Bits load(ScalarType type, const void* buffer, std::int64_t i) {
  const auto* bytes = static_cast<const unsigned char*>(buffer) + static_cast<std::size_t>(i) * size_of(type);
  // The low bytes of the 64 bits come first in memory.
  static_assert(std::endian::native == std::endian::little);
  Bits bits = 0;
  std::memcpy(&bits, bytes, size_of(type));
  return type == ScalarType::boolean ? Bits{bits != 0} : bits;
}

inline void store(ScalarType type, void* buffer, std::int64_t i, Bits bits) {
  std::memcpy(static_cast<unsigned char*>(buffer) + static_cast<std::size_t>(i) * size_of(type), &bits,
              size_of(type));
}

}  // namespace anabranch::interp
