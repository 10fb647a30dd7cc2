#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

/// Integers in files are little-endian, and so is every machine Anabranch runs on.
namespace anabranch::io::detail {

static_assert(std::endian::native == std::endian::little);

template <class T>
T load(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace anabranch::io::detail
