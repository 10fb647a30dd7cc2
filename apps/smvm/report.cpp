#include "apps/smvm/report.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/common/byte_size.h"

namespace anabranch::apps {

namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Of the rows; nothing where the back end does not run in chunks.
std::optional<Spread> chunk_items(const SmvmReport& r) {
  if (!r.options.run.chunks()) return std::nullopt;
  return r.run.stages.empty() ? Spread{} : r.run.stages[0].chunk_items;
}

bool on_gpu(const RunReport& run) { return run.backend == "cuda" || run.backend == "cpu+cuda"; }

double gb_per_second(const SmvmReport& r) {
  const double seconds = r.steady_seconds();
  return seconds > 0 ? static_cast<double>(r.bytes) / seconds * 1e-9 : 0;
}

}  // namespace

double SmvmReport::steady_seconds() const {
  if (repeats.size() >= 3) return median({repeats.begin() + 2, repeats.end()});
  return repeats.empty() ? 0 : *std::min_element(repeats.begin(), repeats.end());
}

std::string to_json(const SmvmReport& r) {
  nlohmann::ordered_json out;
  out["matrix"] = {{"file", r.options.matrix},
                   {"format", io::name_of(r.header.format)},
                   {"rows", r.header.rows},
                   {"columns", r.header.cols},
                   {"index", name_of(r.header.index)},
                   {"value", name_of(r.header.value)}};
  out["items"] = r.header.rows;
  out["nnz"] = r.nnz;
  out["bytes"] = r.bytes;
  out["backend"] = r.run.backend;
  if (!r.run.backend_reason.empty()) out["backend_reason"] = r.run.backend_reason;
  out["threads"] = r.run.threads;
  out["scheduler"] = nullptr;
  out["memory"] = nullptr;
  out["peak_bytes"] = nullptr;
  out["peak_resident_bytes"] = r.run.peak_resident_bytes;
  out["chunks"] = nullptr;
  out["chunk_items"] = nullptr;
  out["utilisation"] = nullptr;
  out["seconds"] = {{"total", r.total_seconds},     {"open", r.open_seconds},    {"front", r.front_seconds},
                    {"compile", r.compile_seconds}, {"run", r.steady_seconds()}, {"read", nullptr},
                    {"compute", nullptr},           {"write", nullptr}};
  if (const auto items = chunk_items(r)) {
    out["scheduler"] = r.options.run.scheduler;
    out["memory"] = r.memory;
    out["peak_bytes"] = r.peak_bytes;
    out["chunks"] = r.run.chunks;
    out["chunk_items"] = {{"min", items->least}, {"median", items->median}, {"max", items->most}};
    out["utilisation"] = r.run.utilisation;
    out["seconds"]["read"] = r.run.read_seconds;
    out["seconds"]["compute"] = r.run.compute_seconds;
    out["seconds"]["write"] = r.run.write_seconds;
  }
  if (on_gpu(r.run)) out["gpu"] = {{"chunks", r.run.gpu_chunks}, {"peak_bytes", r.run.gpu_peak_bytes}};
  if (on_gpu(r.run) && !r.options.run.trace.empty()) {
    out["gpu"]["copy_seconds"] = r.run.gpu_copy_seconds;
    out["gpu"]["kernel_seconds"] = r.run.gpu_kernel_seconds;
    out["gpu"]["both_seconds"] = r.run.gpu_both_seconds;
    out["gpu"]["overlap"] = r.run.gpu_overlap;
  }
  out["kernels"] = {{"compiled", r.kernels_compiled}, {"from_disk", r.kernels_from_disk}};
  out["gb_per_second"] = gb_per_second(r);
  out["repeats"] = r.repeats;
  out["unchecked"] = r.unchecked;
  if (r.options.out.empty())
    out["result"] = nullptr;
  else
    out["result"] = r.options.out;
  if (!r.options.run.trace.empty()) out["trace"] = r.options.run.trace;
  if (!r.options.run.report.empty()) out["report"] = r.options.run.report;
  out["stages"] = nlohmann::ordered_json::parse(to_json(r.run, r.options.run.stats))["stages"];
  // File names are bytes; JSON is UTF-8.
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string to_text(const SmvmReport& r) {
  std::string out;
  const auto line = [&](const char* label, const std::string& text) {
    out += fmt::format("{:<9} {}\n", label, text);
  };
  line("Matrix", fmt::format("{}: {} x {}, {} entries, {} and {}, {}", io::name_of(r.header.format),
                             r.header.rows, r.header.cols, r.nnz, name_of(r.header.index),
                             name_of(r.header.value), decimal_bytes(r.bytes)));
  const auto items = chunk_items(r);
  line("Run",
       fmt::format("back end {}, {} thread{}{}", r.run.backend, r.run.threads, r.run.threads == 1 ? "" : "s",
                   items ? ", scheduler " + r.options.run.scheduler : ""));
  if (!r.run.backend_reason.empty()) line("", "chosen because " + r.run.backend_reason);
  if (on_gpu(r.run))
    line("GPU", fmt::format("{} of {} chunks, held at most {}", r.run.gpu_chunks, r.run.chunks,
                            binary_bytes(r.run.gpu_peak_bytes)));
  if (on_gpu(r.run) && !r.options.run.trace.empty())
    line("", fmt::format("copies {:.4f} s, kernels {:.4f} s, both at once {:.4f} s: overlap {:.0f} %",
                         r.run.gpu_copy_seconds, r.run.gpu_kernel_seconds, r.run.gpu_both_seconds,
                         100 * r.run.gpu_overlap));
  if (items)
    line("Stream", fmt::format("{} rows in {} chunk{} of {} to {} rows (median {}), utilisation {:.0f} %",
                               r.run.items, r.run.chunks, r.run.chunks == 1 ? "" : "s", items->least,
                               items->most, items->median, 100 * r.run.utilisation));
  line("Time", fmt::format("{:.3f} s in all: opening {:.3f} s, compiling {:.3f} s{}, {}", r.total_seconds,
                           r.open_seconds, r.front_seconds + r.compile_seconds,
                           r.kernels_from_disk > 0 ? " (kernels from the cache)" : "",
                           items ? fmt::format("reading {:.3f} s beside computing {:.3f} s",
                                               r.run.read_seconds, r.run.compute_seconds)
                                 : fmt::format("running {:.3f} s", r.steady_seconds())));
  if (r.repeats.size() > 1)
    line("Repeats",
         fmt::format("{} runs, {} {:.4f} s", r.repeats.size(),
                     r.repeats.size() > 2 ? "median after the first two" : "the faster", r.steady_seconds()));
  line("Speed",
       fmt::format("{:.2f} GB/s, {:.1f} million entries/s", gb_per_second(r),
                   r.steady_seconds() > 0 ? static_cast<double>(r.nnz) / r.steady_seconds() * 1e-6 : 0));
  line("Memory", fmt::format("{}process at its peak {}",
                             items ? fmt::format("bound {}, held at most {}, ", binary_bytes(r.memory),
                                                 binary_bytes(r.peak_bytes))
                                   : "no bound, ",
                             binary_bytes(r.run.peak_resident_bytes)));
  if (!r.unchecked.empty())
    line("Unchecked", fmt::format("{}: without a checksum to compare", fmt::join(r.unchecked, ", ")));
  line("Result", r.options.out.empty() ? "not written (--out y.npy)" : r.options.out);
  if (!r.options.run.trace.empty()) line("Trace", r.options.run.trace + " (for ui.perfetto.dev)");
  if (!r.options.run.report.empty()) line("Report", r.options.run.report + " (for a browser)");
  if (r.options.run.stats) out += "\nThe last run\n" + to_text(r.run);
  return out;
}

}  // namespace anabranch::apps
