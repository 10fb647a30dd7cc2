#pragma once

#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include "device/primitives.h"

namespace anabranch::test {

template <class T>
inline constexpr device::Element element_of = std::is_same_v<T, std::int32_t>   ? device::Element::int32
                                              : std::is_same_v<T, std::int64_t> ? device::Element::int64
                                              : std::is_same_v<T, float>        ? device::Element::float32
                                                                                : device::Element::float64;

/// Asks for the storage, then runs with exactly that much.
template <class What>
void perform(const device::Primitives& primitives, const What& what) {
  device::Temporary temporary{};
  primitives.run(what, temporary);
  std::vector<std::byte> storage(temporary.bytes);
  temporary.at = storage.data();
  primitives.run(what, temporary);
}

/// Integers below `limit`, half of them negative where the type has a sign.
template <class T>
std::vector<T> numbers(std::int64_t n, int limit) {
  std::mt19937 random(static_cast<unsigned>(n) + 1);
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& x : v) {
    const int value = static_cast<int>(random() % static_cast<unsigned>(limit));
    x = static_cast<T>(std::is_signed_v<T> && random() % 2 ? -value : value);
  }
  return v;
}

/// An element that is moved only.
struct Sixteen {
  std::uint64_t low = 0, high = 0;
  Sixteen() = default;
  explicit Sixteen(std::uint8_t value) : low(value), high(~std::uint64_t{value}) {}
  bool operator==(const Sixteen&) const = default;
};

}  // namespace anabranch::test
