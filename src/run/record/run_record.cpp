#include "run/record/run_record.h"

#include <algorithm>

#include "run/memory/resident_memory.h"

namespace anabranch::runtime {

namespace {

using scheduler::ChunkTimes;
using scheduler::Decision;

double seconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

std::optional<std::int64_t> limit(std::int64_t value) {
  return value == scheduler::no_limit ? std::nullopt : std::make_optional(value);
}

bool same(const Decision& a, const Decision& b) {
  return a.target == b.target && a.ring == b.ring && a.reason == b.reason;
}

ChunkDecision told(const Decision& decision, std::int64_t chunk) {
  ChunkDecision out;
  out.first = out.last = chunk;
  out.items = limit(decision.target.items);
  out.work = limit(decision.target.work);
  out.bytes = limit(decision.target.bytes);
  out.ring = decision.ring;
  out.reason = to_string(decision.reason);
  out.meaning = meaning_of(decision.reason);
  out.fixed_seconds = decision.ns_per_work > 0 ? decision.fixed_ns * 1e-9 : 0;
  out.seconds_per_work = decision.ns_per_work * 1e-9;
  out.text = describe(decision);
  return out;
}

ChunkRecord told(const ChunkTimes& times, std::int64_t begin_ns) {
  ChunkRecord out;
  out.number = times.chunk;
  out.items = times.size.items;
  out.work = times.size.work;
  out.bytes = times.size.bytes;
  out.items_so_far = times.so_far.items;
  out.work_so_far = times.so_far.work;
  out.bytes_so_far = times.so_far.bytes;
  out.begin = seconds(times.read.begin_ns - begin_ns);
  out.end = seconds(std::max(times.compute.end_ns, times.write.end_ns) - begin_ns);
  out.read_seconds = seconds(times.read_ns());
  out.compute_seconds = seconds(times.compute_ns());
  out.write_seconds = seconds(times.write.length());
  out.wait_seconds = seconds(times.wait_ns);
  out.utilisation = times.utilisation;
  out.in_flight = times.in_flight;
  out.memory_bytes = times.memory.held;
  out.gpu_memory_bytes = times.memory.device_held;
  out.resident_bytes = times.memory.resident;
  out.reason = to_string(times.decision.reason);
  return out;
}

/// What a source reads, itself or through the stages that feed it; empty: nothing.
std::string read_by(const plan::Plan& plan, const ir::StageSource& source) {
  if (source.node->payload().source) return source.node->payload().source->info().name;
  for (const int feed : source.feeds)
    for (const ir::StageSource& of_feed : plan.stages[static_cast<std::size_t>(feed)].sources)
      if (std::string name = read_by(plan, of_feed); !name.empty()) return name;
  return {};
}

StageReport told(const RunRecord::Stage& stage, std::int64_t begin_ns) {
  const scheduler::Summary& sum = stage.trace.summary();
  const scheduler::ChunkSize median = stage.trace.median();
  StageReport out;
  out.name = stage.name;
  out.place = stage.place;
  out.source = stage.source;
  out.scheduler = stage.scheduler;
  out.runs = stage.runs;
  out.items = sum.total.items;
  out.work = sum.total.work;
  out.bytes = sum.total.bytes;
  out.chunks = sum.chunks;
  out.total_items = stage.total_items;
  out.total_work = stage.total_work;
  out.chunk_items = {sum.least.items, median.items, sum.most.items};
  out.chunk_work = {sum.least.work, median.work, sum.most.work};
  out.chunk_bytes = {sum.least.bytes, median.bytes, sum.most.bytes};
  out.seconds = seconds(sum.wall_ns);
  out.read_seconds = seconds(sum.phase_ns.read);
  out.compute_seconds = seconds(sum.phase_ns.compute);
  out.write_seconds = seconds(sum.phase_ns.write);
  out.wait_seconds = seconds(sum.phase_ns.wait);
  out.utilisation = sum.utilisation;
  out.ring = stage.ring;
  out.in_pieces = stage.in_pieces;
  out.mean_in_flight = sum.mean_in_flight;
  out.most_in_flight = sum.most_in_flight;
  out.cut = sum.halvings;
  out.gpu_chunks = stage.gpu_chunks;
  out.peak_bytes = sum.most_memory.held;
  for (std::size_t reason = 0; reason < scheduler::reasons; ++reason)
    if (sum.by_reason[reason] > 0) {
      const auto r = static_cast<scheduler::Reason>(reason);
      out.reasons.push_back({to_string(r), meaning_of(r), sum.by_reason[reason]});
    }
  std::stable_sort(out.reasons.begin(), out.reasons.end(),
                   [](const auto& a, const auto& b) { return a.chunks > b.chunks; });
  const std::vector<ChunkTimes>& records = stage.trace.records();
  out.records.reserve(records.size());
  for (std::size_t r = 0; r < records.size(); ++r) {
    if (r == 0 || !same(records[r - 1].decision, records[r].decision))
      out.decisions.push_back(told(records[r].decision, records[r].chunk));
    out.decisions.back().last = records[r].chunk;
    out.records.push_back(told(records[r], begin_ns));
    out.records.back().decision = static_cast<int>(out.decisions.size()) - 1;
  }
  return out;
}

}  // namespace

RunRecord::Stage& RunRecord::stage(const plan::Plan& plan, const plan::StagePlan& of) {
  for (Stage& stage : stages_)
    if (stage.plan == &of) return stage;
  Stage& stage = stages_.emplace_back();
  stage.plan = &of;
  stage.number = static_cast<int>(stages_.size()) - 1;
  // Of several that are zipped the first that reads something: others compute what belongs to its items.
  const ir::StageSource* origin = &of.sources[0];
  for (const ir::StageSource& source : of.sources)
    if (stage.source = read_by(plan, source); !stage.source.empty()) {
      origin = &source;
      break;
    }
  stage.name = origin->node->label();
  stage.place = to_string(origin->node->place());
  return stage;
}

void RunRecord::tell(RunReport& report) const {
  double seconds = 0, busy = 0;
  for (const Stage& stage : stages_) {
    const StageReport& one = report.stages.emplace_back(told(stage, begin_ns_));
    report.items += one.items;
    report.work += one.work;
    report.bytes += one.bytes;
    report.chunks += one.chunks;
    report.gpu_chunks += one.gpu_chunks;
    report.read_seconds += one.read_seconds;
    report.compute_seconds += one.compute_seconds;
    report.write_seconds += one.write_seconds;
    seconds += one.seconds;
    busy += one.seconds * one.utilisation;
  }
  if (seconds > 0) report.utilisation = busy / seconds;
  report.peak_resident_bytes = peak_resident_memory();
}

}  // namespace anabranch::runtime
