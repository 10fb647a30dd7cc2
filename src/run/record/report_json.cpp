#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <anabranch/run_report.h>

#include "timeline/json.h"

/// RunReport as one JSON object. Its members are described in docs/command.md.
namespace anabranch {

namespace {

using timeline::json_array;
using timeline::Members;

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::string json(const Spread& spread) {
  return Members().add("min", spread.least).add("median", spread.median).add("max", spread.most).object();
}

std::string json(const StageReport::Reason& reason) {
  return Members()
      .add("reason", reason.reason)
      .add("meaning", reason.meaning)
      .add("chunks", reason.chunks)
      .object();
}

std::string json(const ChunkDecision& d) {
  return Members()
      .add("first", d.first)
      .add("last", d.last)
      .add("items", d.items)
      .add("work", d.work)
      .add("bytes", d.bytes)
      .add("ring", d.ring)
      .add("reason", d.reason)
      .add("fixed_seconds", d.fixed_seconds)
      .add("seconds_per_work", d.seconds_per_work)
      .add("text", d.text)
      .object();
}

/// One array for each number that a record has: less than half of what an object for each record takes.
std::string columns(const std::vector<ChunkRecord>& records) {
  Members out;
  const auto whole = [&](const char* name, auto ChunkRecord::* number) {
    out.add_json(name, json_array(records, [&](const ChunkRecord& r) { return std::to_string(r.*number); }));
  };
  const auto real = [&](const char* name, double ChunkRecord::* number) {
    out.add_json(name, json_array(records, [&](const ChunkRecord& r) {
                   return fmt::format("{:.9g}", r.*number);  // nanoseconds
                 }));
  };
  whole("number", &ChunkRecord::number);
  whole("items", &ChunkRecord::items);
  whole("work", &ChunkRecord::work);
  whole("bytes", &ChunkRecord::bytes);
  whole("items_so_far", &ChunkRecord::items_so_far);
  whole("work_so_far", &ChunkRecord::work_so_far);
  whole("bytes_so_far", &ChunkRecord::bytes_so_far);
  real("begin", &ChunkRecord::begin);
  real("end", &ChunkRecord::end);
  real("read_seconds", &ChunkRecord::read_seconds);
  real("wait_seconds", &ChunkRecord::wait_seconds);
  real("compute_seconds", &ChunkRecord::compute_seconds);
  real("write_seconds", &ChunkRecord::write_seconds);
  real("utilisation", &ChunkRecord::utilisation);
  whole("in_flight", &ChunkRecord::in_flight);
  whole("memory_bytes", &ChunkRecord::memory_bytes);
  whole("gpu_memory_bytes", &ChunkRecord::gpu_memory_bytes);
  whole("resident_bytes", &ChunkRecord::resident_bytes);
  whole("decision", &ChunkRecord::decision);
  return out.object();
}

std::string json(const StageReport& s, bool with_chunks) {
  const std::string seconds = Members()
                                  .add("wall", s.seconds)
                                  .add("read", s.read_seconds)
                                  .add("wait", s.wait_seconds)
                                  .add("compute", s.compute_seconds)
                                  .add("write", s.write_seconds)
                                  .object();
  const std::string ring =
      Members().add("slots", s.ring).add("mean", s.mean_in_flight).add("max", s.most_in_flight).object();
  Members out;
  out.add("name", s.name)
      .add("place", s.place)
      .add("source", unless_empty(s.source))
      .add("scheduler", s.scheduler)
      .add("in_pieces", s.in_pieces)
      .add("runs", s.runs)
      .add("total_items", s.total_items)
      .add("total_work", s.total_work)
      .add("items", s.items)
      .add("work", s.work)
      .add("bytes", s.bytes)
      .add("chunks", s.chunks)
      .add_json("chunk_items", json(s.chunk_items))
      .add_json("chunk_work", json(s.chunk_work))
      .add_json("chunk_bytes", json(s.chunk_bytes))
      .add_json("seconds", seconds)
      .add("utilisation", s.utilisation)
      .add_json("ring", ring)
      .add("cut", s.cut)
      .add("gpu_chunks", s.gpu_chunks)
      .add("peak_bytes", s.peak_bytes)
      .add_json("reasons", json_array(s.reasons, [](const auto& r) { return json(r); }))
      .add_json("decisions", json_array(s.decisions, [](const auto& d) { return json(d); }));
  if (with_chunks) out.add_json("records", columns(s.records));
  return out.object();
}

std::string gpu(const RunReport& r) {
  return Members()
      .add("chunks", r.gpu_chunks)
      .add("peak_bytes", r.gpu_peak_bytes)
      .add("offsets", r.gpu_offsets)
      .add("offsets_by_host", r.gpu_offsets_by_host)
      .add("offsets_reason", r.gpu_offsets_reason)
      .add("rearrangements", r.gpu_rearrangements)
      .add("rearrangements_by_host", r.gpu_rearrangements_by_host)
      .add("rearrangements_reason", r.gpu_rearrangements_reason)
      .add("copy_seconds", r.gpu_copy_seconds)
      .add("kernel_seconds", r.gpu_kernel_seconds)
      .add("both_seconds", r.gpu_both_seconds)
      .add("overlap", r.gpu_overlap)
      .object();
}

}  // namespace

std::string to_json(const RunReport& r, bool with_chunks) {
  const std::string seconds = Members()
                                  .add("total", r.seconds)
                                  .add("front", r.front_seconds)
                                  .add("compile", r.compile_seconds)
                                  .add("read", r.read_seconds)
                                  .add("compute", r.compute_seconds)
                                  .add("write", r.write_seconds)
                                  .object();
  const std::string kernels = Members()
                                  .add("compiled", r.kernels_compiled)
                                  .add("from_disk", r.kernels_from_disk)
                                  .add("cached", r.kernels_cached)
                                  .object();
  const bool on_gpu = r.backend == "cuda" || r.backend == "cpu+cuda";
  return Members()
      .add("error", unless_empty(r.error))
      .add("cancelled", r.cancelled)
      .add("backend", unless_empty(r.backend))
      .add("backend_reason", unless_empty(r.backend_reason))
      .add("threads", r.threads)
      .add("items", r.items)
      .add("work", r.work)
      .add("bytes", r.bytes)
      .add("chunks", r.chunks)
      .add("equal_chunks", r.equal_chunks)
      .add("memory_bound", r.memory_bound > 0 ? std::optional(r.memory_bound) : std::nullopt)
      .add("peak_bytes", r.peak_bytes)
      .add("peak_resident_bytes", r.peak_resident_bytes)
      .add_json("seconds", seconds)
      .add("utilisation", r.utilisation)
      .add_json("kernels", kernels)
      .add_json("gpu", on_gpu ? gpu(r) : "null")
      .add_json("stages", json_array(r.stages, [&](const StageReport& s) { return json(s, with_chunks); }))
      .object();
}

}  // namespace anabranch
