#pragma once

#include <vector>

#include "run/backend.h"
#include "run/context.h"

/// A plan, executed.
namespace anabranch::runtime {

/// Runs a whole plan; results in the order of plan.results. They own their elements: none shares memory with
/// an input or with another one.
std::vector<HostArray> execute(RunContext& context, RunBackend& backend,
                               const std::vector<HostArray>& arguments);

}  // namespace anabranch::runtime
