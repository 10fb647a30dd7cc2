#pragma once

#include "device/sort_key.h"

/// The operations of table.h as sequences of simple steps, the same for the host and for a GPU: what there is to try
/// without a GPU is tried. An Engine has the steps:
///
///     sizing()                           only the temporary storage is asked for: steps do nothing
///     take<T>(n)                         temporary storage; anything when sizing
///     each(n, f)                         f(0) ... f(n - 1), in any order
///     sort(keys, n, bits)                by the lowest bits of unsigned keys of 4 or 8 bytes
///     sort(keys, numbers, n, bits)       the same, stable, with a number beside each
///     sort_parts(keys, numbers, parts)   each part for itself; whole keys; for many parts that are not long
///     sum(n, f, sums)                    sums[i] is the sum of f(0) ... f(i - 1), for 0 <= i <= n; at most most_sum
///     select(mask, n, numbers, count)    the numbers of elements whose mask is not 0, and how many they are
///     count(n, f, counts, total)         adds 1 to each counts[f(i)] where f(i) >= 0, below `total`
///     join(n, f, value, how, to, total)  joins value(i), of 4 or 8 bytes, to to[f(i)] where f(i) >= 0, below `total`; all
///                                        of `to` is filled with how.neutral first
///
/// `keys` and `numbers` are pairs of buffers, of which the first holds what is to be done and then what was done.
/// Functions that are called at the same time and write to one place use least() and most().
namespace anabranch::device {

template <class T>
struct Twice {
  T* first;
  T* second;
};

inline constexpr std::int64_t most_sum = INT64_MAX / 4;

/// *at becomes the smaller of itself and `value`. What is larger than the final one may be lost.
ANABRANCH_BOTH inline void least(std::int64_t* at, std::int64_t value) {
#ifdef __CUDA_ARCH__
  if (value < *reinterpret_cast<volatile std::int64_t*>(at))
    atomicMin(reinterpret_cast<long long*>(at), static_cast<long long>(value));
#else
  *at = smaller(*at, value);
#endif
}
ANABRANCH_BOTH inline void most(std::int64_t* at, std::int64_t value) {
#ifdef __CUDA_ARCH__
  atomicMax(reinterpret_cast<long long*>(at), static_cast<long long>(value));
#else
  *at = larger(*at, value);
#endif
}

/// How values of 4 or 8 bytes are joined.
template <class W>
struct Joining {
  Join join;
  W neutral;

