#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include <anabranch/element.h>

#include "device/primitives.h"
#include "ir/primitive.h"

namespace anabranch::test {

/// A rearrangement of random arrays in random parts, in pieces of memory that may lie anywhere. One in a few cannot be
/// computed.
class RandomCall {
 public:
  enum class What : std::uint8_t { sort, select, group, last_at, accumulate, repeat };
  using Piece = std::size_t;
  static constexpr Piece none = SIZE_MAX;

  struct Lengths {
    std::vector<std::int64_t> of_part;
    Piece offsets = none;  ///< none: all are equal

    std::int64_t sum() const { return std::accumulate(of_part.begin(), of_part.end(), std::int64_t{0}); }
    std::int64_t longest() const {
      return of_part.empty() ? 0 : *std::max_element(of_part.begin(), of_part.end());
    }
  };

  What what;
  std::vector<std::vector<std::byte>> pieces;
  std::vector<ScalarType> types;
  std::vector<Piece> from, to;  ///< per component; not asked for: none
  Lengths parts, to_parts;
  Piece mask = none, positions = none, counts = none, order = none, numbers = none, failure = none;
  bool drops = false;
  device::Join join{};

  RandomCall(What operation, std::mt19937_64& random, std::int64_t most_elements)
      : what(operation), random_(random) {
    parts = random_lengths(most_elements);
    const auto component = [&](ScalarType type) {
      types.push_back(type);
      from.push_back(random_elements(type, parts.sum()));
    };
    failure = piece(sizeof(device::Failure));
    switch (what) {
      case What::sort:
        for (int c = any(1, 3); c > 0; --c) component(any_type());
        for (const ScalarType type : types) to.push_back(any(0, 4) == 0 ? none : room(type, parts.sum()));
        if (any(0, 1) == 0) positions = room(ScalarType::int64, parts.sum());
        break;
      case What::select:
        for (int c = any(1, 2); c > 0; --c) component(any_type());
        make_mask();
        for (const ScalarType type : types) to.push_back(room(type, to_parts.sum()));
        break;
      case What::group:
        make_places(any_integer());
        if (any(0, 3) != 0) counts = room(ScalarType::int64, to_parts.sum());
        if (any(0, 3) != 0) order = room(ScalarType::int64, parts.sum());
        break;
      case What::last_at:
        make_places(any_integer());
        numbers = room(ScalarType::int64, to_parts.sum());
        break;
      case What::accumulate: {
        make_places(ScalarType::int64);
        const ScalarType type = any(0, 5) == 0 ? ScalarType::boolean : any_integer();
        component(type);
        to = {none, room(type, to_parts.sum())};
        join = static_cast<device::Join>(type == ScalarType::boolean ? any(4, 6) : any(0, 6));
        break;
      }
      case What::repeat:
        make_counts();
        numbers = room(ScalarType::int64, to_parts.sum());
        break;
    }
  }

  /// The language's name of `join`.
  ir::Primitive primitive() const {
    using enum ir::Primitive;
    constexpr ir::Primitive all[] = {add, multiply, minimum, maximum, bit_and, bit_or, bit_xor};
    return all[static_cast<std::size_t>(join)];
  }

  std::uint64_t neutral() const {
    using Identities = anabranch::detail::ScalarIdentities;
    constexpr std::uint64_t Identities::* all[] = {
        &Identities::add,     &Identities::multiply, &Identities::minimum, &Identities::maximum,
        &Identities::bit_and, &Identities::bit_or,   &Identities::bit_xor};
    return anabranch::detail::scalar_info(types[1]).identities.*all[static_cast<std::size_t>(join)];
  }

