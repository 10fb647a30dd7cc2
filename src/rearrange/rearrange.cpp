#include "rearrange/rearrange.h"

#include <atomic>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include <anabranch/error.h>

#include "ir/run_error.h"
#include "rearrange/radix_sort.h"

namespace anabranch::rearrange {

// ---- select

namespace {

/// Eight masks, the first one lowest: each byte is 0 or 1.
std::uint64_t mask_of_eight(const std::uint8_t* mask) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t eight = 0;
  std::memcpy(&eight, mask, sizeof eight);
  return eight;
}

/// The elements of [begin, end) whose mask is set, `count` of them, to `to`.
template <class U>
void copy_selected(const U* from, const std::uint8_t* mask, std::int64_t begin, std::int64_t end, U* to,
                   std::int64_t count) {
  std::int64_t next = 0, i = begin;
  for (; i + 8 <= end && next + 8 <= count; i += 8) {
    const std::uint64_t eight = mask_of_eight(mask + i);
    // Where few are selected, the processor does not see which lines come next.
    __builtin_prefetch(from + i + 1024 / sizeof(U));
    if (eight == 0) continue;
    // Without branches: each element is written where the next one that is selected belongs.
    for (std::int64_t k = 0; k < 8; ++k) {
      to[next] = from[i + k];
      next += static_cast<std::int64_t>(eight >> (8 * k) & 1);
    }
  }
  for (; i < end && next < count; ++i)
    if (mask[i] != 0) to[next++] = from[i];
}

std::int64_t count_selected(const std::uint8_t* mask, std::int64_t begin, std::int64_t end) {
  std::int64_t count = 0;
  constexpr std::uint64_t ones = 0x0101010101010101;
  for (; begin + 8 <= end; begin += 8)  // the sum of the eight bytes
    count += static_cast<std::int64_t>(mask_of_eight(mask + begin) * ones >> 56);
  for (; begin < end; ++begin) count += mask[begin] != 0;
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
  // Parts lie one after the other, before and after, so that short ones are copied together.
  const auto small = [&](std::int64_t from, std::int64_t next) {
    for (std::int64_t part = from; part < next; ++part) {
      const std::int64_t begin = parts.begin(part);
      if (!fits(part, count_selected(mask, begin, begin + parts.length(part)))) return;
    }
    copy(parts.begin(from), parts.begin(next), to.begin(from), to.begin(next) - to.begin(from));
  };
  const auto large = [&](std::int64_t part, const Resources& own) {
    const std::int64_t begin = parts.begin(part), n = parts.length(part);
    // More than there are threads, where each would take longer than a request to stop may wait.
    const std::int64_t blocks = std::max(blocks_for(n, own), n >> 22);
    std::vector<std::int64_t> first(static_cast<std::size_t>(blocks) + 1);
    each_block(n, blocks, own, [&](const Block& block) {
      first[static_cast<std::size_t>(block.number) + 1] =
          count_selected(mask, begin + block.begin, begin + block.end);
    });
    std::partial_sum(first.begin(), first.end(), first.begin());
    if (!fits(part, first.back())) return;
    each_block(n, blocks, own, [&](const Block& block) {
      const auto b = static_cast<std::size_t>(block.number);
      copy(begin + block.begin, begin + block.end, to.begin(part) + first[b], first[b + 1] - first[b]);
    });
  };
  each_run(parts.count, resources, [&](std::int64_t i) { return parts.length(i); }, small, large);
  return failure.get();
}

// ---- group, last_at, accumulate

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

/// The first element whose place is out of range, or n.
template <class T>
std::int64_t check_places(const PlacesOf<T>& places, std::int64_t n, const Resources& resources) {
  const std::int64_t blocks = n < large_part ? 1 : blocks_for(n, resources);
  std::vector<std::int64_t> wrong(static_cast<std::size_t>(blocks), n);
  each_block(n, blocks, resources, [&](const Block& block) {
    const std::int64_t first = places.first_wrong(block.begin, block.end);
    if (first < block.end) wrong[static_cast<std::size_t>(block.number)] = first;
  });
  return *std::min_element(wrong.begin(), wrong.end());
}

/// f(part, its places, resources), the places of type T, which gives the first element whose place is out of range, or
/// as many as there are.
template <class T, class F>
void each_with_places(const Places& places, const Resources& resources, FirstFailure& failure, F&& f) {
  const auto one = [&](std::int64_t part, const Resources& own) {
    const std::int64_t n = places.elements.length(part);
    const PlacesOf<T> of{static_cast<const T*>(places.data) + places.elements.begin(part),
                         places.to.length(part), places.drops};
    const std::int64_t first = f(part, of, own);
    if (first < n) failure.note(part, ir::out_of_range(of[first], of.extent));
  };
  each_part(
      places.elements.count, resources,
      [&](std::int64_t i) { return std::max(places.elements.length(i), places.to.length(i)); }, one);
}
/// The same, of whatever type they are.
template <class F>
MayFail with_places(const Places& places, const Resources& resources, F&& f) {
  FirstFailure failure;
  with_integer(places.type, [&]<class T>(T) { each_with_places<T>(places, resources, failure, f); });
  return failure.get();
}

/// Two values of V to one. `atomically`: the same at a place that others join to meanwhile.
struct Add {
  template <class V>
  V operator()(V a, V b) const {
    return static_cast<V>(a + b);
  }
  template <class V>
  void atomically(V& at, V x) const {
    std::atomic_ref(at).fetch_add(x, std::memory_order_relaxed);
  }
};
template <class Function>
struct JoinedBy {
  template <class V>
  V operator()(V a, V b) const {
    return static_cast<V>(Function{}(a, b));
  }
  template <class V>
  void atomically(V& at, V x) const {
    const std::atomic_ref shared(at);
    V known = shared.load(std::memory_order_relaxed);
    for (V joined = (*this)(known, x); joined != known; joined = (*this)(known, x))
      if (shared.compare_exchange_weak(known, joined, std::memory_order_relaxed)) break;
  }
};

/// Where the elements' values go that meet at places: joined in any order, with no difference.
template <class T, class V, class Operator>
class Meeting {
 public:
  Meeting(const PlacesOf<T>& places, std::int64_t n, V neutral, const Resources& resources)
      : places_(places), n_(n), neutral_(neutral), resources_(resources) {}

