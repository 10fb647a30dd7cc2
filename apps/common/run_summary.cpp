#include "apps/common/run_summary.h"

#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/common/byte_size.h"
#include "apps/common/quantities.h"

namespace anabranch::apps {

namespace {

/// Of the stream; nothing where the back end does not run in chunks.
std::optional<Spread> chunk_items(const RunSummary& s) {
  if (!s.choice.chunks()) return std::nullopt;
  return s.runs.last.stages.empty() ? Spread{} : s.runs.last.stages[0].chunk_items;
}

/// "3 words", "1 to 5 words (median 2)".
std::string range(const Spread& spread, const char* noun) {
  if (spread.least == spread.most) return counted(spread.most, noun);
  return fmt::format("{} to {} (median {})", spread.least, counted(spread.most, noun), spread.median);
}

/// "a, b, c and 5 more"
std::string first_of(const std::vector<std::string>& files) {
  constexpr std::size_t most = 4;
  const std::size_t named = files.size() > most ? most - 1 : files.size();
  return fmt::format("{}{}",
                     fmt::join(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                     named < files.size() ? fmt::format(" and {} more", files.size() - named) : "");
}

bool on_gpu(const RunReport& run) { return run.backend == "cuda" || run.backend == "cpu+cuda"; }

}  // namespace

void add_run(nlohmann::ordered_json& out, const RunSummary& s) {
  const RunReport& run = s.runs.last;
  out["backend"] = run.backend;
  if (!run.backend_reason.empty()) out["backend_reason"] = run.backend_reason;
  out["threads"] = run.threads;
  out["scheduler"] = nullptr;
  out["memory"] = nullptr;
  out["peak_bytes"] = nullptr;
  out["peak_resident_bytes"] = run.peak_resident_bytes;
  out["chunks"] = nullptr;
  out["chunk_items"] = nullptr;
  out["utilisation"] = nullptr;
  out["seconds"] = {{"total", s.total_seconds},
                    {"open", s.open_seconds},
                    {"front", s.runs.front_seconds},
                    {"compile", s.runs.compile_seconds},
                    {"run", s.runs.steady_seconds()},
                    {"read", nullptr},
                    {"compute", nullptr},
                    {"write", nullptr}};
  if (const auto items = chunk_items(s)) {
    out["scheduler"] = s.choice.scheduler;
    out["memory"] = s.memory;
    out["peak_bytes"] = s.runs.peak_bytes;
    out["chunks"] = run.chunks;
    out["chunk_items"] = {{"min", items->least}, {"median", items->median}, {"max", items->most}};
    out["utilisation"] = run.utilisation;
    out["seconds"]["read"] = run.read_seconds;
    out["seconds"]["compute"] = run.compute_seconds;
    out["seconds"]["write"] = run.write_seconds;
  }
  if (on_gpu(run)) out["gpu"] = {{"chunks", run.gpu_chunks}, {"peak_bytes", run.gpu_peak_bytes}};
  if (on_gpu(run) && !s.choice.trace.empty()) {
    out["gpu"]["copy_seconds"] = run.gpu_copy_seconds;
    out["gpu"]["kernel_seconds"] = run.gpu_kernel_seconds;
    out["gpu"]["both_seconds"] = run.gpu_both_seconds;
    out["gpu"]["overlap"] = run.gpu_overlap;
  }
  out["kernels"] = {{"compiled", s.runs.kernels_compiled}, {"from_disk", s.runs.kernels_from_disk}};
}

void add_files_and_stages(nlohmann::ordered_json& out, const RunSummary& s,
                          const std::vector<std::string>& unchecked, const std::string& result) {
  out["repeats"] = s.runs.seconds;
  out["unchecked"] = unchecked;
  if (result.empty())
    out["result"] = nullptr;
  else
    out["result"] = result;
  if (!s.choice.trace.empty()) out["trace"] = s.choice.trace;
  if (!s.choice.report.empty()) out["report"] = s.choice.report;
  out["stages"] = nlohmann::ordered_json::parse(to_json(s.runs.last, s.choice.stats))["stages"];
}

std::string kernels_from(int compiled, int from_disk) {
  if (from_disk == 0) return "";
  if (compiled == 0) return " (kernels from the cache)";
  return fmt::format(" ({} compiled, {} from the cache)", counted(compiled, "kernel"), from_disk);
}

std::string report_line(const char* label, const std::string& text) {
  return fmt::format("{:<9} {}\n", label, text);
}

std::string run_lines(const RunSummary& s) {
  const RunReport& run = s.runs.last;
  std::string out;
  const auto line = [&](const char* label, const std::string& text) { out += report_line(label, text); };
  const auto items = chunk_items(s);
  line("Run", fmt::format("back end {}, {}{}", run.backend, counted(run.threads, "thread"),
                          items ? ", scheduler " + s.choice.scheduler : ""));
  if (!run.backend_reason.empty()) line("", "chosen because " + run.backend_reason);
  if (on_gpu(run))
    line("GPU", fmt::format("{} of {}, held at most {}", run.gpu_chunks, counted(run.chunks, "chunk"),
                            binary_bytes(run.gpu_peak_bytes)));
  if (on_gpu(run) && !s.choice.trace.empty())
    line("", fmt::format("copies {:.4f} s, kernels {:.4f} s, both at once {:.4f} s: overlap {:.0f} %",
                         run.gpu_copy_seconds, run.gpu_kernel_seconds, run.gpu_both_seconds,
                         100 * run.gpu_overlap));
  if (items)
    line("Stream", fmt::format("{}{} in {} of {}, utilisation {:.0f} %", counted(run.items, s.item), s.part,
                               counted(run.chunks, "chunk"), range(*items, s.item), 100 * run.utilisation));
  line("Time", fmt::format("{:.3f} s in all: opening {:.3f} s, compiling {:.3f} s{}, {}", s.total_seconds,
                           s.open_seconds, s.runs.front_seconds + s.runs.compile_seconds,
                           kernels_from(s.runs.kernels_compiled, s.runs.kernels_from_disk),
                           items ? fmt::format("reading {:.3f} s, computing {:.3f} s{}", run.read_seconds,
                                               run.compute_seconds, s.part)
                                 : fmt::format("running {:.3f} s", s.runs.steady_seconds())));
  if (s.runs.seconds.size() > 1)
    line("Repeats", fmt::format("{} runs, {} {:.4f} s", s.runs.seconds.size(),
                                s.runs.seconds.size() > 2 ? "median after the first two" : "the faster",
                                s.runs.steady_seconds()));
  return out;
}

std::string memory_and_file_lines(const RunSummary& s, const std::vector<std::string>& unchecked,
                                  const std::string& result, const char* no_result) {
  std::string out;
  const auto line = [&](const char* label, const std::string& text) { out += report_line(label, text); };
  line("Memory",
       fmt::format("{}process at its peak {}",
                   s.choice.chunks() ? fmt::format("bound {}, held at most {}, ", binary_bytes(s.memory),
                                                   binary_bytes(s.runs.peak_bytes))
                                     : "no bound, ",
                   binary_bytes(s.runs.last.peak_resident_bytes)));
  if (!unchecked.empty()) line("Unchecked", first_of(unchecked) + ": without a checksum to compare");
  if (!result.empty() || no_result) line("Result", result.empty() ? no_result : result);
  if (!s.choice.trace.empty()) line("Trace", s.choice.trace + " (for ui.perfetto.dev)");
  if (!s.choice.report.empty()) line("Report", s.choice.report + " (for a browser)");
  if (s.choice.stats) out += "\nThe last run\n" + to_text(s.runs.last);
  return out;
}

}  // namespace anabranch::apps
