#include "run/stage_results.h"

#include <algorithm>

#include <fmt/format.h>

namespace anabranch::runtime {

using plan::PlanArray;

StageResults::StageResults(RunContext& context, int number, const StageInput& input,
                           const std::vector<HostArray>& into)
    : ResultSink(context, input.stage()), number_(number), collectors_(stage_.results.size()) {
  for (const ir::Stage::Sink& sink : stage_.sinks) {
    const auto r = static_cast<std::size_t>(sink.result);
    known_sizes_ = known_sizes_ && input.sources().items() && array_of(r).form == ir::Form::regular;
    if (!collectors_[r]) collectors_[r] = collector_of(sink, input, into[r]);
  }
}

std::unique_ptr<ResultCollector> StageResults::collector_of(const ir::Stage::Sink& sink,
                                                            const StageInput& input, const HostArray& into) {
  const PlanArray& array = array_of(static_cast<std::size_t>(sink.result));
  ResultSize size;
  if (array.form != ir::Form::regular)
    size.likely = likely_elements(sink.result, input);
  else if (const auto items = input.sources().items())
    size.certain = plan::elements_of(array, plan::ChunkShape{*items, input.uniforms(), {}, 0});
  try {
    return std::make_unique<ResultCollector>(context_, array, sink.kind, size, into);
  } catch (const ResourceError& e) {
    throw ResourceError(
        fmt::format("results of {}: {} ({})", array.node->label(), e.what(), to_string(array.node->place())));
  }
}

/// Of a result whose size only the items tell: as many as the last time, else as many as the source has.
std::int64_t StageResults::likely_elements(int result, const StageInput& input) const {
  const PlanArray& array = array_of(static_cast<std::size_t>(result));
  std::int64_t likely = context_.sizes ? context_.sizes->of(number_, result) : 0;
  if (likely == 0 && array.descriptor >= 0 &&
      stage_.group.descriptors[static_cast<std::size_t>(array.descriptor)].item >= 0)
    likely = input.sources().work().value_or(0);
  return std::min(likely, context_.budget.available() / std::max<std::int64_t>(width_of(array.type), 1));
}

std::vector<void*> StageResults::room(int result, std::int64_t elements) {
  return collectors_[static_cast<std::size_t>(result)]->room(elements);
}

void StageResults::commit(PartShape shape) {
  for (std::size_t r = 0; r < collectors_.size(); ++r) {
    if (!collectors_[r]) continue;
    collectors_[r]->commit(shape.results[r].elements);
    collectors_[r]->add_items(shape.items, shape.results[r].extents);
  }
}

std::vector<HostArray> StageResults::finish() {
  std::vector<HostArray> finished(collectors_.size());
  std::vector<HostArray> results;
  for (const ir::Stage::Sink& sink : stage_.sinks) {
    HostArray& array = finished[static_cast<std::size_t>(sink.result)];
    if (!array) {
      ResultCollector& collector = *collectors_[static_cast<std::size_t>(sink.result)];
      if (context_.sizes) context_.sizes->note(number_, sink.result, collector.elements());
      array = collector.finish();
    }
    results.push_back(array);
  }
  return results;
}

std::vector<scheduler::Reservation> StageResults::take_reservations() {
  std::vector<scheduler::Reservation> out;
  for (const auto& collector : collectors_)
    if (collector) out.push_back(collector->take_reservation());
  return out;
}

}  // namespace anabranch::runtime
