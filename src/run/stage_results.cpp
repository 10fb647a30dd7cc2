#include "run/stage_results.h"

#include <algorithm>

#include <fmt/format.h>

#include "run/write_sink.h"

namespace anabranch::runtime {

using plan::PlanArray;

StageResults::StageResults(RunContext& context, int number, const StageInput& input,
                           const std::vector<HostArray>& into)
    : StageOutput(context, input.stage()), number_(number), sinks_(stage_.results.size()) {
  for (const ir::Stage::Sink& sink : stage_.sinks) {
    const auto r = static_cast<std::size_t>(sink.result);
    if (sink.kind == ir::Op::write) {
      if (!sinks_[r]) add_writes(sink.consume, input);
      continue;
    }
    known_sizes_ = known_sizes_ && input.sources().items() && array_of(r).form == ir::Form::regular;
    if (!sinks_[r]) sinks_[r] = sink_of(sink, input, into[r]);
  }
}

/// One sink of the user's takes all arrays of the items.
void StageResults::add_writes(const ir::Ref& consume, const StageInput& input) {
  writes_ = true;
  std::vector<std::size_t> results;
  std::vector<const PlanArray*> arrays;
  for (const ir::Stage::Sink& sink : stage_.sinks)
    if (sink.consume == consume) {
      results.push_back(static_cast<std::size_t>(sink.result));
      arrays.push_back(&array_of(results.back()));
    }
  auto sinks = write_sinks(context_, consume, arrays, input.uniforms(), input.sources().items());
  for (std::size_t i = 0; i < results.size(); ++i) sinks_[results[i]] = std::move(sinks[i]);
}

std::unique_ptr<Sink> StageResults::sink_of(const ir::Stage::Sink& sink, const StageInput& input,
                                            const HostArray& into) {
  const PlanArray& array = array_of(static_cast<std::size_t>(sink.result));
  ResultSize size;
  if (array.form != ir::Form::regular)
    size.likely = likely_elements(sink.result, input);
  else if (const auto items = input.sources().items())
    size.certain = plan::elements_of(array, plan::ChunkShape{{*items}, input.uniforms(), {}, 0});
  try {
    const SinkWork work{context_, array, size, into};
    return context_.own_sinks ? context_.own_sinks(sink.kind, work) : make_sink(sink.kind, work);
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
  return sinks_[static_cast<std::size_t>(result)]->room(elements);
}

/// What a sink carries from part to part may depend on their order.
void StageResults::check_order(const PartShape& shape) {
  const bool in_order = shape.first == next_item_;
  next_item_ = shape.first + shape.items;
  for (const auto& sink : sinks_)
    if (sink && sink->order_matters() && !in_order)
      throw InternalError(fmt::format("results of item {} out of their order", shape.first));
}

void StageResults::commit(PartShape shape) {
  check_order(shape);
  for (std::size_t r = 0; r < sinks_.size(); ++r)
    if (sinks_[r]) sinks_[r]->commit(shape.items, shape.results[r]);
}

namespace {
std::vector<std::shared_ptr<void>> memory_of(const PartResults& part, std::size_t result) {
  if (!part.owned.empty()) return part.owned[result];
  std::vector<std::shared_ptr<void>> lent;
  for (const void* at : part.components[result])
    lent.emplace_back(std::shared_ptr<void>(), const_cast<void*>(at));
  return lent;
}
}  // namespace

/// What is written is written from where it lies; all else is copied.
void StageResults::append(PartResults part) {
  for (std::size_t r = 0; r < sinks_.size(); ++r) {
    if (!sinks_[r]) continue;
    if (sinks_[r]->take(memory_of(part, r), !part.owned.empty())) continue;
    copy_part(part.components[r], part.shape.results[r].elements, static_cast<int>(r));
  }
  part.owned.clear();
  commit(std::move(part.shape));
}

std::vector<HostArray> StageResults::finish() {
  std::vector<HostArray> finished(sinks_.size());
  std::vector<HostArray> results;
  for (const ir::Stage::Sink& sink : stage_.sinks) {
    HostArray& array = finished[static_cast<std::size_t>(sink.result)];
    if (!array) {
      Sink& taken = *sinks_[static_cast<std::size_t>(sink.result)];
      if (context_.sizes) context_.sizes->note(number_, sink.result, taken.elements());
      array = taken.finish();
    }
    results.push_back(array);
  }
  return results;
}

std::vector<scheduler::Reservation> StageResults::take_reservations() {
  std::vector<scheduler::Reservation> out;
  for (const auto& sink : sinks_)
    if (sink) out.push_back(sink->take_reservation());
  return out;
}

}  // namespace anabranch::runtime
