#pragma once

#include <memory>
#include <vector>

#include "run/sinks/sink.h"

/// `write`: the items go to a sink of the user's choice, part by part.
namespace anabranch::runtime {

/// One sink for each array of the items that `consume`, of a `write`, takes. `arrays`: of the stage's group. What they
/// are given together is written when the last of them commits it. `items`: in all, where that is known.
std::vector<std::unique_ptr<Sink>> write_sinks(RunContext& context, const ir::Ref& consume,
                                               const std::vector<const plan::PlanArray*>& arrays,
                                               const std::vector<std::int64_t>& uniforms,
                                               std::optional<std::int64_t> items);

}  // namespace anabranch::runtime
