#pragma once

#include <cstdint>
#include <type_traits>

#include "device/table.h"

#ifdef __CUDACC__
#define ANABRANCH_BOTH __host__ __device__
#else
#define ANABRANCH_BOTH
#endif

/// Which types there are, and the sizes of items, the same for host and GPU.
namespace anabranch::device {

template <class T>
ANABRANCH_BOTH constexpr T smaller(T a, T b) {
  return a < b ? a : b;
}
template <class T>
ANABRANCH_BOTH constexpr T larger(T a, T b) {
  return a > b ? a : b;
}

/// Calls f with a zero of the type; `not_compiled` for one that is not among Types.
template <class... Types, class F>
Status with_type(Element element, F&& f) {
  Status status = not_compiled;
  const auto offer = [&]<class T>(T zero, Element which) {
    if (which == element) status = f(zero);
  };
  const auto number_of = []<class T>(T) {
    if constexpr (std::is_same_v<T, std::int32_t>) return Element::int32;
    if constexpr (std::is_same_v<T, std::int64_t>) return Element::int64;
    if constexpr (std::is_same_v<T, float>) return Element::float32;
    if constexpr (std::is_same_v<T, double>) return Element::float64;
  };
  (offer(Types{}, number_of(Types{})), ...);
  return status;
}

/// A value of 16 bytes that is only moved.
struct alignas(16) Wide {
  std::uint64_t words[2];
};

/// Calls f with a value of that size.
template <class... Sizes, class F>
Status with_size(std::int32_t bytes, F&& f) {
  Status status = not_compiled;
  ((static_cast<std::int32_t>(sizeof(Sizes)) == bytes ? void(status = f(Sizes{})) : void()), ...);
  return status;
}

/// Which combinations are compiled.
template <class F>
Status sort_types(const SortPairs& what, F&& f) {
  return with_type<std::int32_t, std::int64_t, float, double>(what.key, [&](auto key) {
    return with_size<std::uint32_t, std::uint64_t>(what.value_bytes,
                                                   [&](auto value) { return f(key, value); });
  });
}
template <class F>
Status segmented_sort_types(const SegmentedSortPairs& what, F&& f) {
  return with_type<std::int32_t, std::int64_t, float, double>(what.key, [&](auto key) {
    return with_size<std::uint32_t>(what.value_bytes, [&](auto value) { return f(key, value); });
  });
}
template <class F>
Status select_types(const Select& what, F&& f) {
  return with_size<std::uint8_t, std::uint32_t, std::uint64_t, Wide>(what.element_bytes, f);
}
inline Status check_rank(const ItemOffsets& what) {
  return what.rank >= 0 && what.rank <= most_extents ? done : not_compiled;
}

/// Elements of an item, or too_many_elements. An overflow counts even where a later extent is 0.
ANABRANCH_BOTH inline std::int64_t item_size(const ItemOffsets& what, std::int64_t item) {
  std::int64_t size = 1;
  for (std::int32_t k = 0; k < most_extents; ++k) {  // a fixed number: a GPU keeps the extents in registers
    if (k >= what.rank) break;
    const ItemOffsets::Extent& extent = what.extents[k];
    const std::int64_t x = extent.of_item ? extent.of_item[item] : extent.value;
    if (x < 0 || (x > 0 && size > INT64_MAX / x)) return too_many_elements;
    size *= x;
  }
  return size < too_many_elements ? size : too_many_elements;
}

/// Joins the totals of adjacent items. too_many_elements is absorbing, so that one number reports any
/// failure; associative, as no sum is negative or beyond twice too_many_elements.
struct JoinTotals {
  ANABRANCH_BOTH constexpr ItemTotals operator()(ItemTotals a, ItemTotals b) const {
    return {smaller(a.elements + b.elements, too_many_elements), larger(a.longest, b.longest)};
  }
};

inline const char* text_of(Status status) {
  if (status == done) return "done";
  if (status == not_compiled) return "not compiled for these types";
  if (status == bad_argument) return "a negative count, or too little temporary storage";
  return nullptr;
}

}  // namespace anabranch::device
