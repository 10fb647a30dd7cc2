#pragma once

#include <anabranch/detail/quantities.h>

/// Counts in messages: "1 entry", "2 entries".
namespace anabranch::io::detail {

using anabranch::detail::counted;

}  // namespace anabranch::io::detail
