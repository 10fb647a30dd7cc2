#include <bit>
#include <numeric>

#include "device/primitives.h"
#include "device/sort_key.h"
#include "rearrange/radix_sort.h"

namespace anabranch::rearrange {

namespace {

using anabranch::detail::scalar_info;
using anabranch::detail::ScalarKind;

template <class U>
using KeyOf = device::SortKey<U>;

template <class U>
KeyOf<U> key_of(ScalarType type) {
  return device::sort_key<U>(device::element_of(type).kind);
}

template <class U>
const U* at(const void* data, std::int64_t begin) {
  return static_cast<const U*>(data) + begin;
}
template <class U>
U* at(void* data, std::int64_t begin) {
  return static_cast<U*>(data) + begin;
}

/// One component, whose positions nobody asks for: the keys themselves are sorted.
template <class U>
class SortValues {
 public:
  SortValues(const Components& array, std::span<void* const> sorted)
      : from_(array.data[0]), to_(sorted[0]), key_(key_of<U>(array.types[0])) {}

  void operator()(std::int64_t begin, std::int64_t n, const Resources& resources) const {
    const U* from = at<U>(from_, begin);
    U* to = at<U>(to_, begin);
    constexpr std::int64_t few = 512;
    if (n < few) {
      for (std::int64_t i = 0; i < n; ++i) to[i] = key_(from[i]);
      std::sort(to, to + n);
      for (std::int64_t i = 0; i < n; ++i) to[i] = key_.value_of(to[i]);
      return;
    }
    // By value: they are in registers then.
    const KeyOf<U> key = key_;
    using Item = Keyed<U, Nothing>;
    RadixSort<U, Nothing>(n, resources)
        .run([from, key](std::int64_t i) { return Item{key(from[i]), {}}; },
             [to, key](std::int64_t at, const Item& item) { to[at] = key.value_of(item.key); });
  }

 private:
  const void* from_;
  void* to_;
  KeyOf<U> key_;
};

/// Finds the order of a part's elements, by one component after the other from the last one on.
class SortPositions {
 public:
  SortPositions(const Components& array, std::span<void* const> sorted, std::int64_t* positions)
      : array_(array), sorted_(sorted), positions_(positions) {}

  void operator()(std::int64_t begin, std::int64_t n, const Resources& resources) const {
    if (n >= std::int64_t{1} << 32)
      order<std::uint64_t>(begin, n, resources);
    else
      order<std::uint32_t>(begin, n, resources);
  }

 private:
  /// Are the elements of one component that is the same number as its key?
  bool keys_are_values() const {
    return array_.types.size() == 1 && scalar_info(array_.types[0]).kind != ScalarKind::floating;
  }

  template <class Number>
  void order(std::int64_t begin, std::int64_t n, const Resources& resources) const {
    std::shared_ptr<void> owners[1];
    Number* numbers = take<Number>(resources, n, owners[0]);
    const std::int64_t blocks = n < large_part ? 1 : blocks_for(n, resources);
    const auto each = [&](auto&& f) {
      each_block(n, blocks, resources, [&](const Block& block) { each_element(block, resources, f); });
    };
    constexpr std::int64_t few = 64;  // are inserted one after the other
    if (n < few) each([&](std::int64_t i) { numbers[i] = static_cast<Number>(i); });
    for (std::size_t c = array_.types.size(); c-- > 0;)
      with_bytes(size_of(array_.types[c]), [&]<class U>(U) {
        const U* values = at<U>(array_.data[c], begin);
        const KeyOf<U> key = key_of<U>(array_.types[c]);
        std::shared_ptr<void> key_owners[2];
        using Item = Keyed<U, Number>;
        const bool first =
            c + 1 == array_.types.size();  // of the components; the elements are in their own order
        if (n >= few && first) {
          U* const sorted = keys_are_values() && !sorted_.empty() ? at<U>(sorted_[0], begin) : nullptr;
          const auto load = [values, key](std::int64_t i) {
            return Item{key.joining_nans(values[i]), static_cast<Number>(i)};
          };
          const auto store = [numbers](std::int64_t at, const Item& item) { numbers[at] = item.number; };
          RadixSort<U, Number> radix(n, resources);
          if (sorted)
            radix.run(load, [&store, sorted, key](std::int64_t at, const Item& item) {
              store(at, item);
              sorted[at] = key.value_of(item.key);
            });
          else
            radix.run(load, store);
          return;
        }
        U* keys = take<U>(resources, n, key_owners[0]);
        each([&](std::int64_t i) { keys[i] = key.joining_nans(values[numbers[i]]); });
        if (n < few) return insert(keys, numbers, n);
        Number* spare = take<Number>(resources, n, key_owners[1]);
        each([&](std::int64_t i) { spare[i] = numbers[i]; });
        RadixSort<U, Number>(n, resources)
            .run([keys, spare](std::int64_t i) { return Item{keys[i], spare[i]}; },
                 [numbers](std::int64_t at, const Item& item) { numbers[at] = item.number; });
      });
    if (positions_)
      each([&](std::int64_t i) { positions_[begin + i] = static_cast<std::int64_t>(numbers[i]); });
    if (n >= few && keys_are_values()) return;  // they are there already
    for (std::size_t c = 0; c < sorted_.size(); ++c)
      with_bytes(size_of(array_.types[c]), [&]<class U>(U) {
        const U* values = at<U>(array_.data[c], begin);
        U* to = at<U>(sorted_[c], begin);
        each([&](std::int64_t i) { to[i] = values[numbers[i]]; });
      });
  }

  template <class U, class Number>
  static void insert(U* keys, Number* numbers, std::int64_t n) {
    for (std::int64_t i = 1; i < n; ++i) {
      const U key = keys[i];
      const Number number = numbers[i];
      std::int64_t to = i;
      for (; to > 0 && keys[to - 1] > key; --to) {
        keys[to] = keys[to - 1];
        numbers[to] = numbers[to - 1];
      }
      keys[to] = key;
      numbers[to] = number;
    }
  }

  const Components& array_;
  std::span<void* const> sorted_;
  std::int64_t* positions_;
};

}  // namespace

void sort(const Components& array, const Parts& parts, std::span<void* const> sorted, std::int64_t* positions,
          const Resources& resources) {
  const auto each = [&](const auto& sort_part) {
    each_part(
        parts.count, resources, [&](std::int64_t i) { return parts.length(i); },
        [&](std::int64_t i, const Resources& own) { sort_part(parts.begin(i), parts.length(i), own); });
  };
  if (array.types.size() == 1 && !positions && !sorted.empty())
    with_bytes(size_of(array.types[0]), [&]<class U>(U) { each(SortValues<U>(array, sorted)); });
  else
    each(SortPositions(array, sorted, positions));
}

}  // namespace anabranch::rearrange
