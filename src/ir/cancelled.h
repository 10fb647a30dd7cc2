#pragma once

#include <anabranch/error.h>

namespace anabranch::ir {

/// The user has asked the run to stop.
[[noreturn]] inline void raise_cancelled() { throw Cancelled("the run was cancelled"); }

}  // namespace anabranch::ir
