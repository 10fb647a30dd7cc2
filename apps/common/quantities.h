#pragma once

#include <cstdint>

#include <anabranch/detail/quantities.h>

/// Counts and rates in reports and messages.
namespace anabranch::apps {

using detail::byte_rate_text;
using detail::counted;
using detail::noun_for;
using detail::plural;
using detail::rate_text;

/// 0 where nothing was measured.
inline double per_second(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }
inline double per_second(std::int64_t amount, double seconds) {
  return per_second(static_cast<double>(amount), seconds);
}

}  // namespace anabranch::apps
