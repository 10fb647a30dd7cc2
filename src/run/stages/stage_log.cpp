#include "run/stages/stage_log.h"

#include <utility>

#include "run/memory/resident_memory.h"
#include "run/record/run_trace.h"
#include "scheduler/clock.h"

namespace anabranch::runtime {

void StageLog::begin(const StageInput& input, How how) {
  if (!context_.record) return;
  record_ = &context_.record->stage(context_.plan, input.stage());
  ++record_->runs;
  record_->ring = how.ring;
  record_->in_pieces = how.in_pieces;
  record_->scheduler = context_.options.scheduler;
  record_->total_items = input.sources().items();
  record_->total_work = input.sources().work();
  progress_.total_items = record_->total_items;
  progress_.total_work = record_->total_work;
  progress_.stage = record_->number;
  begin_ns_ = scheduler::steady_clock().now_ns();
  scheduler::Trace& trace = record_->trace;
  if (context_.trace) context_.trace->begin_stage(record_->number, trace.summary().chunks, how.in_pieces);
  trace.measure_memory([this](std::int64_t) {
    const scheduler::Budget* const gpu = backend_.device_memory();
    return scheduler::MemoryUse{context_.budget.used(), gpu ? gpu->used() : 0, resident_memory()};
  });
  trace.on_chunk([this, how](const scheduler::ChunkTimes& times) {
    draw(times);
    if (how.progress) tell_progress(times.size);
  });
  if (how.by_pipeline) return;
  trace.begin(begin_ns_, context_.executor.concurrency());
  open_ = true;
}

void StageLog::next_chunk() {
  if (context_.trace) context_.trace->next_chunk();
}

void StageLog::draw_memory() {
  if (context_.trace)
    context_.trace->memory(context_.trace->place().chunk, context_.budget, backend_.device_memory());
}

void StageLog::add(const scheduler::ChunkTimes& times) {
  if (record_) record_->trace.add(times);
}

void StageLog::draw(const scheduler::ChunkTimes& times) {
  if (!context_.trace) return;
  context_.trace->chunk(times);
  context_.trace->memory(times.chunk, context_.budget, backend_.device_memory());
}

void StageLog::tell_progress(const scheduler::ChunkSize& size) {
  if (!context_.options.progress) return;
  progress_.items += size.items;
  progress_.work += size.work;
  progress_.bytes += size.bytes;
  ++progress_.chunks;
  progress_.seconds = static_cast<double>(scheduler::steady_clock().now_ns() - begin_ns_) * 1e-9;
  context_.options.progress(progress_);
}

void StageLog::complete() {
  if (record_ && context_.trace) context_.trace->end_stage();
}

void StageLog::end(std::int64_t busy_ns) {
  if (std::exchange(open_, false)) record_->trace.end(scheduler::steady_clock().now_ns(), busy_ns);
}

}  // namespace anabranch::runtime
