#include "rearrange/rearrange.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "ir/run_error.h"
#include "rearrange/radix_sort.h"

namespace anabranch::rearrange {

// ---- select

namespace {

/// The elements of [begin, end) whose mask is set, to `to`.
template <class U>
void copy_selected(const U* from, const std::uint8_t* mask, std::int64_t begin, std::int64_t end, U* to,
                   std::int64_t count) {
  // Without branches: each element is written where the next one that is selected belongs, inside the room.
  std::int64_t next = 0;
  for (std::int64_t i = begin; i < end && next < count; ++i) {
    to[next] = from[i];
    next += mask[i] != 0;
  }
}

std::int64_t count_selected(const std::uint8_t* mask, std::int64_t begin, std::int64_t end) {
  std::int64_t count = 0;
  for (std::int64_t i = begin; i < end; ++i) count += mask[i] != 0;
  return count;
}

}  // namespace

MayFail select(const Components& array, const std::uint8_t* mask, const Parts& parts,
               std::span<void* const> out, const Parts& to, const Resources& resources) {
  FirstFailure failure;
  const auto copy = [&](std::int64_t begin, std::int64_t end, std::int64_t first, std::int64_t count) {
    for (std::size_t c = 0; c < array.types.size(); ++c)
      with_bytes(size_of(array.types[c]), [&]<class U>(U) {
        copy_selected(static_cast<const U*>(array.data[c]), mask, begin, end, static_cast<U*>(out[c]) + first,
                      count);
      });
  };
  const auto fits = [&](std::int64_t part, std::int64_t count) {
    if (count == to.length(part)) return true;
    failure.note(part, ir::other_extent(to.length(part), count));
    return false;
  };
  const auto small = [&](std::int64_t part) {
    const std::int64_t begin = parts.begin(part), end = begin + parts.length(part);
    const std::int64_t count = count_selected(mask, begin, end);
    if (fits(part, count)) copy(begin, end, to.begin(part), count);
  };
  const auto large = [&](std::int64_t part) {
    const std::int64_t begin = parts.begin(part), n = parts.length(part);
    const std::int64_t blocks = blocks_for(n, resources);
    std::vector<std::int64_t> first(static_cast<std::size_t>(blocks) + 1);
    each_block(n, blocks, resources, [&](const Block& block) {
      first[static_cast<std::size_t>(block.number) + 1] =
          count_selected(mask, begin + block.begin, begin + block.end);
    });
    std::partial_sum(first.begin(), first.end(), first.begin());
    if (!fits(part, first.back())) return;
    each_block(n, blocks, resources, [&](const Block& block) {
      const auto b = static_cast<std::size_t>(block.number);
      copy(begin + block.begin, begin + block.end, to.begin(part) + first[b], first[b + 1] - first[b]);
    });
  };
  each_part(parts.count, resources, [&](std::int64_t i) { return parts.length(i); }, small, large);
  return failure.get();
}

// ---- group, last_at

namespace {

/// The places of one part's elements.
template <class T>
struct PlacesOf {
  const T* data;
  std::int64_t extent;
  bool drops;

