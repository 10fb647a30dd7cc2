#pragma once

#include <anabranch/anabranch.h>

#include <functional>
#include <string>

#include "gpu/contest.h"

namespace anabranch::bench {

/// A run on the GPU with these options.
using RunWith = std::function<void(const RunOptions&, RunReport*)>;

/// One run more, which is traced; for what only such a one tells. Its timeline stays where the bench keeps them.
RunReport traced(const Bench& bench, std::string name, const RunWith& run);

}  // namespace anabranch::bench
