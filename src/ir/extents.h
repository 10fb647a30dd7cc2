#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <anabranch/source.h>

/// How many elements shapes hold. Beside an extent of 0 the product of the others may be beyond 64 bits: it wraps, and is 0 in
/// the end.
namespace anabranch::ir {

/// One more factor of such a product.
constexpr std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

/// The product of `extents`, of which `get` makes numbers.
template <class Extents, class Get>
std::int64_t product_of(const Extents& extents, Get&& get) {
  std::int64_t product = 1;
  for (const auto& extent : extents) product = times(product, get(extent));
  return product;
}

template <class Extents>
std::int64_t product_of(const Extents& extents) {
  return product_of(extents, [](std::int64_t extent) { return extent; });
}

/// Of an item, where all have one shape.
inline std::int64_t elements_of_item(const ArrayInfo& info) {
  return product_of(info.extents, [](const auto& extent) { return *extent; });
}

/// Extents of some items, per dimension: one if it is the same for all of them, else one per item.
using ItemExtents = std::vector<std::vector<std::int64_t>>;

inline std::int64_t extent_of_item(const std::vector<std::int64_t>& extents, std::int64_t item) {
  return extents[extents.size() == 1 ? 0 : static_cast<std::size_t>(item)];
}

inline std::int64_t elements_of_item(const ItemExtents& extents, std::int64_t item) {
  return product_of(extents, [item](const auto& each) { return extent_of_item(each, item); });
}

}  // namespace anabranch::ir
