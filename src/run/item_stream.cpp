#include "run/item_stream.h"

#include "run/plan_run.h"
#include "run/stages/chunks_ahead.h"

namespace anabranch::runtime {

struct ItemStream::Impl {
  PlanRun plan;
  std::shared_ptr<ChunksAhead> chunks;
};

ItemStream::ItemStream(RunContext& context, RunBackend& backend, const std::optional<ReadAhead>& ahead)
    : impl_(new Impl{PlanRun(context, backend, {}), nullptr}) {
  const auto& actions = context.plan.actions;
  impl_->plan.run(actions.size() - 1);
  if (context.sinks) context.sinks->commit();
  impl_->chunks =
      std::make_shared<ChunksAhead>(context, backend, std::get<plan::StageAction>(actions.back()).stage,
                                    impl_->plan.values(), impl_->plan.applied_functions(), ahead);
}

ItemStream::~ItemStream() {
  if (impl_->chunks) impl_->chunks->stop();
}

bool ItemStream::next(std::vector<HostArray>& item) { return impl_->chunks->next(item); }

}  // namespace anabranch::runtime
