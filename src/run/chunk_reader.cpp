#include "run/chunk_reader.h"

#include "run/plan_run.h"
#include "run/stage_reader.h"

namespace anabranch::runtime {

struct ChunkReader::Impl {
  PlanRun plan;
  std::unique_ptr<StageReader> stage;
};

ChunkReader::ChunkReader(RunContext& context, RunBackend& backend, const std::vector<HostArray>& arguments)
    : impl_(new Impl{PlanRun(context, backend, arguments), nullptr}) {
  const auto& actions = context.plan.actions;
  impl_->plan.run(actions.size() - 1);
  if (context.sinks) context.sinks->commit();
  impl_->stage =
      std::make_unique<StageReader>(context, backend, std::get<plan::StageAction>(actions.back()).stage,
                                    impl_->plan.values(), impl_->plan.applied_functions());
}
ChunkReader::~ChunkReader() = default;
bool ChunkReader::next(std::vector<std::vector<HostArray>>& items) { return impl_->stage->next(items); }

}  // namespace anabranch::runtime
