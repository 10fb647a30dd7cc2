#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "device/operators.h"
#include "device/primitives.h"

namespace anabranch::device {
namespace {

/// Requested as temporary storage, and required, so that tests notice callers that pass none.
constexpr std::size_t some_bytes = 256;

/// What all functions have in common; `body` runs where something is to be computed.
template <class Body>
Status with_storage(Temporary* temporary, std::int64_t count, Body&& body) {
  if (count < 0) return bad_argument;
  if (!temporary->at) {
    temporary->bytes = some_bytes;
    return done;
  }
  if (temporary->bytes < some_bytes) return bad_argument;
  std::memset(temporary->at, 0xa5, some_bytes);  // scratch: callers cannot rely on its contents
  body();
  return done;
}

template <class T>
const T* at(const void* p) {
  return static_cast<const T*>(p);
}
template <class T>
T* at(void* p) {
  return static_cast<T*>(p);
}

/// The key as an unsigned number of the same order.
template <class Key>
std::uint64_t ordered(Key key) {
  if constexpr (std::is_integral_v<Key>) {
    using U = std::make_unsigned_t<Key>;
    return static_cast<U>(static_cast<U>(key) ^ (U{1} << (8 * sizeof(U) - 1)));
  } else {
    using U = std::conditional_t<sizeof(Key) == 4, std::uint32_t, std::uint64_t>;
    constexpr U sign = U{1} << (8 * sizeof(U) - 1);
    if (key == 0) key = 0;  // -0 is +0
    const U bits = std::bit_cast<U>(key);
    return static_cast<U>(bits & sign ? ~bits : bits | sign);
  }
}

/// Sorts the part of both arrays that begins at `begin`.
template <class Key, class Value>
void sort_part(const auto& what, std::int64_t begin, std::int64_t count, int first_bit, int last_bit,
               bool descending) {
  const auto digits = [&](Key key) {
    const std::uint64_t below = last_bit == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << last_bit) - 1;
    return first_bit == 64 ? 0 : (ordered(key) & below) >> first_bit;
  };
  const Key* keys = at<Key>(what.keys) + begin;
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return descending ? digits(keys[a]) > digits(keys[b]) : digits(keys[a]) < digits(keys[b]);
  });
  for (std::int64_t i = 0; i < count; ++i) {
    at<Key>(what.keys_out)[begin + i] = keys[order[static_cast<std::size_t>(i)]];
    at<Value>(what.values_out)[begin + i] =
        at<Value>(what.values)[begin + order[static_cast<std::size_t>(i)]];
  }
}

Status sort_pairs(const SortPairs* what, Temporary* temporary, Stream) {
  return sort_types(*what, [&]<class Key, class Value>(Key, Value) {
    constexpr int bits = 8 * sizeof(Key);
    const int last = what->last_bit ? what->last_bit : bits;
    if (what->first_bit < 0 || what->first_bit > last || last > bits) return bad_argument;
    return with_storage(temporary, what->count, [&] {
      sort_part<Key, Value>(*what, 0, what->count, what->first_bit, last, what->descending);
    });
  });
}

Status segmented_sort_pairs(const SegmentedSortPairs* what, Temporary* temporary, Stream) {
  return segmented_sort_types(*what, [&]<class Key, class Value>(Key, Value) {
    return with_storage(temporary, std::min(what->count, what->segments), [&] {
      for (std::int64_t s = 0; s < what->segments; ++s)
        sort_part<Key, Value>(*what, what->offsets[s], what->offsets[s + 1] - what->offsets[s], 0,
                              8 * sizeof(Key), false);
    });
  });
}

Status select(const Select* what, Temporary* temporary, Stream) {
  return select_types(*what, [&]<class T>(T) {
    return with_storage(temporary, what->count, [&] {
      std::int64_t selected = 0;
      for (std::int64_t i = 0; i < what->count; ++i)
        if (what->flags[i]) at<T>(what->to)[selected++] = at<T>(what->from)[i];
      *what->selected = selected;
    });
  });
}

Status item_offsets(const ItemOffsets* what, Temporary* temporary, Stream) {
  if (const Status status = check_rank(*what); status != done) return status;
  return with_storage(temporary, what->count, [&] {
    ItemTotals before{};
    for (std::int64_t i = 0; i < what->count; ++i) {
      what->offsets[i] = before.elements;
      const std::int64_t size = item_size(*what, i);
      before = JoinTotals{}(before, {size, size});
    }
    what->offsets[what->count] = before.elements;
    *what->totals = before;
  });
}

Status devices(int* count) {
  *count = 1;
  return done;
}

const char* text(Status status) {
  const char* known = text_of(status);
  return known ? known : "unknown error";
}

}  // namespace

const Table& host_table() {
  static constexpr Table table{devices, text, sort_pairs, segmented_sort_pairs, select, item_offsets};
  return table;
}

}  // namespace anabranch::device
