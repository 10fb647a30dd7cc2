#pragma once

#include <cstdint>
#include <type_traits>

#include "device/table.h"

#ifdef __CUDACC__
#define ANABRANCH_BOTH __host__ __device__
#else
#define ANABRANCH_BOTH
#endif

/// What host and GPU have in common: sizes of elements, parts and items.
namespace anabranch::device {

template <class T>
ANABRANCH_BOTH constexpr T smaller(T a, T b) {
  return a < b ? a : b;
}
template <class T>
ANABRANCH_BOTH constexpr T larger(T a, T b) {
  return a > b ? a : b;
}

/// Calls f with an unsigned number of the element's size.
template <class F>
Status with_bits(const Element& element, F&& f) {
  switch (element.bytes) {
    case 1:
      return element.kind == Element::Kind::floating ? not_compiled : f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    case 8:
      return f(std::uint64_t{});
    default:
      return not_compiled;
  }
}

/// Calls f with a zero of the element's type.
template <class F>
Status with_integer(const Element& element, F&& f) {
  if (element.kind == Element::Kind::floating) return not_compiled;
  const bool is_signed = element.kind == Element::Kind::signed_integer;
  return with_bits(element, [&]<class U>(U zero) {
    return is_signed ? f(static_cast<std::make_signed_t<U>>(zero)) : f(zero);
  });
}

/// How many of the lowest bits a number takes, one at least.
constexpr int bits_of(std::uint64_t number) {
  int bits = 1;
  while ((number >>= 1) != 0) ++bits;
  return bits;
}

/// Of n sorted numbers: the first that is not below `value`, or n.
template <class T>
ANABRANCH_BOTH std::int64_t first_not_below(const T* numbers, std::int64_t n, std::int64_t value) {
  std::int64_t begin = 0;
  while (begin < n) {
    const std::int64_t middle = begin + (n - begin) / 2;
    if (static_cast<std::int64_t>(numbers[middle]) < value)
      begin = middle + 1;
    else
      n = middle;
  }
  return begin;
}

ANABRANCH_BOTH inline std::int64_t begin_of(const Parts& parts, std::int64_t part) {
  return parts.offsets ? parts.offsets[part] - parts.offsets[0] : part * parts.size;
}
ANABRANCH_BOTH inline std::int64_t length_of(const Parts& parts, std::int64_t part) {
  return parts.offsets ? parts.offsets[part + 1] - parts.offsets[part] : parts.size;
}
/// The part that an element is in.
ANABRANCH_BOTH inline std::int64_t part_of(const Parts& parts, std::int64_t element) {
  if (parts.count <= 1) return 0;
  if (!parts.offsets) return element / parts.size;
  // The last one that begins at it or before: that one is not empty.
  return first_not_below(parts.offsets, parts.count, element + parts.offsets[0] + 1) - 1;
}
inline bool is_small_enough(const Parts& parts) {
  return parts.count >= 0 && parts.elements >= 0 && parts.count <= most_rearranged &&
         parts.elements <= most_rearranged;
}

inline Status check_rank(const ItemOffsets& what) {
  return what.rank >= 0 && what.rank <= most_extents ? done : not_compiled;
}

/// Elements of an item, or too_many_elements: where an extent is negative, or the product overflows and none is 0.
ANABRANCH_BOTH inline std::int64_t item_size(const ItemOffsets& what, std::int64_t item) {
  std::int64_t size = 1;
  bool is_none = false;
  for (std::int32_t k = 0; k < most_extents; ++k) {  // a fixed number: a GPU keeps the extents in registers
    if (k >= what.rank) break;
    const ItemOffsets::Extent& extent = what.extents[k];
    const std::int64_t x = extent.of_item ? extent.of_item[item] : extent.value;
    if (x < 0) return too_many_elements;
    is_none = is_none || x == 0;
    size = x > 0 && size > INT64_MAX / x ? INT64_MAX : size * x;
  }
  if (is_none) return 0;
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
  if (status == bad_argument)
    return "a negative count, one that is too large, or too little temporary storage";
  return nullptr;
}

}  // namespace anabranch::device
