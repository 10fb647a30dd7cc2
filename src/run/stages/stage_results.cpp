#include "run/stages/stage_results.h"

#include <algorithm>

#include <fmt/format.h>

#include "run/sinks/write_sink.h"

namespace anabranch::runtime {

using plan::PlanArray;

StageResults::StageResults(RunContext& context, int number, const StageInput& input,
                           const std::vector<HostArray>& into, const GlobalValues& global,
                           const RunBody& run_body)
    : StageOutput(context, input.stage()),
      number_(number),
      sinks_(stage_.results.size()),
      of_one_item_(stage_.results.size(), -1) {
  for (std::size_t t = 0; t < stage_.sinks.size(); ++t) {
    const auto r = static_cast<std::size_t>(stage_.sinks[t].result);
    if (stage_.sinks[t].kind == ir::Op::write) {
      if (!sinks_[r]) add_writes(stage_.sinks[t].consume, input);
      continue;
    }
    known_sizes_ = known_sizes_ && input.sources().items() && array_of(r).form == ir::Form::regular;
    if (!sinks_[r]) sinks_[r] = sink_of(t, input, into[r], global, run_body);
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

std::unique_ptr<Sink> StageResults::sink_of(std::size_t number, const StageInput& input,
                                            const HostArray& into, const GlobalValues& global,
                                            const RunBody& run_body) {
  const ir::Stage::Sink& sink = stage_.sinks[number];
  const PlanArray& array = array_of(static_cast<std::size_t>(sink.result));
  ResultSize size;
  const auto of_items = [&](std::int64_t items) {
    if (items > 0) require_numbers_of_items(input.uniforms());
    return plan::elements_of(array, plan::ChunkShape{{items}, input.uniforms(), {}, 0});
  };
  const auto items = input.sources().items();
  if (array.form != ir::Form::regular)
    size.likely = likely_elements(sink.result, input);
  else if (items)
    size.certain = of_items(*items);
  // How many there are in all need not be known where they have a place in memory that is there.
  if (array.form == ir::Form::regular && array.domain == 0 && (items ? *items > 0 : into != nullptr))
    of_one_item_[static_cast<std::size_t>(sink.result)] = items ? size.certain / *items : of_items(1);
  try {
    const std::int64_t of_item =
        std::max<std::int64_t>(of_one_item_[static_cast<std::size_t>(sink.result)], 0);
    SinkWork work{context_, array, size, into, of_item, {}, {}, beside_};
    for (const int given : stage_.sink_inputs[number].arrays) work.arrays.push_back(global.array(given));
    for (const int body : stage_.sink_inputs[number].bodies)
      work.functions.emplace_back([run_body, body](const std::vector<HostArray>& arguments, std::int64_t item,
                                                   std::span<const HostArray> memory) {
        return run_body(body, arguments, item, memory);
      });
    return context_.own_sinks ? context_.own_sinks(sink.kind, work) : make_sink(sink.kind, work);
  } catch (const ResourceError& e) {
    throw ResourceError(
        fmt::format("results of {}: {} ({})", array.node->label(), e.what(), to_string(array.node->place())),
        array.node->place());
  }
}

/// What sequences inside of the items say, where all say the same: an extent that is made of it would be wrong in other words.
void StageResults::require_numbers_of_items(const std::vector<std::int64_t>& uniforms) const {
  for (const plan::Step& step : stage_.group.steps)
    if (const auto* const require = std::get_if<plan::RequireStep>(&step);
        require && require->kind == plan::RequireStep::Kind::items && require->uniform >= 0)
      plan::require(*require, uniforms[static_cast<std::size_t>(require->uniform)], 0);
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

bool StageResults::known_places() const {
  for (std::size_t r = 0; r < sinks_.size(); ++r)
    if (sinks_[r] && of_one_item_[r] < 0) return false;
  return true;
}

bool StageResults::runs_bodies() const {
  return std::any_of(stage_.sink_inputs.begin(), stage_.sink_inputs.end(),
                     [](const auto& inputs) { return !inputs.bodies.empty(); });
}

bool StageResults::bodies_print() const {
  for (const auto& inputs : stage_.sink_inputs)
    for (const int body : inputs.bodies)
      if (plan::prints(context_.plan.bodies[static_cast<std::size_t>(body)].plan)) return true;
  return false;
}

std::int64_t StageResults::bytes_to_append(int result, std::int64_t elements) const {
  const auto r = static_cast<std::size_t>(result);
  if (!sinks_[r]) return 0;
  const bool copies = !sinks_[r]->takes_parts() && (of_one_item_[r] < 0 || sinks_[r]->place(0, 0).empty());
  return (copies ? elements * width_of(array_of(r).type) : 0) + sinks_[r]->bytes_to_commit(elements);
}

bool StageResults::keeps() const {
  return std::any_of(sinks_.begin(), sinks_.end(), [](const auto& sink) { return sink && sink->keeps(); });
}
bool StageResults::waits_for_memory() const {
  return std::any_of(sinks_.begin(), sinks_.end(),
                     [](const auto& sink) { return sink && sink->waits_for_memory(); });
}

std::vector<void*> StageResults::room(int result, std::int64_t elements) {
  return sinks_[static_cast<std::size_t>(result)]->room(elements);
}

void StageResults::forget_room() {
  for (const auto& sink : sinks_)
    if (sink) sink->forget_room();
}

std::vector<void*> StageResults::place(int result, std::int64_t first_item, std::int64_t elements) const {
  const auto r = static_cast<std::size_t>(result);
  if (of_one_item_[r] < 0) return {};
  return sinks_[r]->place(first_item * of_one_item_[r], elements);
}

/// What a sink carries from part to part may depend on their order.
void StageResults::check_order(const PartShape& shape) {
  const bool in_order = shape.first == next_item_;
  next_item_ = shape.first + shape.items;
  for (const auto& sink : sinks_)
    if (sink && sink->order_matters() && !in_order)
      throw InternalError(fmt::format("results of item {} out of their order", shape.first));
}

/// What a sink has begun to take it cannot be given again: a lack of memory from here on is an error, not a reason to try less.
void StageResults::commit(PartShape shape) {
  check_order(shape);
  try {
    for (std::size_t r = 0; r < sinks_.size(); ++r)
      if (sinks_[r]) sinks_[r]->commit(shape.items, shape.results[r]);
  } catch (const scheduler::BudgetExceeded& e) {
    throw ResourceError(e.what());
  }
}

/// What is written is written from where it lies; all else is copied.
void StageResults::append(PartResults&& part) {
  for (std::size_t r = 0; r < sinks_.size(); ++r) {
    if (!sinks_[r]) continue;
    if (!part.owned.empty() && sinks_[r]->take(part.owned[r], true)) continue;
    append_held(static_cast<int>(r), part.components[r], part.shape.results[r].elements);
  }
  part.owned.clear();
  commit(std::move(part.shape));
}

void StageResults::append_held(int result, const std::vector<const void*>& components,
                               std::int64_t elements) {
  std::vector<std::shared_ptr<void>> lent;
  for (const void* at : components) lent.emplace_back(std::shared_ptr<void>(), const_cast<void*>(at));
  if (!sinks_[static_cast<std::size_t>(result)]->take(lent, false)) copy_part(components, elements, result);
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
