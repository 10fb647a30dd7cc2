#include "run/stages/read_sizes.h"

#include <algorithm>
#include <cmath>

#include "scheduler/clock.h"
#include "scheduler/pipeline.h"

namespace anabranch::runtime {

using scheduler::AheadLimits;
using scheduler::no_limit;
using scheduler::Policy;

ReadSizes::ReadSizes(const RunContext& context, StageReader& reader, const std::optional<ReadAhead>& bounds)
    : policy_(reader.input().policy()),
      threads_(context.executor.concurrency()),
      on_host_(reader.traits().completes_at_once),
      live_(reader.input().sources().live()),
      depends_(reader.input().sources().depends()),
      limits_(limits_of(context, bounds)),
      beside_(threads_ > 1 && !limits_.none() && !(live_ && reader.input().is_fed()) &&
              limits_.items >= limits_.chunk),
      gathers_(beside_ && live_),
      ahead_(limits_) {
  if (!live_ || policy_.kind == Policy::Kind::fixed)
    controller_ = scheduler::make_controller(policy_, config(context, reader));
  const BackendTraits& traits = reader.traits();
  largest_work_ = reader.input().work_of(std::min(traits.chunk_memory, traits.largest_chunk));
}

AheadLimits ReadSizes::limits_of(const RunContext& context, const std::optional<ReadAhead>& bounds) const {
  const ReadAhead asked = bounds.value_or(ReadAhead{});
  AheadLimits limits;
  limits.items = asked.items;
  limits.bytes = asked.bytes;
  constexpr double longest = 1e9;  // seconds
  if (asked.seconds < longest) limits.ns = std::llround(asked.seconds * 1e9);
  if (policy_.kind == Policy::Kind::fixed) {
    limits.chunk = policy_.items;
    // Unless it was said, there is always room for another chunk.
    if (!bounds)
      limits.items = std::max(limits.items, policy_.items > no_limit / 2 ? no_limit : 2 * policy_.items);
  }
  if (!bounds && depends_) limits.items = 0;
  limits.one_by_one = live_ && threads_ > 1;
  // What is computed meanwhile, with its intermediate arrays, and what has been handed out need room, too.
  if (!context.budget.unlimited()) limits.bytes = std::min(limits.bytes, context.budget.available() / 4);
  return limits;
}

scheduler::ControllerConfig ReadSizes::config(const RunContext& context, StageReader& reader) const {
  const StageInput& input = reader.input();
  scheduler::ControllerConfig config;
  config.max_ring = 1;
  config.read_overlaps = beside_ && !input.sources().in_memory() && !input.is_fed();
  config.write_overlaps = false;
  config.total = input.sources().extent();
  config.max_chunk_ns =
      std::min(scheduler::PipelineOptions{}.max_chunk_ns, std::max<std::int64_t>(limits_.ns, 1));
  config.reads_again = input.has_intermediates();
  config.start_work = input.start_work();
  config.memory_limit = input.largest_read(reader.traits());
  // The chunk, what is computed from it, and intermediate arrays; the next one that is read meanwhile.
  if (!context.budget.unlimited())
    config.memory_limit = std::min(config.memory_limit, context.budget.available() / (beside_ ? 8 : 4));
  return config;
}

bool ReadSizes::has_room(bool wanted) {
  return ahead_.room(scheduler::steady_clock().now_ns(), wanted).items > 0;
}

scheduler::Decision ReadSizes::next(bool wanted) {
  const scheduler::Target room = ahead_.room(scheduler::steady_clock().now_ns(), wanted);
  scheduler::Decision decision;
  if (controller_)
    decision = controller_->next(so_far_);
  else
    decision = {.target = {}, .reason = scheduler::Reason::live};
  scheduler::Target& target = decision.target;
  target.items = std::min(target.items, std::max<std::int64_t>(room.items, 1));  // time goes on
  target.bytes = std::min(target.bytes, room.bytes);
  target.work = std::min(target.work, largest_work_);
  // So that whole chunks are gathered.
  if (gathers_ && limits_.chunk > 0)
    target.items = std::min(target.items, limits_.chunk - so_far_.items % limits_.chunk);
  return decision;
}

void ReadSizes::was_read(const scheduler::ChunkSize& size) {
  ahead_.was_read(size.items, size.bytes);
  so_far_.items += size.items;
  so_far_.work += size.work;
  so_far_.bytes += size.bytes;
}

std::int64_t ReadSizes::of_gathered(std::int64_t items) const {
  if (limits_.chunk > 0) return items < limits_.chunk ? 0 : limits_.chunk;
  if (ns_per_item_ <= 0 || limits_.ns == no_limit) return items;
  return std::min(items, std::max<std::int64_t>(limits_.ns / ns_per_item_, 1));
}

/// With n threads, of which one is the taker, an item that takes c of one thread's time to compute and w of the taker's time
/// takes max(c / (n - 1), w) if it is computed beside, and c / n + w if all threads compute it when the taker has come.
bool ReadSizes::computes_beside() const {
  const std::int64_t work = ahead_.pace_ns();
  return !on_host_ || work == 0 || busy_per_result_ / threads_ / (threads_ - 1) < work;
}

void ReadSizes::was_computed(const scheduler::ChunkTimes& times, const scheduler::ChunkSize& read,
                             std::int64_t busy_ns, std::int64_t results, std::int64_t bytes) {
  ahead_.was_computed(read, results, bytes);
  ns_per_item_ = times.compute.length() / std::max<std::int64_t>(times.size.items, 1);
  busy_per_result_ = busy_ns / std::max<std::int64_t>(results, 1);
  if (controller_)
    controller_->observe({.size = times.size,
                          .target = times.decision.target,
                          .ns = {.read = times.read.length(), .compute = times.compute.length()}});
}

void ReadSizes::too_big(const scheduler::ChunkSize& tried) {
  if (controller_) controller_->too_big(tried);
}

}  // namespace anabranch::runtime
