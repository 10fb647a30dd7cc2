#pragma once

#include <anabranch/push_options.h>
#include <anabranch/run.h>

namespace anabranch {

/// Throws where these options make no sense, or name what their back end has no use for: nothing is ignored.
void check(const RunOptions& options);
void check(const PushOptions& push);
/// The same for what is read ahead in a run with these options.
void check(const ReadAhead& ahead, const RunOptions& options);

}  // namespace anabranch