  /// `at`: where a piece lies. Refers to this object.
  device::Operation operation(const std::function<void*(Piece)>& at) {
    const auto pointer = [&](Piece p) { return p == none ? nullptr : at(p); };
    const auto longs = [&](Piece p) { return static_cast<std::int64_t*>(pointer(p)); };
    const auto parts_of = [&](const Lengths& l) {
      const bool equal = l.offsets == none && !l.of_part.empty();
      return device::Parts{static_cast<std::int64_t>(l.of_part.size()), equal ? l.of_part[0] : 0,
                           longs(l.offsets), l.sum(), l.longest()};
    };
    auto* const told = static_cast<device::Failure*>(pointer(failure));
    columns_.clear();
    for (std::size_t c = 0; c < types.size(); ++c)
      columns_.push_back(
          {device::element_of(types[c]), pointer(from[c]), c < to.size() ? pointer(to[c]) : nullptr});
    const auto places = [&] {
      return device::Places{device::element_of(types[0]), pointer(from[0]), parts_of(parts),
                            parts_of(to_parts), drops};
    };
    const auto count = static_cast<std::int32_t>(types.size());
    switch (what) {
      case What::sort:
        return device::Sort{columns_.data(), count, parts_of(parts), longs(positions)};
      case What::select:
        return device::Select{
            columns_.data(),    count, static_cast<const std::uint8_t*>(pointer(mask)), parts_of(parts),
            parts_of(to_parts), told};
      case What::group:
        return device::Group{places(), longs(counts), longs(order), told};
      case What::last_at:
        return device::LastAt{places(), longs(numbers), told};
      case What::accumulate:
        return device::Accumulate{places(),         join,           neutral(), device::element_of(types[1]),
                                  pointer(from[1]), pointer(to[1]), told};
      case What::repeat:
        break;
    }
    return device::Repeat{device::element_of(types[0]), pointer(from[0]), parts_of(parts),
                          parts_of(to_parts),           longs(numbers),   told};
  }

 private:
  int any(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }

