#pragma once

#include <stop_token>

#include <anabranch/error.h>

namespace anabranch::apps {

/// Throws Cancelled where a stop is requested.
inline void check_stop(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Cancelled("the command was cancelled");
}

}  // namespace anabranch::apps
