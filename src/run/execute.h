#pragma once

#include <vector>

#include "run/chunks/backend.h"
#include "run/context/context.h"

/// A plan, executed.
namespace anabranch::runtime {

/// Runs a whole plan; results in the order of plan.results. They own their elements: none shares memory with
/// an input or with another one.
std::vector<HostArray> execute(RunContext& context, RunBackend& backend,
                               const std::vector<HostArray>& arguments);

}  // namespace anabranch::runtime
