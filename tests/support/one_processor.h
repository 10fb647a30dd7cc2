#pragma once

#include <sched.h>

#include "support/catch.h"

namespace anabranch::testing {

/// While it lives, this thread and those that it starts have one of the processors that it had before.
class OneProcessor {
 public:
  OneProcessor() {
    REQUIRE(::sched_getaffinity(0, sizeof before_, &before_) == 0);
    int first = 0;
    while (!CPU_ISSET(first, &before_)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  }
  ~OneProcessor() { ::sched_setaffinity(0, sizeof before_, &before_); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t before_{};
};

}  // namespace anabranch::testing
