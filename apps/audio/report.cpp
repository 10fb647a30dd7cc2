#include "apps/audio/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/common/json_output.h"
#include "apps/common/progress_meter.h"
#include "apps/common/quantities.h"
#include "apps/common/run_summary.h"

namespace anabranch::apps {

namespace {

std::vector<std::string> names_of(const std::vector<Feature>& features) {
  std::vector<std::string> out;
  for (const Feature feature : features) out.emplace_back(name_of(feature));
  return out;
}

/// How much faster than it plays.
double times_real_time(const AudioReport& r) { return per_second(r.audio_seconds, r.total_seconds); }

RunSummary summary(const AudioReport& r) {
  return {r.request.run,
          r.runs,
          r.memory,
          r.request.segments.empty() ? "window" : "segment",
          r.open_seconds,
          r.total_seconds,
          r.files > 1 ? " of the last file" : ""};
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
  out["empty_mel_bands"] = r.bands.empty;
  out["mel_bands_above_half_rate"] = r.bands.above;
  out["not_finite"] = nlohmann::ordered_json::array();
  for (const NotFinite& of : r.not_finite)
    out["not_finite"].push_back({{"feature", name_of(of.feature)},
                                 {"values", of.values},
                                 {"file", of.file},
                                 {"first_time", of.first_time}});
  add_run(out, summary(r));
  out["times_real_time"] = times_real_time(r);
  add_files_and_stages(out, summary(r), r.unchecked, r.request.out);
  return dump(out);
}

std::string to_text(const AudioReport& r) {
  std::string out;
  const auto line = [&](const char* label, const std::string& text) { out += report_line(label, text); };
  line("Audio", fmt::format("{}, {} at {} Hz", counted(r.files, "file"), short_time(r.audio_seconds),
                            fmt::join(r.rates, ", ")));
  line("Windows",
       r.request.segments.empty()
           ? fmt::format("{} of {}, one every {}", r.windows,
                         counted(r.request.options.frame_length, "sample"), r.request.options.hop_length)
           : fmt::format("{} of {}", counted(r.windows, "segment"), r.request.segments));
  line("Features", fmt::format("{}", fmt::join(names_of(r.request.wanted), ", ")));
  for (const NotFinite& of : r.not_finite)
    line("", fmt::format("{} of {} {} infinite or NaN, the first at {:.6g} s{}: samples are too large",
                         counted(of.values, "value"), name_of(of.feature), of.values == 1 ? "is" : "are",
                         of.first_time, r.files > 1 ? " of " + of.file : ""));
  const auto bands = [](std::int64_t count, const char* one, const char* several) {
    return fmt::format("{} {}", counted(count, "mel band"), count == 1 ? one : several);
  };
  if (const std::int64_t narrow = r.bands.empty - r.bands.beyond; narrow > 0)
    line("", fmt::format("{} empty, too narrow for the transform: take fewer (--n-mels){} longer frames "
                         "(--frame-length){}",
                         bands(narrow, "is", "are"), r.request.fmin > 0 ? "," : " or",
                         r.request.fmin > 0 ? " or a lower --fmin" : ""));
  if (r.bands.above > 0)
    line("",
         fmt::format("{} above half of the rate, where there is nothing{}: take a lower --fmax",
                     bands(r.bands.above, "reaches", "reach"),
                     r.bands.beyond > 0
                         ? fmt::format(", and {} empty",
                                       r.bands.beyond == 1 ? "one is" : fmt::format("{} are", r.bands.beyond))
                         : ""));
  out += run_lines(summary(r));
  line("Speed", fmt::format("{:.3g} times as fast as it plays", times_real_time(r)));
  return out + memory_and_file_lines(summary(r), r.unchecked, r.request.out, nullptr);
}

}  // namespace anabranch::apps