  /// Each place gets the values that go there, value(i) of element i. The first element whose place is out of range, or n.
  template <class Value>
  std::int64_t join(V* to, Value value) const {
    const std::int64_t blocks = n_ < large_part ? 1 : blocks_for(n_, resources_);
    if (blocks == 1) {
      fill(to);
      return join_block({0, 0, n_}, to, value);
    }
    std::vector<std::int64_t> wrong(static_cast<std::size_t>(blocks), n_);
    if (places_.extent <= n_ / blocks)
      join_apart(to, value, wrong);
    else
      join_together(to, value, wrong);
    return *std::min_element(wrong.begin(), wrong.end());
  }

 private:
  /// Each block for itself, where that takes no more memory than the elements do.
  template <class Value>
  void join_apart(V* to, Value value, std::vector<std::int64_t>& wrong) const {
    constexpr std::int64_t apart = 128 / sizeof(V);  // no two blocks write to one line, nor to a pair of them
    const std::int64_t blocks = std::ssize(wrong), stride = (places_.extent + apart - 1) / apart * apart;
    std::shared_ptr<void> owner;
    V* const others = take<V>(resources_, (blocks - 1) * stride, owner);
    each_block(n_, blocks, resources_, [&](const Block& block) {
      V* const own = block.number == 0 ? to : others + (block.number - 1) * stride;
      fill_stretches({0, 0, places_.extent}, own);
      wrong[static_cast<std::size_t>(block.number)] = join_block(block, own, value);
    });
    const std::int64_t joined = places_.extent * (blocks - 1);  // fewer than there are elements
    each_block(places_.extent, blocks_for(joined, resources_), resources_, [&](const Block& block) {
      for (std::int64_t b = 0; b < blocks - 1; ++b)
        for (std::int64_t place = block.begin; place < block.end; ++place)
          to[place] = Operator{}(to[place], others[b * stride + place]);
    });
  }
  /// All to one memory.
  template <class Value>
  void join_together(V* to, Value value, std::vector<std::int64_t>& wrong) const {
    fill(to);
    each_block(n_, std::ssize(wrong), resources_, [&](const Block& block) {
      wrong[static_cast<std::size_t>(block.number)] = of_block(
          block, to,
          [to, value](std::int64_t i, std::uint64_t place) { Operator{}.atomically(to[place], value(i)); });
    });
  }