  ANABRANCH_BOTH W operator()(W a, W b) const {
    using U = std::make_unsigned_t<W>;
    switch (join) {
      case Join::add:
        return static_cast<W>(static_cast<U>(a) + static_cast<U>(b));
      case Join::multiply:
        return static_cast<W>(static_cast<U>(a) * static_cast<U>(b));
      case Join::minimum:
        return smaller(a, b);
      case Join::maximum:
        return larger(a, b);
      case Join::bit_and:
        return a & b;
      case Join::bit_or:
        return a | b;
      case Join::bit_xor:
        break;
    }
    return a ^ b;
  }
  /// To what is at a place where others join at the same time.
  ANABRANCH_BOTH void operator()(W* at, W value) const {
#ifdef __CUDA_ARCH__
    // The types that CUDA's atomic functions take.
    using U = std::conditional_t<sizeof(W) == 8, unsigned long long, unsigned>;
    using S = std::conditional_t<sizeof(W) == 8, long long, int>;
    using V = std::conditional_t<std::is_signed_v<W>, S, U>;
    const auto here = reinterpret_cast<U*>(at);
    const auto bits = static_cast<U>(value);
    switch (join) {
      case Join::add:
        atomicAdd(here, bits);
        break;
      case Join::multiply:
        for (U known = *here, seen;; known = seen) {
          seen = atomicCAS(here, known, known * bits);
          if (seen == known) break;
        }
        break;
      case Join::minimum:
        atomicMin(reinterpret_cast<V*>(at), static_cast<V>(value));
        break;
      case Join::maximum:
        atomicMax(reinterpret_cast<V*>(at), static_cast<V>(value));
        break;
      case Join::bit_and:
        atomicAnd(here, bits);
        break;
      case Join::bit_or:
        atomicOr(here, bits);
        break;
      case Join::bit_xor:
        atomicXor(here, bits);
        break;
    }
#else
    *at = (*this)(*at, value);
#endif
  }
};

template <class T>
struct Fill {
  T* to;
  T value;
  ANABRANCH_BOTH void operator()(std::int64_t i) const { to[i] = value; }
};

/// An element's number in its part.
ANABRANCH_BOTH inline std::int64_t number_in_part(const Parts& parts, std::int64_t number) {
  return number - begin_of(parts, part_of(parts, number));
}

// ---- sort

template <class U, class Key>
struct MakeKeys {
  SortKey<U> key;
  const U* from;
  const std::uint32_t* order;  ///< null: as they lie, whose numbers go to `numbers`
  std::uint32_t* numbers;      ///< null: nobody asks
  Key* keys;
  bool reversible;
  ANABRANCH_BOTH void operator()(std::int64_t i) const {
    const U bits = from[order ? static_cast<std::int64_t>(order[i]) : i];
    keys[i] = reversible ? key(bits) : key.joining_nans(bits);
    if (!order && numbers) numbers[i] = static_cast<std::uint32_t>(i);
  }
};

template <class U, class Key>
struct StoreKeys {
  SortKey<U> key;
  const Key* keys;
  U* to;
  ANABRANCH_BOTH void operator()(std::int64_t i) const { to[i] = key.value_of(static_cast<U>(keys[i])); }
};

struct PartsOf {
  Parts parts;
  const std::uint32_t* numbers;
  std::uint32_t* keys;
  ANABRANCH_BOTH void operator()(std::int64_t i) const {
    // Called where there is storage only. NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
    keys[i] = static_cast<std::uint32_t>(part_of(parts, numbers[i]));
  }
};

struct NumberThem {
  std::uint32_t* numbers;
  ANABRANCH_BOTH void operator()(std::int64_t i) const { numbers[i] = static_cast<std::uint32_t>(i); }
};

/// Sorted numbers of elements as numbers in their parts.
struct StorePositions {
  Parts parts;
  const std::uint32_t* numbers;
  std::int64_t* positions;
  ANABRANCH_BOTH void operator()(std::int64_t i) const {
    positions[i] = number_in_part(parts, static_cast<std::int64_t>(numbers[i]));
  }
};

template <class U>
struct Gather {
  const U* from;
  const std::uint32_t* numbers;
  U* to;
  ANABRANCH_BOTH void operator()(std::int64_t i) const {
    to[i] = from[numbers[i]];  // NOLINT(clang-analyzer-core.NullDereference): as above
  }
};

template <class U>
using KeyFor = std::conditional_t<(sizeof(U) <= 4), std::uint32_t, std::uint64_t>;

template <class U>
inline constexpr int key_bits = 8 * static_cast<int>(sizeof(U));

/// The keys themselves are what is asked for.
template <class U, class Engine>
Status sort_values(Engine& engine, const Column& column, std::int64_t n) {
  using Key = KeyFor<U>;
  Twice<Key> keys{engine.template take<Key>(n), engine.template take<Key>(n)};
  const SortKey<U> key = sort_key<U>(column.element.kind);
  engine.each(n,
              MakeKeys<U, Key>{key, static_cast<const U*>(column.from), nullptr, nullptr, keys.first, true});
  engine.sort(keys, n, key_bits<U>);
  engine.each(n, StoreKeys<U, Key>{key, keys.first, static_cast<U*>(column.to)});
  return done;
}

/// One component: what was sorted stays in order where elements are equal. `first`: nothing was sorted yet.
template <class U, class Engine>
Status sort_column(Engine& engine, const Column& column, const Parts& parts, bool by_parts, bool first,
                   bool reversible, void* key_memory[2], Twice<std::uint32_t>& numbers) {
  using Key = KeyFor<U>;
  Twice<Key> keys{static_cast<Key*>(key_memory[0]), static_cast<Key*>(key_memory[1])};
  engine.each(parts.elements,
              MakeKeys<U, Key>{sort_key<U>(column.element.kind), static_cast<const U*>(column.from),
                               first ? nullptr : numbers.first, numbers.first, keys.first, reversible});
  if (by_parts)
    engine.sort_parts(keys, numbers, parts);
  else
    engine.sort(keys, numbers, parts.elements, key_bits<U>);
  return done;
}

template <class Engine>
Status sort(Engine& engine, const Sort& what) {
  const Parts& parts = what.parts;
  if (!is_small_enough(parts) || what.count < 0) return bad_argument;
  for (std::int32_t c = 0; c < what.count; ++c)
    if (const Status status = with_bits(what.columns[c].element, [](auto) { return done; }); status != done)
      return status;
  const std::int64_t n = parts.elements;
  if (what.count == 1 && parts.count <= 1 && !what.positions && what.columns[0].to)
    return with_bits(what.columns[0].element,
                     [&]<class U>(U) { return sort_values<U>(engine, what.columns[0], n); });
  std::int64_t key_bytes = 4;
  for (std::int32_t c = 0; c < what.count; ++c)
    if (what.columns[c].element.bytes > 4) key_bytes = 8;
  void* key_memory[2];
  for (void*& memory : key_memory) memory = engine.template take<std::uint64_t>((n * key_bytes + 7) / 8);
  Twice<std::uint32_t> numbers{engine.template take<std::uint32_t>(n),
                               engine.template take<std::uint32_t>(n)};
  // A part that is longer is the work of one block of threads, where each part is sorted for itself.
  constexpr std::int64_t long_part = 1 << 15;
  // Of several columns each would be sorted so, and CUB wait for each.
  const bool many = parts.count > 1, by_parts = many && what.count == 1 && parts.longest <= long_part;
  // Nobody sees which of the NaNs came first: they are sorted by their bits, too.
  const bool reversible = what.count == 1 && !what.positions;
  if (what.count == 0) engine.each(n, NumberThem{numbers.first});
  for (std::int32_t c = what.count; c-- > 0;)
    with_bits(what.columns[c].element, [&]<class U>(U) {
      return sort_column<U>(engine, what.columns[c], parts, by_parts, c + 1 == what.count, reversible,
                            key_memory, numbers);
    });
  if (many && !by_parts && what.count > 0) {
    Twice<std::uint32_t> keys{static_cast<std::uint32_t*>(key_memory[0]),
                              static_cast<std::uint32_t*>(key_memory[1])};
    engine.each(n, PartsOf{parts, numbers.first, keys.first});
    engine.sort(keys, numbers, n, bits_of(static_cast<std::uint64_t>(parts.count - 1)));
  }
  if (what.positions) engine.each(n, StorePositions{parts, numbers.first, what.positions});
  for (std::int32_t c = 0; c < what.count; ++c)
    if (const Column& column = what.columns[c]; column.to)
      with_bits(column.element, [&]<class U>(U) {
        engine.each(n,
                    Gather<U>{static_cast<const U*>(column.from), numbers.first, static_cast<U*>(column.to)});
        return done;
      });
  return done;
}

// ---- select

/// Notes the first part of whose elements not as many are selected as there is room for.
struct CheckSelected {
  const std::uint32_t* numbers;
  const std::int64_t* selected;
  Parts parts, to;
  std::int64_t* wrong;
  ANABRANCH_BOTH std::int64_t selected_of(std::int64_t part) const {
    if (parts.count == 1) return *selected;  // one thread's searches take longer than much of the rest
    const std::int64_t begin = begin_of(parts, part), end = begin + length_of(parts, part);
    return first_not_below(numbers, *selected, end) - first_not_below(numbers, *selected, begin);
  }
  ANABRANCH_BOTH void operator()(std::int64_t part) const {
    if (selected_of(part) != length_of(to, part)) least(wrong, part);
  }
};

struct TellSelected {
  CheckSelected check;
  Failure* failure;
  ANABRANCH_BOTH void operator()(std::int64_t) const {
    const std::int64_t part = *check.wrong;
    *failure = part < check.parts.count ? Failure{Failure::What::other_extent, part, check.selected_of(part),
                                                  length_of(check.to, part)}
                                        : Failure{};
  }
};

/// Elements that there should be and are not are the last one once more.
template <class U>
struct GatherSelected {
  const U* from;
  const std::uint32_t* numbers;
  const std::int64_t* selected;
  U* to;
  ANABRANCH_BOTH void operator()(std::int64_t i) const {
    const std::int64_t there = *selected;
    to[i] = there > 0 ? from[numbers[smaller(i, there - 1)]] : U{0};
  }
};

template <class Engine>
Status select(Engine& engine, const Select& what) {
  if (!is_small_enough(what.parts) || what.to.elements < 0 || what.count < 0) return bad_argument;
  const std::int64_t n = what.parts.elements;
  auto* const numbers = engine.template take<std::uint32_t>(n);
  auto* const selected = engine.template take<std::int64_t>(1);
  auto* const wrong = engine.template take<std::int64_t>(1);
  engine.each(1, Fill<std::int64_t>{wrong, what.parts.count});
  engine.select(what.mask, n, numbers, selected);
  const CheckSelected check{numbers, selected, what.parts, what.to, wrong};
  engine.each(what.parts.count, check);
  engine.each(1, TellSelected{check, what.failure});
  for (std::int32_t c = 0; c < what.count; ++c) {
    const Column& column = what.columns[c];
    if (!column.to) continue;
    const Status status = with_bits(column.element, [&]<class U>(U) {
      engine.each(what.to.elements, GatherSelected<U>{static_cast<const U*>(column.from), numbers, selected,
                                                      static_cast<U*>(column.to)});
      return done;
    });
    if (status != done) return status;
  }
  return done;
}

// ---- group, last_at, accumulate

template <class T>
struct PlaceOf {
  Places places;

