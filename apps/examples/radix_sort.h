#pragma once

#include <anabranch/anabranch.h>

#include <cstdint>
#include <limits>
#include <tuple>

/// A radix sort written in the language, bit by bit (Blelloch 1990). For real work there is `sort`, which takes eight
/// bits at a time. Here are fewer than 2^31 numbers.
namespace anabranch::examples {

/// In the order of one bit; those with an equal one keep their order.
inline Acc<Vector<std::int32_t>> sorted_by_bit(const Exp<std::int32_t>& bit,
                                               const Acc<Vector<std::int32_t>>& v) {
  // Negative numbers come first: with the sign bit exchanged they are the small ones.
  const auto flags = map(
      [=](auto x) { return cast<std::int32_t>(test_bit(x ^ std::numeric_limits<std::int32_t>::min(), bit)); },
      v);
  // Zeros go to the front, ones to the end.
  const auto down = prescanl(plus, 0, map([](auto one) { return 1 - one; }, flags));
  const auto n = cast<std::int32_t>(size(v));
  const auto up = map([=](auto ones_behind) { return n - 1 - ones_behind; }, prescanr(plus, 0, flags));
  const auto to = zip_with(
      [](auto one, auto zero_to, auto one_to) { return cond(one == 0, zero_to, one_to); }, flags, down, up);
  return scatter(to, v, v);
}

inline Acc<Vector<std::int32_t>> radix_sort(const Acc<Vector<std::int32_t>>& v) {
  const auto more = [](auto, auto bit) { return the(bit) < 32; };
  const auto pass = [](auto now, auto bit) {
    return std::tuple(sorted_by_bit(the(bit), now), map([](auto b) { return b + 1; }, bit));
  };
  return std::get<0>(awhile(more, pass, std::tuple(v, unit(std::int32_t{0}))));
}

}  // namespace anabranch::examples