  template <class Value>
  std::int64_t join_block(const Block& block, V* to, Value value) const {
    return of_block(block, to, [to, value](std::int64_t i, std::uint64_t place) {
      to[place] = Operator{}(to[place], value(i));
    });
  }
  /// f(i, place) of each element that goes somewhere. The first one whose place is out of range, or n.
  template <class F>
  std::int64_t of_block(const Block& block, const V* to, F f) const {
    // Beyond the second cache what is at places is asked for some elements ahead.
    constexpr std::int64_t cached = 1 << 20, ahead = 24;
    const bool far_apart = places_.extent > cached / static_cast<std::int64_t>(sizeof(V));
    const PlacesOf<T> places = places_;  // what f writes does not change it
    std::int64_t wrong = n_;
    each_stretch(block, resources_, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t first_wrong = end;
      for (std::int64_t i = begin; i < end; ++i) {
        if (far_apart && i + ahead < end) {
          // Of a place that is out of range: an address that is never read.
          const auto next = reinterpret_cast<std::uintptr_t>(to) +
                            sizeof(V) * static_cast<std::uint64_t>(places[i + ahead]);
          __builtin_prefetch(reinterpret_cast<const void*>(next), 1);  // NOLINT(performance-no-int-to-ptr)
        }
        const auto place = static_cast<std::uint64_t>(places[i]);
        if (place < static_cast<std::uint64_t>(places.extent)) [[likely]]
          f(i, place);
        else if (places.is_wrong(i))
          first_wrong = std::min(first_wrong, i);
      }
      if (first_wrong < end) wrong = std::min(wrong, first_wrong);
    });
    return wrong;
  }

  /// The work of all threads where there are many places.
  void fill(V* to) const {
    if (places_.extent < large_part) return static_cast<void>(std::fill_n(to, places_.extent, neutral_));
    each_block(places_.extent, blocks_for(places_.extent, resources_), resources_,
               [&](const Block& block) { fill_stretches(block, to); });
  }
  void fill_stretches(const Block& block, V* to) const {
    each_stretch(block, resources_,
                 [&](std::int64_t begin, std::int64_t end) { std::fill(to + begin, to + end, neutral_); });
  }

  PlacesOf<T> places_;
  std::int64_t n_;
  V neutral_;
  const Resources& resources_;
};

/// How many elements go to each place. The first element whose place is out of range, or n.
template <class T>
std::int64_t count_places(const PlacesOf<T>& places, std::int64_t n, std::int64_t* counts,
                          const Resources& resources) {
  return Meeting<T, std::int64_t, Add>(places, n, 0, resources).join(counts, [](std::int64_t) {
    return std::int64_t{1};
  });
}

/// The elements' numbers, by place.
template <class Key, class Number, class T>
void order_by_place(const PlacesOf<T>& places, std::int64_t n, std::int64_t* order,
                    const Resources& resources) {
  using Item = Keyed<Key, Number>;
  RadixSort<Key, Number>(n, resources, std::bit_width(static_cast<std::uint64_t>(places.extent)))
      .run(
          [places](std::int64_t i) {
            return Item{static_cast<Key>(places[i] < 0 ? places.extent : places[i]), static_cast<Number>(i)};
          },
          [order](std::int64_t at, const Item& item) { order[at] = static_cast<std::int64_t>(item.number); });
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
  return with_places(places, resources, [&](std::int64_t part, const auto& of, const Resources& own) {
    const std::int64_t n = places.elements.length(part);
    const std::int64_t first =
        counts ? count_places(of, n, counts + places.to.begin(part), own) : check_places(of, n, own);
    if (first < n || !order) return first;
    std::int64_t* to = order + places.elements.begin(part);
    constexpr std::int64_t few = 1 << 14, narrow = INT32_MAX;
    if (n < large_part && of.extent < few)
      order_few(of, n, to);
    else if (of.extent < narrow && n < narrow)
      order_by_place<std::uint32_t, std::uint32_t>(of, n, to, own);
    else
      order_by_place<std::uint64_t, std::uint64_t>(of, n, to, own);
    return n;
  });
}