  /// Below 0: nowhere.
  std::int64_t operator[](std::int64_t i) const { return static_cast<std::int64_t>(data[i]); }
  bool is_wrong(std::int64_t i) const {
    const auto place = static_cast<std::uint64_t>((*this)[i]);
    return place >= static_cast<std::uint64_t>(extent) &&
           !(drops && std::is_signed_v<T> && data[i] == static_cast<T>(-1));
  }
  /// The first element whose place is out of range; `end` if there is none.
  std::int64_t first_wrong(std::int64_t begin, std::int64_t end) const {
    for (; begin < end; ++begin)
      if (is_wrong(begin)) break;
    return begin;
  }
};

/// f(part, its places) where all of a part's places are in range.
template <class F>
MayFail with_places(const Places& places, const Resources& resources, F&& f) {
  FirstFailure failure;
  with_integer(places.type, [&]<class T>(T) {
    const auto one = [&](std::int64_t part) {
      const std::int64_t n = places.elements.length(part);
      const PlacesOf<T> of{static_cast<const T*>(places.data) + places.elements.begin(part),
                           places.to.length(part), places.drops};
      const std::int64_t blocks = n < large_part ? 1 : blocks_for(n, resources);
      std::vector<std::int64_t> wrong(static_cast<std::size_t>(blocks), n);
      each_block(n, blocks, resources, [&](const Block& block) {
        const std::int64_t first = of.first_wrong(block.begin, block.end);
        if (first < block.end) wrong[static_cast<std::size_t>(block.number)] = first;
      });
      const std::int64_t first = *std::min_element(wrong.begin(), wrong.end());
      if (first < n) return failure.note(part, ir::out_of_range(of[first], of.extent));
      f(part, of);
    };
    each_part(
        places.elements.count, resources,
        [&](std::int64_t i) { return std::max(places.elements.length(i), places.to.length(i)); }, one, one);
  });
  return failure.get();
}

/// Each thread counts for itself where that takes little memory; else all count in one place, which is right for
/// integers in any order.
template <class T>
void count_places(const PlacesOf<T>& places, std::int64_t n, std::int64_t* counts,
                  const Resources& resources) {
  std::fill_n(counts, places.extent, 0);
  const std::int64_t blocks = n < large_part ? 1 : blocks_for(n, resources);
  if (blocks == 1) {
    for (std::int64_t i = 0; i < n; ++i)
      if (places[i] >= 0) ++counts[places[i]];
    return;
  }
  if (places.extent > n) {
    each_block(n, blocks, resources, [&](const Block& block) {
      for (std::int64_t i = block.begin; i < block.end; ++i)
        if (places[i] >= 0) std::atomic_ref(counts[places[i]]).fetch_add(1, std::memory_order_relaxed);
    });
    return;
  }
  std::shared_ptr<void> owner;
  std::int64_t* own = take<std::int64_t>(resources, blocks * places.extent, owner);
  each_block(n, blocks, resources, [&](const Block& block) {
    std::int64_t* mine = own + block.number * places.extent;
    std::fill_n(mine, places.extent, 0);
    for (std::int64_t i = block.begin; i < block.end; ++i)
      if (places[i] >= 0) ++mine[places[i]];
  });
  each_block(places.extent, blocks_for(places.extent, resources), resources, [&](const Block& block) {
    for (std::int64_t b = 0; b < blocks; ++b)
      for (std::int64_t place = block.begin; place < block.end; ++place)
        counts[place] += own[b * places.extent + place];
  });
}

/// The elements' numbers, by place.
template <class Key, class Number, class T>
void order_by_place(const PlacesOf<T>& places, std::int64_t n, std::int64_t* order,
                    const Resources& resources) {
  std::shared_ptr<void> owners[4];
  Key* keys = take<Key>(resources, n, owners[0]);
  Key* spare_keys = take<Key>(resources, n, owners[1]);
  Number* numbers = take<Number>(resources, n, owners[2]);
  Number* spare = take<Number>(resources, n, owners[3]);
  const std::int64_t blocks = n < large_part ? 1 : blocks_for(n, resources);
  each_block(n, blocks, resources, [&](const Block& block) {
    for (std::int64_t i = block.begin; i < block.end; ++i) {
      keys[i] = static_cast<Key>(places[i] < 0 ? places.extent : places[i]);
      numbers[i] = static_cast<Number>(i);
    }
  });
  RadixSort<Key, Number>(keys, numbers, spare_keys, spare, n, resources)
      .run(std::bit_width(static_cast<std::uint64_t>(places.extent)));
  each_block(n, blocks, resources, [&](const Block& block) {
    for (std::int64_t i = block.begin; i < block.end; ++i) order[i] = static_cast<std::int64_t>(numbers[i]);
  });
}

/// The same for little work: counted, then each is put in its place.
template <class T>
void order_few(const PlacesOf<T>& places, std::int64_t n, std::int64_t* order) {
  std::vector<std::int64_t> next(static_cast<std::size_t>(places.extent) + 2);
  const auto place = [&](std::int64_t i) {
    return static_cast<std::size_t>(places[i] < 0 ? places.extent : places[i]);
  };
  for (std::int64_t i = 0; i < n; ++i) ++next[place(i) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (std::int64_t i = 0; i < n; ++i) order[next[place(i)]++] = i;
}

}  // namespace

MayFail group(const Places& places, std::int64_t* counts, std::int64_t* order, const Resources& resources) {
  return with_places(places, resources, [&](std::int64_t part, const auto& of) {
    const std::int64_t n = places.elements.length(part);
    if (counts) count_places(of, n, counts + places.to.begin(part), resources);
    if (!order) return;
    std::int64_t* to = order + places.elements.begin(part);
    constexpr std::int64_t few = 1 << 14, narrow = INT32_MAX;
    if (n < large_part && of.extent < few)
      order_few(of, n, to);
    else if (of.extent < narrow && n < narrow)
      order_by_place<std::uint32_t, std::uint32_t>(of, n, to, resources);
    else
      order_by_place<std::uint64_t, std::uint64_t>(of, n, to, resources);
  });
}

MayFail last_at(const Places& places, std::int64_t* last, const Resources& resources) {
  return with_places(places, resources, [&](std::int64_t part, const auto& of) {
    const std::int64_t n = places.elements.length(part);
    std::int64_t* to = last + places.to.begin(part);
    std::fill_n(to, of.extent, -1);
    const std::int64_t blocks = n < large_part ? 1 : blocks_for(n, resources);
    if (blocks == 1) {
      for (std::int64_t i = 0; i < n; ++i)
        if (of[i] >= 0) to[of[i]] = i;
      return;
    }
    // The largest number wins, whoever comes first.
    each_block(n, blocks, resources, [&](const Block& block) {
      for (std::int64_t i = block.end; i-- > block.begin;) {
        if (of[i] < 0) continue;
        const std::atomic_ref<std::int64_t> at(to[of[i]]);
        std::int64_t known = at.load(std::memory_order_relaxed);
        while (known < i && !at.compare_exchange_weak(known, i, std::memory_order_relaxed)) {
        }
      }
    });
  });
}

// ---- repeat

MayFail repeat(ScalarType type, const void* counts, const Parts& parts, std::int64_t* numbers,
               const Parts& to, const Resources& resources) {
  FirstFailure failure;
  with_integer(type, [&]<class T>(T) {
    const auto one = [&](std::int64_t part) {
      const T* of = static_cast<const T*>(counts) + parts.begin(part);
      const std::int64_t n = parts.length(part);
      const std::int64_t blocks =
          to.length(part) < large_part
              ? 1
              : std::max<std::int64_t>(1, std::min(n, blocks_for(to.length(part), resources)));
      std::vector<std::int64_t> first(static_cast<std::size_t>(blocks) + 1),
          negative(static_cast<std::size_t>(blocks));
      each_block(n, blocks, resources, [&](const Block& block) {
        std::int64_t sum = 0, least = 0;
        for (std::int64_t i = block.begin; i < block.end; ++i) {
          const auto count = static_cast<std::int64_t>(of[i]);
          if (least == 0 && count < 0) least = count;
          sum = std::min<std::int64_t>(sum, INT64_MAX / 4) + std::min<std::int64_t>(count, INT64_MAX / 4);
        }
        first[static_cast<std::size_t>(block.number) + 1] = std::min<std::int64_t>(sum, INT64_MAX / 1024);
        negative[static_cast<std::size_t>(block.number)] = least;
      });
      for (const std::int64_t count : negative)
        if (count < 0) return failure.note(part, ir::negative_count(count));
      std::partial_sum(first.begin(), first.end(), first.begin());
      if (first.back() != to.length(part))
        return failure.note(part, ir::other_extent(to.length(part), first.back()));
      std::int64_t* out = numbers + to.begin(part);
      each_block(n, blocks, resources, [&](const Block& block) {
        std::int64_t* next = out + first[static_cast<std::size_t>(block.number)];
        for (std::int64_t i = block.begin; i < block.end; ++i)
          next = std::fill_n(next, static_cast<std::int64_t>(of[i]), i);
      });
    };
    each_part(
        parts.count, resources, [&](std::int64_t i) { return std::max(parts.length(i), to.length(i)); }, one,
        one);
  });
  return failure.get();
}

}  // namespace anabranch::rearrange
