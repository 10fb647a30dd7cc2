#include "run/stage_reader.h"

#include <algorithm>

#include "run/run_trace.h"
#include "scheduler/clock.h"

namespace anabranch::runtime {

StageReader::StageReader(RunContext& context, RunBackend& backend, int number, GlobalValues& global,
                         const RunBody& run_body)
    : context_(context),
      backend_(backend),
      traits_(backend.traits()),
      pass_(context.plan, {number}, context.budget),
      streams_(pass_, 0),
      input_(context, context.plan.stages[static_cast<std::size_t>(number)], global, streams_,
             feeds(context, backend, global, streams_, run_body)),
      results_(context, input_.stage()),
      computing_(backend.open_stage(input_.work(1))),
      record_(context.record->stage(input_.stage())),
      begin_ns_(scheduler::steady_clock().now_ns()) {
  ++record_.runs;
  record_.scheduler = context.options.scheduler;
  record_.total_items = input_.sources().items();
  record_.total_work = input_.sources().work();
  record_.trace.measure_memory([this](std::int64_t now_ns) {
    return context_.record->memory(context_.budget, backend_.device_memory(), now_ns);
  });
  record_.trace.on_chunk([this](const scheduler::ChunkTimes& times) { on_chunk(times); });
  record_.trace.begin(begin_ns_, context.executor.concurrency());
  if (context.trace) context.trace->begin_stage(record_.number, 0);
}

StageReader::~StageReader() { record_.trace.end(scheduler::steady_clock().now_ns(), busy_.busy_ns()); }

bool StageReader::next(std::vector<std::vector<HostArray>>& items) {
  items.clear();
  results_.clear();
  scheduler::ChunkTimes times;
  if (!make_next(items, times)) {
    if (context_.trace) context_.trace->end_stage();
    return false;
  }
  observe(times);
  return true;
}

bool StageReader::make_next(std::vector<std::vector<HostArray>>& items, scheduler::ChunkTimes& times) {
  const scheduler::Clock& clock = scheduler::steady_clock();
  times.read.begin_ns = clock.now_ns();
  if (read_.empty() || read_at_ == read_[0].items) {
    size_ = next_size();
    if (!read(size_.target)) return false;
  }
  times.decision = size_;
  times.in_flight = 1;
  times.read.end_ns = times.compute.begin_ns = clock.now_ns();
  if (context_.trace) context_.trace->next_chunk();
  const std::int64_t busy_before = busy_.busy_ns();
  {
    const scheduler::BusySpan busy(&busy_);
    times.size = compute(items);
  }
  times.compute.end_ns = clock.now_ns();
  const std::int64_t thread_ns =
      std::max<std::int64_t>(times.compute.length(), 1) * context_.executor.concurrency();
  times.utilisation =
      std::min(static_cast<double>(busy_.busy_ns() - busy_before) / static_cast<double>(thread_ns), 1.0);
  return true;
}

void StageReader::observe(const scheduler::ChunkTimes& times) {
  so_far_.items += times.size.items;
  so_far_.work += times.size.work;
  so_far_.bytes += times.size.bytes;
  if (controller_)
    controller_->observe({.size = times.size,
                          .target = size_.target,
                          .ns = {.read = times.read.length(), .compute = times.compute.length()}});
  record_.trace.add(times);
}

void StageReader::on_chunk(const scheduler::ChunkTimes& times) {
  if (context_.trace) {
    context_.trace->chunk(times);
    context_.trace->memory(times.chunk, context_.budget, backend_.device_memory());
  }
  if (context_.options.progress)
    context_.options.progress(
        {.items = so_far_.items,
         .total_items = record_.total_items,
         .chunks = times.chunk + 1,
         .work = so_far_.work,
         .total_work = record_.total_work,
         .bytes = so_far_.bytes,
         .seconds = static_cast<double>(scheduler::steady_clock().now_ns() - begin_ns_) * 1e-9,
         .stage = record_.number});
}

/// How much the next chunk shall hold.
scheduler::Decision StageReader::next_size() {
  const scheduler::Policy& policy = input_.policy();
  if (input_.sources().live() && policy.kind != scheduler::Policy::Kind::fixed)
    return {.target = {.items = 1}, .reason = scheduler::Reason::live};
  if (!controller_) {
    scheduler::ControllerConfig config;
    config.max_ring = 1;
    config.read_overlaps = config.write_overlaps = false;
    config.total = input_.sources().extent();
    config.reads_again = input_.has_intermediates();
    config.start_work = input_.start_work();
    config.memory_limit = input_.largest_read(traits_);
    // The chunk, what is computed from it, and intermediate arrays.
    if (!context_.budget.unlimited())
      config.memory_limit = std::min(config.memory_limit, context_.budget.available() / 4);
    controller_ = scheduler::make_controller(policy, config);
  }
  scheduler::Decision decision = controller_->next(so_far_);
  decision.target.work =
      std::min(decision.target.work, input_.work_of(std::min(traits_.chunk_memory, traits_.largest_chunk)));
  return decision;
}

/// Reads a chunk into read_; false at the end.
bool StageReader::read(const scheduler::Target& target) {
  read_reservations_.clear();
  read_.clear();
  read_at_ = 0;
  if (!input_.read(target, read_)) {
    read_.clear();
    return false;
  }
  for (const SourceChunk& c : read_) read_reservations_.push_back(context_.budget.reserve("chunks", c.bytes));
  items_that_fit_ = read_[0].items;
  return true;
}

/// Of what has been read: as much as fits, in halves if it must be. What has been computed is the chunk.
scheduler::ChunkSize StageReader::compute(std::vector<std::vector<HostArray>>& items) {
  const std::int64_t whole = read_[0].items;
  for (;;) {
    const std::int64_t end = std::min(whole, read_at_ + items_that_fit_);
    const std::vector<SourceChunk> part =
        end - read_at_ == whole ? read_ : input_.part_of(read_, read_at_, end);
    if (fits(part, items) || (computing_->make_room(0) && fits(part, items))) {
      read_at_ = end;
      return chunk_size_of(part);
    }
    if (end - read_at_ <= 1) std::rethrow_exception(refusal_);
    if (controller_) controller_->too_big(chunk_size_of(part));
    items_that_fit_ = (end - read_at_) / 2;
  }
}

bool StageReader::fits(const std::vector<SourceChunk>& chunks, std::vector<std::vector<HostArray>>& items) {
  try {
    computing_->enqueue(0, chunks, results_);
    computing_->complete(0, results_);
    results_.take(items);
    return true;
  } catch (const scheduler::BudgetExceeded&) {
    refusal_ = std::current_exception();
    results_.clear();
    return false;
  }
}

}  // namespace anabranch::runtime