namespace {

/// For each place the number of the last element that goes there, else -1. Each block of places has a task of its own,
/// which looks at all elements and writes the numbers of those that go there: no two write to one place. What goes
/// elsewhere is written beside, so that nothing has to be foreseen.
template <class T>
void last_by_blocks(const PlacesOf<T>& places, std::int64_t n, std::int64_t* last,
                    const Resources& resources) {
  each_block(places.extent, blocks_for(places.extent, resources), resources, [&](const Block& block) {
    std::fill(last + block.begin, last + block.end, -1);
    std::int64_t elsewhere = 0;
    const auto beside = reinterpret_cast<std::uintptr_t>(&elsewhere),
               begin = reinterpret_cast<std::uintptr_t>(last + block.begin);
    const auto size = static_cast<std::uint64_t>(block.end - block.begin);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint64_t place =
          static_cast<std::uint64_t>(places[i]) - static_cast<std::uint64_t>(block.begin);
      const std::uintptr_t here = -static_cast<std::uintptr_t>(place < size);  // all bits
      const std::uintptr_t at = ((begin + 8 * place) & here) | (beside & ~here);
      *reinterpret_cast<std::int64_t*>(at) = i;  // NOLINT(performance-no-int-to-ptr)
    }
  });
}

/// The same; each task has a block of the elements. The largest number wins, whoever comes first.
template <class T>
void last_of_blocks(const PlacesOf<T>& places, std::int64_t n, std::int64_t* last,
                    const Resources& resources) {
  const std::int64_t filled = places.extent < large_part ? 1 : blocks_for(places.extent, resources);
  each_block(places.extent, filled, resources,
             [&](const Block& block) { std::fill(last + block.begin, last + block.end, -1); });
  each_block(n, blocks_for(n, resources), resources, [&](const Block& block) {
    for (std::int64_t i = block.end; i-- > block.begin;) {
      if (places[i] < 0) continue;
      const std::atomic_ref<std::int64_t> at(last[places[i]]);
      std::int64_t known = at.load(std::memory_order_relaxed);
      while (known < i && !at.compare_exchange_weak(known, i, std::memory_order_relaxed)) {
      }
    }
  });
}

}  // namespace

MayFail last_at(const Places& places, std::int64_t* last, const Resources& resources) {
  return with_places(places, resources, [&](std::int64_t part, const auto& of, const Resources& own) {
    const std::int64_t n = places.elements.length(part);
    if (const std::int64_t first = check_places(of, n, own); first < n) return first;
    std::int64_t* to = last + places.to.begin(part);
    constexpr int few_threads =
        8;  // that may all look at all elements, where there are places for each of them
    const bool by_places = own.threads <= few_threads && blocks_for(of.extent, own) == own.threads;
    if (n < large_part || own.threads == 1) {
      std::fill_n(to, of.extent, -1);
      for (std::int64_t i = 0; i < n; ++i)
        if (of[i] >= 0) to[of[i]] = i;
    } else if (by_places) {
      last_by_blocks(of, n, to, own);
    } else {
      last_of_blocks(of, n, to, own);
    }
    return n;
  });
}