  Piece piece(std::size_t bytes) {
    pieces.emplace_back(bytes, std::byte{0x5a});
    return pieces.size() - 1;
  }
  Piece room(ScalarType type, std::int64_t n) { return piece(static_cast<std::size_t>(n) * size_of(type)); }
  template <class T>
  Piece piece_of(const std::vector<T>& values) {
    const Piece p = piece(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(pieces[p].data(), values.data(), values.size() * sizeof(T));
    return p;
  }

  /// Offsets that need not begin with 0.
  void store(Lengths& lengths) {
    std::vector<std::int64_t> offsets{any(0, 1) * any(0, 100)};
    for (const std::int64_t length : lengths.of_part) offsets.push_back(offsets.back() + length);
    lengths.offsets = piece_of(offsets);
  }

  Lengths random_lengths(std::int64_t most) {
    Lengths lengths;
    const std::int64_t all = std::uniform_int_distribution<std::int64_t>(0, most)(random_);
    switch (any(0, 3)) {
      case 0:
        lengths.of_part = {all};
        return lengths;
      case 1:
        lengths.of_part.assign(static_cast<std::size_t>(all / 7 + any(0, 1)), 7);
        return lengths;
      case 2: {  // a long one among short ones
        lengths.of_part.assign(20, all / 100);
        lengths.of_part[static_cast<std::size_t>(any(0, 19))] = all / 2;
        break;
      }
      default:
        for (std::int64_t left = all; left > 0;) {
          const std::int64_t length = std::min<std::int64_t>(left, any(0, 5) == 0 ? any(0, 300) : any(0, 6));
          lengths.of_part.push_back(length);
          left -= length + 1;
        }
    }
    store(lengths);
    return lengths;
  }

  ScalarType any_type() {
    using enum ScalarType;
    constexpr ScalarType all[] = {boolean, int8,   int16,  int32,   int64,   uint8,
                                  uint16,  uint32, uint64, float16, float32, float64};
    return all[any(0, std::size(all) - 1)];
  }
  ScalarType any_integer() {
    for (;;)
      if (const ScalarType type = any_type();
          type != ScalarType::boolean &&
          anabranch::detail::scalar_info(type).kind != detail::ScalarKind::floating)
        return type;
  }

  /// Of any bits, or few different ones: then many are equal.
  Piece random_elements(ScalarType type, std::int64_t n) {
    const Piece p = room(type, n);
    const std::size_t width = size_of(type);
    const bool few = any(0, 1) == 0;
    std::vector<std::uint64_t> pool;
    for (int k = 0; k < 9; ++k) pool.push_back(random_());
    for (std::int64_t i = 0; i < n; ++i) {
      std::uint64_t bits = few ? pool[static_cast<std::size_t>(any(0, 8))] : random_();
      if (type == ScalarType::boolean) bits &= 1;
      std::memcpy(pieces[p].data() + static_cast<std::size_t>(i) * width, &bits, width);
    }
    return p;
  }

  /// One in a few has a part too many or too few.
  void spoil(Lengths& lengths) {
    if (lengths.of_part.empty() || any(0, 4) != 0) return;
    std::int64_t& length = lengths.of_part[random_() % lengths.of_part.size()];
    length = std::max<std::int64_t>(0, length + (any(0, 1) == 0 ? 1 : -1));
  }

  void make_mask() {
    std::vector<std::uint8_t> flags(static_cast<std::size_t>(parts.sum()));
    const int of = any(1, 10);
    for (std::uint8_t& flag : flags) flag = any(0, of) == 0;
    mask = piece_of(flags);
    std::size_t at = 0;
    for (const std::int64_t length : parts.of_part) {
      to_parts.of_part.push_back(std::count(flags.begin() + static_cast<std::ptrdiff_t>(at),
                                            flags.begin() + static_cast<std::ptrdiff_t>(at) + length, 1));
      at += static_cast<std::size_t>(length);
    }
    spoil(to_parts);
    store(to_parts);
  }

  void make_places(ScalarType type) {
    types = {type};
    drops = any(0, 1) == 0;
    const bool equal = any(0, 1) == 0, fails = any(0, 3) == 0;
    // Few enough counters for all parts.
    const std::int64_t most_extent = 10'000'000 / std::max<std::int64_t>(1, std::ssize(parts.of_part));
    const std::int64_t extent = std::min<std::int64_t>(most_extent, any(1, any(0, 3) == 0 ? 6000 : 20));
    for (std::size_t part = 0; part < parts.of_part.size(); ++part)
      to_parts.of_part.push_back(equal ? extent : any(1, 20));
    if (!equal) store(to_parts);
    const bool is_signed = detail::scalar_info(type).kind == detail::ScalarKind::signed_integer;
    const std::size_t width = size_of(type);
    const Piece p = room(type, parts.sum());
    std::size_t at = 0;
    for (std::size_t part = 0; part < parts.of_part.size(); ++part)
      for (std::int64_t i = 0; i < parts.of_part[part]; ++i) {
        const std::int64_t most = std::min<std::int64_t>(to_parts.of_part[part] - 1, 100);
        std::int64_t place = std::uniform_int_distribution<std::int64_t>(0, most)(random_);
        if (drops && is_signed && any(0, 5) == 0) place = -1;
        if (fails && any(0, 50) == 0) place = any(0, 1) == 0 ? -2 : 127;
        std::memcpy(pieces[p].data() + width * at++, &place, width);
      }
    from = {p};
  }

  void make_counts() {
    const ScalarType type = any_integer();
    types = {type};
    const bool fails = any(0, 4) == 0;
    const bool is_signed = detail::scalar_info(type).kind == detail::ScalarKind::signed_integer;
    const std::size_t width = size_of(type);
    const Piece p = room(type, parts.sum());
    std::size_t at = 0;
    for (const std::int64_t length : parts.of_part) {
      std::int64_t sum = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        std::int64_t count = any(0, 3) == 0 ? any(0, 9) : 0;
        if (fails && is_signed && any(0, 50) == 0) count = -any(1, 100);
        sum += std::max<std::int64_t>(0, count);
        std::memcpy(pieces[p].data() + width * at++, &count, width);
      }
      to_parts.of_part.push_back(sum);
    }
    spoil(to_parts);
    store(to_parts);
    from = {p};
  }

  std::mt19937_64& random_;
  std::vector<device::Column> columns_;
};

}  // namespace anabranch::test
