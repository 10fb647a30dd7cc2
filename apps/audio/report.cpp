#include "apps/audio/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/common/byte_size.h"
#include "apps/common/progress_meter.h"
#include "apps/common/run_summary.h"

namespace anabranch::apps {

namespace {

std::vector<std::string> names_of(const std::vector<Feature>& features) {
  std::vector<std::string> out;
  for (const Feature feature : features) out.emplace_back(name_of(feature));
  return out;
}

/// How much faster than it plays.
double times_real_time(const AudioReport& r) {
  return r.total_seconds > 0 ? r.audio_seconds / r.total_seconds : 0;
}

}  // namespace

std::string to_json(const AudioReport& r) {
  nlohmann::ordered_json out;
  out["inputs"] = r.request.inputs;
  out["rates"] = r.rates;
  out["audio_seconds"] = r.audio_seconds;
  out["windows"] = r.windows;
  out["features"] = names_of(r.request.wanted);
  if (r.request.segments.empty()) {
    out["frame_length"] = r.request.options.frame_length;
    out["hop_length"] = r.request.options.hop_length;
    out["center"] = r.request.options.center;
  } else {
    out["segments"] = r.request.segments;
  }
  out["empty_mel_bands"] = r.empty_bands;
  const RunReport& run = r.work.run;
  out["backend"] = run.backend;
  if (!run.backend_reason.empty()) out["backend_reason"] = run.backend_reason;
  out["threads"] = run.threads;
  const bool chunks = r.request.run.chunks();
  out["scheduler"] = chunks ? nlohmann::ordered_json(r.request.run.scheduler) : nullptr;
  out["memory"] = chunks ? nlohmann::ordered_json(r.memory) : nullptr;
  out["peak_bytes"] = chunks ? nlohmann::ordered_json(r.work.peak_bytes) : nullptr;
  out["peak_resident_bytes"] = run.peak_resident_bytes;
  out["seconds"] = {{"total", r.total_seconds},
                    {"run", r.work.seconds},
                    {"front", r.work.front_seconds},
                    {"compile", r.work.compile_seconds}};
  out["times_real_time"] = times_real_time(r);
  out["kernels"] = {{"compiled", r.work.kernels_compiled}, {"from_disk", r.work.kernels_from_disk}};
  out["result"] = r.request.out;
  if (!r.request.run.trace.empty()) out["trace"] = r.request.run.trace;
  if (!r.request.run.report.empty()) out["report"] = r.request.run.report;
  out["stages"] = nlohmann::ordered_json::parse(to_json(run, r.request.run.stats))["stages"];
  // File names are bytes; JSON is UTF-8.
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string to_text(const AudioReport& r) {
  std::string out;
  const auto line = [&](const char* label, const std::string& text) {
    out += fmt::format("{:<9} {}\n", label, text);
  };
  const RunReport& run = r.work.run;
  line("Audio", fmt::format("{} file{}, {} at {} Hz", r.files, r.files == 1 ? "" : "s",
                            short_time(r.audio_seconds), fmt::join(r.rates, ", ")));
  line("Windows", r.request.segments.empty()
                      ? fmt::format("{} of {} samples, one every {}", r.windows,
                                    r.request.options.frame_length, r.request.options.hop_length)
                      : fmt::format("{} segments of {}", r.windows, r.request.segments));
  line("Features", fmt::format("{}", fmt::join(names_of(r.request.wanted), ", ")));
  if (r.empty_bands > 0)
    line("", fmt::format("{} mel bands are empty: take fewer (--n-mels), longer frames or a lower --fmax",
                         r.empty_bands));
  line("Run", fmt::format("back end {}, {} thread{}{}", run.backend, run.threads, run.threads == 1 ? "" : "s",
                          r.request.run.chunks() ? ", scheduler " + r.request.run.scheduler : ""));
  if (!run.backend_reason.empty()) line("", "chosen because " + run.backend_reason);
  line("Time",
       fmt::format(
           "{:.3f} s in all: passes {:.3f} s, running {:.3f} s, of which kernels {:.3f} s{}; {:.3g} times as "
           "fast as it plays",
           r.total_seconds, r.work.front_seconds, r.work.seconds, r.work.compile_seconds,
           kernels_from(r.work.kernels_compiled, r.work.kernels_from_disk), times_real_time(r)));
  line("Memory",
       fmt::format("{}process at its peak {}",
                   r.request.run.chunks() ? fmt::format("bound {}, held at most {}, ", binary_bytes(r.memory),
                                                        binary_bytes(r.work.peak_bytes))
                                          : "no bound, ",
                   binary_bytes(run.peak_resident_bytes)));
  line("Result", r.request.out);
  if (!r.request.run.trace.empty()) line("Trace", r.request.run.trace + " (for ui.perfetto.dev)");
  if (!r.request.run.report.empty()) line("Report", r.request.run.report + " (for a browser)");
  if (r.request.run.stats) out += "\nThe last run\n" + to_text(run);
  return out;
}

}  // namespace anabranch::apps
