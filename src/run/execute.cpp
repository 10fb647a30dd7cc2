#include "run/execute.h"

#include "run/plan_run.h"

namespace anabranch::runtime {

std::vector<HostArray> execute(RunContext& context, RunBackend& backend,
                               const std::vector<HostArray>& arguments) {
  PlanRun run(context, backend, arguments);
  run.run(context.plan.actions.size());
  std::vector<HostArray> results;
  for (std::size_t r = 0; r < context.plan.results.size(); ++r) results.push_back(run.result(r));
  return results;
}

}  // namespace anabranch::runtime