  struct Found {
    std::int64_t part, place;
    bool there;  ///< is there such a place?
    bool wrong;  ///< or is it said that there is none?
  };
  ANABRANCH_BOTH Found operator()(std::int64_t i) const {
    const T given = static_cast<const T*>(places.data)[i];
    const std::int64_t part = part_of(places.elements, i), place = static_cast<std::int64_t>(given);
    const bool there =
        static_cast<std::uint64_t>(place) < static_cast<std::uint64_t>(length_of(places.to, part));
    const bool none = places.drops != 0 && std::is_signed_v<T> && given == static_cast<T>(-1);
    return {part, place, there, !there && !none};
  }
};

/// Notes the first element whose place is none; of the others the place among those of all parts.
template <class T>
struct CountedPlace {
  PlaceOf<T> place_of;
  std::int64_t* wrong;
  ANABRANCH_BOTH std::int64_t operator()(std::int64_t i) const {
    const auto found = place_of(i);
    if (found.wrong) least(wrong, i);
    return found.there ? begin_of(place_of.places.to, found.part) + found.place : -1;
  }
};

/// Notes wrong ones, but counts nothing.
template <class T>
struct CheckPlace {
  CountedPlace<T> place;
  ANABRANCH_BOTH void operator()(std::int64_t i) const { static_cast<void>(place(i)); }
};

template <class T>
struct TellPlace {
  PlaceOf<T> place_of;
  const std::int64_t* wrong;
  Failure* failure;
  ANABRANCH_BOTH void operator()(std::int64_t) const {
    *failure = Failure{};
    if (*wrong >= place_of.places.elements.elements) return;
    const auto found = place_of(*wrong);
    *failure = {Failure::What::out_of_range, found.part, found.place,
                length_of(place_of.places.to, found.part)};
  }
};

/// Each part has a key for each of its places, and one for all elements that go nowhere.
template <class T, class Key>
struct MakePlaceKeys {
  PlaceOf<T> place_of;
  Key* keys;
  std::uint32_t* numbers;
  ANABRANCH_BOTH void operator()(std::int64_t i) const {
    const auto found = place_of(i);
    const Parts& to = place_of.places.to;
    keys[i] = static_cast<Key>(begin_of(to, found.part) + found.part +
                               (found.there ? found.place : length_of(to, found.part)));
    numbers[i] = static_cast<std::uint32_t>(i);
  }
};

inline bool is_small_enough(const Places& places) {
  return is_small_enough(places.elements) && places.to.elements >= 0 &&
         places.to.count == places.elements.count;
}

template <class T, class Key, class Engine>
void order_by_place(Engine& engine, const Group& what, std::int64_t keys_there) {
  const std::int64_t n = what.places.elements.elements;
  Twice<Key> keys{engine.template take<Key>(n), engine.template take<Key>(n)};
  Twice<std::uint32_t> numbers{engine.template take<std::uint32_t>(n),
                               engine.template take<std::uint32_t>(n)};
  engine.each(n, MakePlaceKeys<T, Key>{{what.places}, keys.first, numbers.first});
  engine.sort(keys, numbers, n, bits_of(static_cast<std::uint64_t>(keys_there - 1)));
  engine.each(n, StorePositions{what.places.elements, numbers.first, what.order});
}

template <class T, class Engine>
Status group_integers(Engine& engine, const Group& what) {
  const Places& places = what.places;
  const std::int64_t n = places.elements.elements;
  auto* const wrong = engine.template take<std::int64_t>(1);
  engine.each(1, Fill<std::int64_t>{wrong, n});
  const CountedPlace<T> place{{places}, wrong};
  if (what.counts) {
    engine.each(places.to.elements, Fill<std::int64_t>{what.counts, 0});
    engine.count(n, place, what.counts, places.to.elements);
  } else {
    engine.each(n, CheckPlace<T>{place});
  }
  engine.each(1, TellPlace<T>{{places}, wrong, what.failure});
  if (!what.order) return done;
  const std::int64_t keys_there = places.to.elements + places.to.count;
  if (keys_there <= most_rearranged)
    order_by_place<T, std::uint32_t>(engine, what, larger<std::int64_t>(1, keys_there));
  else
    order_by_place<T, std::uint64_t>(engine, what, keys_there);
  return done;
}

template <class Engine>
Status group(Engine& engine, const Group& what) {
  if (!is_small_enough(what.places)) return bad_argument;
  return with_integer(what.places.element, [&]<class T>(T) { return group_integers<T>(engine, what); });
}

template <class T>
struct NoteLast {
  CountedPlace<T> place;
  std::int64_t* last;
  ANABRANCH_BOTH void operator()(std::int64_t i) const {
    if (const std::int64_t at = place(i); at >= 0)
      most(last + at, number_in_part(place.place_of.places.elements, i));
  }
};

template <class Engine>
Status last_at(Engine& engine, const LastAt& what) {
  const Places& places = what.places;
  if (!is_small_enough(places)) return bad_argument;
  return with_integer(places.element, [&]<class T>(T) {
    const std::int64_t n = places.elements.elements;
    auto* const wrong = engine.template take<std::int64_t>(1);
    engine.each(1, Fill<std::int64_t>{wrong, n});
    engine.each(places.to.elements, Fill<std::int64_t>{what.last, -1});
    engine.each(n, NoteLast<T>{{{places}, wrong}, what.last});
    engine.each(1, TellPlace<T>{{places}, wrong, what.failure});
    return done;
  });
}

/// What an element is joined as.
template <class T>
using Wide = std::conditional_t<sizeof(T) == 8, T,
                                std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>;

template <class T>
struct WideElement {
  const T* elements;
  ANABRANCH_BOTH Wide<T> operator()(std::int64_t i) const { return elements[i]; }
};
template <class T>
struct StoreNarrow {
  const Wide<T>* from;
  T* to;
  ANABRANCH_BOTH void operator()(std::int64_t i) const { to[i] = static_cast<T>(from[i]); }
};

template <class Engine>
Status accumulate(Engine& engine, const Accumulate& what) {
  const Places& places = what.places;
  const Element& place_is = places.element;
  if (!is_small_enough(places)) return bad_argument;
  if (place_is.kind != Element::Kind::signed_integer || place_is.bytes != 8) return not_compiled;
  return with_integer(what.element, [&]<class T>(T) {
    constexpr bool is_wide = sizeof(Wide<T>) == sizeof(T);
    const std::int64_t n = places.elements.elements, total = places.to.elements;
    auto* const wrong = engine.template take<std::int64_t>(1);
    auto* wide = static_cast<Wide<T>*>(nullptr);
    if constexpr (is_wide)
      wide = static_cast<T*>(what.joined);
    else
      wide = engine.template take<Wide<T>>(total);
    const Joining<Wide<T>> joining{what.join, static_cast<T>(what.neutral)};
    engine.each(1, Fill<std::int64_t>{wrong, n});
    engine.join(n, CountedPlace<std::int64_t>{{places}, wrong},
                WideElement<T>{static_cast<const T*>(what.elements)}, joining, wide, total);
    if constexpr (!is_wide) engine.each(total, StoreNarrow<T>{wide, static_cast<T*>(what.joined)});
    engine.each(1, TellPlace<std::int64_t>{{places}, wrong, what.failure});
    return done;
  });
}

// ---- repeat

template <class T>
struct CountOf {
  const T* counts;
  ANABRANCH_BOTH std::int64_t given(std::int64_t i) const { return static_cast<std::int64_t>(counts[i]); }
  ANABRANCH_BOTH std::int64_t operator()(std::int64_t i) const {
    return larger<std::int64_t>(0, smaller(given(i), most_sum));
  }
};

template <class T>
struct FindNegative {
  CountOf<T> count;
  std::int64_t* negative;
  ANABRANCH_BOTH void operator()(std::int64_t i) const {
    if (count.given(i) < 0) least(negative, i);
  }
};

/// Notes the first part whose counts make not as many elements as there is room for.
struct CheckSums {
  const std::int64_t* sums;
  Parts parts, to;
  std::int64_t* wrong;
  ANABRANCH_BOTH std::int64_t sum_of(std::int64_t part) const {
    const std::int64_t begin = begin_of(parts, part);
    return sums[begin + length_of(parts, part)] - sums[begin];
  }
  ANABRANCH_BOTH void operator()(std::int64_t part) const {
    if (sum_of(part) != length_of(to, part)) least(wrong, part);
  }
};

template <class T>
struct TellCounts {
  CountOf<T> count;
  CheckSums sums;
  const std::int64_t* negative;
  Failure* failure;
  ANABRANCH_BOTH void operator()(std::int64_t) const {
    const Parts& parts = sums.parts;
    *failure = Failure{};
    const std::int64_t wrong = *sums.wrong;
    if (*negative < parts.elements && part_of(parts, *negative) <= wrong)
      *failure = {Failure::What::negative, part_of(parts, *negative), count.given(*negative), 0};
    else if (wrong < parts.count)
      *failure = {Failure::What::other_extent, wrong, sums.sum_of(wrong), length_of(sums.to, wrong)};
  }
};

struct StoreRepeated {
  CheckSums sums;
  std::int64_t* numbers;
  ANABRANCH_BOTH void operator()(std::int64_t i) const {
    const std::int64_t part = part_of(sums.to, i), begin = begin_of(sums.parts, part);
    const std::int64_t n = length_of(sums.parts, part);
    const std::int64_t before = sums.sums[begin] + i - begin_of(sums.to, part);
    // The last element before which there are no more.
    const std::int64_t after = first_not_below(sums.sums + begin, n, before + 1);
    numbers[i] = larger<std::int64_t>(0, after - 1);
  }
};

template <class Engine>
Status repeat(Engine& engine, const Repeat& what) {
  const Parts& parts = what.parts;
  if (!is_small_enough(parts) || what.to.elements < 0 || what.to.count != parts.count) return bad_argument;
  return with_integer(what.element, [&]<class T>(T) {
    const std::int64_t n = parts.elements;
    auto* const sums = engine.template take<std::int64_t>(n + 1);
    auto* const negative = engine.template take<std::int64_t>(1);
    auto* const wrong = engine.template take<std::int64_t>(1);
    engine.each(1, Fill<std::int64_t>{negative, n});
    engine.each(1, Fill<std::int64_t>{wrong, parts.count});
    const CountOf<T> count{static_cast<const T*>(what.counts)};
    engine.each(n, FindNegative<T>{count, negative});
    engine.sum(n, count, sums);
    const CheckSums check{sums, parts, what.to, wrong};
    engine.each(parts.count, check);
    engine.each(1, TellCounts<T>{count, check, negative, what.failure});
    engine.each(what.to.elements, StoreRepeated{check, what.numbers});
    return done;
  });
}

}  // namespace anabranch::device
