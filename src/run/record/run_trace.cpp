#include "run/record/run_trace.h"

#include <bit>
#include <utility>

#include <fmt/format.h>

#include "scheduler/clock.h"

namespace anabranch::runtime {

namespace {

constexpr std::int64_t drawn_of_each_octave = 4096;

}  // namespace

RunTrace::RunTrace(const std::string& path, std::int64_t before_ns)
    : begin_ns_(now_ns()), writer_(path, begin_ns_ - before_ns) {
  writer_.name_group(host_group, "host");
  constexpr const char* names[] = {"run",  "passes",  "compiling kernels", "compiling kernels for the GPU",
                                   "read", "compute", "kernels",           "write"};
  int number = 0;
  for (const char* name : names) writer_.name_row({host_group, number++}, name);
}

std::int64_t RunTrace::now_ns() { return scheduler::steady_clock().now_ns(); }

namespace {
thread_local const RunTrace::InPiece* piece_of_thread = nullptr;
}

void RunTrace::span(Row row, std::string_view name, std::int64_t begin_ns, std::int64_t end_ns,
                    const timeline::Arguments& arguments) {
  const bool of_piece = row == Row::kernels && piece_of_thread;
  const timeline::Row drawn =
      of_piece ? row_of_slot(piece_of_thread->slot_) : timeline::Row{host_group, static_cast<int>(row)};
  writer_.span(drawn, name, begin_ns, end_ns, arguments);
}

timeline::Row RunTrace::row_of_slot(int slot) {
  const timeline::Row row{host_group, static_cast<int>(Row::first_slot) + slot};
  writer_.name_row(row, fmt::format("pieces, slot {}", slot));
  return row;
}

RunTrace::InPiece::InPiece(const RunTrace* trace, std::int64_t number, int slot)
    : slot_(slot), outer_(piece_of_thread) {
  if (!trace) return;
  place_ = {trace->stage_, number};
  piece_of_thread = this;
}

RunTrace::InPiece::~InPiece() { piece_of_thread = outer_; }

ChunkPlace RunTrace::place() const {
  if (piece_of_thread) return piece_of_thread->place_;
  return {stage_, chunk_};
}

bool RunTrace::is_drawn(std::int64_t chunk) {
  if (chunk < drawn_of_each_octave) return true;
  // Every stride-th, a power of two.
  const std::uint64_t stride = std::bit_floor(static_cast<std::uint64_t>(chunk / drawn_of_each_octave));
  return (static_cast<std::uint64_t>(chunk) & (stride - 1)) == 0;
}

void RunTrace::chunk(const scheduler::ChunkTimes& record) {
  writer_.check();
  if (!is_drawn(record.chunk)) return;
  const scheduler::ChunkSize& size = record.size;
  timeline::Arguments arguments;
  arguments.add("stage", std::int64_t{stage_})
      .add("chunk", record.chunk)
      .add("items", size.items)
      .add("work", size.work)
      .add("bytes", size.bytes)
      .add("reason", to_string(record.decision.reason))
      .add("slot", std::int64_t{record.slot});
  const std::string name = fmt::format("chunk {}", record.chunk);
  const auto stage = [&](Row row, const scheduler::Span& s) {
    if (s.end_ns == 0) return;
    if (!in_pieces_) return span(row, name, s.begin_ns, s.end_ns, arguments);
    const char* const phase = row == Row::read ? "read" : row == Row::compute ? "compute" : "commit";
    writer_.span(row_of_slot(record.slot), fmt::format("{} {}", phase, record.chunk), s.begin_ns, s.end_ns,
                 arguments);
  };
  stage(Row::read, record.read);
  stage(Row::compute, record.compute);
  stage(Row::write, record.write);
  writer_.counter(host_group, "items of a chunk", record.read.end_ns, size.items);
  writer_.counter(host_group, "bytes of a chunk", record.read.end_ns, size.bytes);
}

void RunTrace::memory(std::int64_t chunk, const scheduler::Budget& host, const scheduler::Budget* gpu) {
  if (!is_drawn(chunk)) return;
  const std::int64_t now = now_ns();
  writer_.counter(host_group, "bytes held", now, host.used());
  if (gpu) writer_.counter(gpu_group, "bytes held on the GPU", now, gpu->used());
}

void RunTrace::begin_stage(int number, std::int64_t done, bool in_pieces) {
  stage_ = number;
  chunk_ = done - 1;
  in_pieces_ = in_pieces;
  stage_begin_ns_ = now_ns();
}

void RunTrace::end_stage() {
  span(Row::run, fmt::format("stage {}", stage_.load()), stage_begin_ns_, now_ns());
  stage_ = -1;
  chunk_ = -1;
}

void RunTrace::complete() {
  if (std::exchange(complete_, true)) return;
  span(Row::run, "run", begin_ns_, now_ns(), facts_);
  writer_.complete();
}

void RunTrace::finish() {
  if (finished_) return;
  complete();
  finished_ = true;
  writer_.finish();
}

void RunTrace::fail(std::string_view error) noexcept {
  try {
    if (finished_) return;
    facts_.add("error", error);
    if (std::exchange(complete_, false)) writer_.reopen();
    finish();
  } catch (...) {  // NOLINT: the run's own error comes first
  }
}

}  // namespace anabranch::runtime