namespace {

struct Smaller {
  template <class V>
  V operator()(V a, V b) const {
    return std::min(a, b);
  }
};
struct Larger {
  template <class V>
  V operator()(V a, V b) const {
    return std::max(a, b);
  }
};

/// f(V{}, operator): for what does not ask for the sign the unsigned type of the width. Gives what f does.
template <class F>
std::int64_t with_operator(ir::Primitive join, ScalarType type, F&& f) {
  const auto by_width = [&](auto with) {
    return with_bytes(size_of(type), [&](auto v) { return f(v, with); });
  };
  const auto by_type = [&](auto with) { return with_integer(type, [&](auto v) { return f(v, with); }); };
  if (join == ir::Primitive::add) return by_width(Add{});
  if (join == ir::Primitive::multiply) return by_width(JoinedBy<std::multiplies<std::uint64_t>>{});
  if (join == ir::Primitive::minimum) return by_type(JoinedBy<Smaller>{});
  if (join == ir::Primitive::maximum) return by_type(JoinedBy<Larger>{});
  if (join == ir::Primitive::bit_and) return by_width(JoinedBy<std::bit_and<std::uint64_t>>{});
  if (join == ir::Primitive::bit_or) return by_width(JoinedBy<std::bit_or<std::uint64_t>>{});
  if (join == ir::Primitive::bit_xor) return by_width(JoinedBy<std::bit_xor<std::uint64_t>>{});
  throw InternalError(fmt::format("accumulate: {} does not join in any order", ir::info(join).name));
}

}  // namespace

MayFail accumulate(const Places& places, const Joined& elements, void* out, const Resources& resources) {
  const std::uint64_t neutral = ir::neutral_element(elements.join, elements.type);
  FirstFailure failure;
  each_with_places<std::int64_t>(
      places, resources, failure, [&](std::int64_t part, const auto& of, const Resources& own) {
        const std::int64_t n = places.elements.length(part), more = n - elements.parts.length(part);
        if (more != 0) {
          failure.note(part, ir::other_size(more));
          return n;
        }
        return with_operator(elements.join, elements.type, [&]<class V, class O>(V, O) {
          const V* const values = static_cast<const V*>(elements.data) + elements.parts.begin(part);
          return Meeting<std::int64_t, V, O>(of, n, static_cast<V>(neutral), own)
              .join(static_cast<V*>(out) + places.to.begin(part),
                    [values](std::int64_t i) { return values[i]; });
        });
      });
  return failure.get();
}

// ---- repeat

MayFail repeat(ScalarType type, const void* counts, const Parts& parts, std::int64_t* numbers,
               const Parts& to, const Resources& resources, std::string_view operation) {
  FirstFailure failure;
  with_integer(type, [&]<class T>(T) {
    const auto one = [&](std::int64_t part, const Resources& own) {
      const T* of = static_cast<const T*>(counts) + parts.begin(part);
      const std::int64_t n = parts.length(part);
      const std::int64_t blocks =
          to.length(part) < large_part
              ? 1
              : std::max<std::int64_t>(1, std::min(n, blocks_for(to.length(part), own)));
      std::vector<std::int64_t> first(static_cast<std::size_t>(blocks) + 1),
          negative(static_cast<std::size_t>(blocks));
      each_block(n, blocks, own, [&](const Block& block) {
        std::int64_t sum = 0, least = 0;
        for (std::int64_t i = block.begin; i < block.end; ++i) {
          const auto count =
              static_cast<std::int64_t>(of[i]);  // NOLINT(bugprone-signed-char-misuse): a number
          if (least == 0 && count < 0) least = count;
          sum = std::min<std::int64_t>(sum, INT64_MAX / 4) + std::min<std::int64_t>(count, INT64_MAX / 4);
        }
        first[static_cast<std::size_t>(block.number) + 1] = std::min<std::int64_t>(sum, INT64_MAX / 1024);
        negative[static_cast<std::size_t>(block.number)] = least;
      });
      for (const std::int64_t count : negative)
        if (count < 0) return failure.note(part, ir::negative_count(operation, count));
      std::partial_sum(first.begin(), first.end(), first.begin());
      if (first.back() != to.length(part))
        return failure.note(part, ir::other_extent(to.length(part), first.back()));
      std::int64_t* out = numbers + to.begin(part);
      each_block(n, blocks, own, [&](const Block& block) {
        std::int64_t* next = out + first[static_cast<std::size_t>(block.number)];
        for (std::int64_t i = block.begin; i < block.end; ++i)
          next = std::fill_n(next, static_cast<std::int64_t>(of[i]), i);
      });
    };
    each_part(
        parts.count, resources, [&](std::int64_t i) { return std::max(parts.length(i), to.length(i)); }, one);
  });
  return failure.get();
}

}  // namespace anabranch::rearrange
