#pragma once

#include <anabranch/run.h>

namespace anabranch {

/// Throws where these options make no sense, or name what their back end has no use for: nothing is ignored.
void check(const RunOptions& options);

}  // namespace anabranch
