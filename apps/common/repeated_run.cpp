#include "apps/common/repeated_run.h"

#include <algorithm>

#include <fmt/format.h>

#include "apps/common/progress_line.h"

namespace anabranch::apps {

namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

double RepeatedRun::steady_seconds() const {
  if (seconds.size() >= 3) return median({seconds.begin() + 2, seconds.end()});
  return seconds.empty() ? 0 : *std::min_element(seconds.begin(), seconds.end());
}

RepeatedRun run_repeatedly(const RunChoice& choice, std::int64_t memory, const Interrupt& interrupt,
                           const std::function<void(const RunOptions&, RunReport*)>& run,
                           const std::function<std::string(const Progress&)>& label) {
  RepeatedRun out;
  ProgressLine progress(choice.progress);
  RunOptions options = choice.options(interrupt);
  if (choice.chunks()) options.memory = memory;
  for (int i = 0; i < choice.repeat; ++i) {
    const std::string which =
        choice.repeat > 1 ? fmt::format("run {} of {}: ", i + 1, choice.repeat) : std::string();
    progress.label(which);
    // A copy for each run: what it counts begins anew.
    options.progress = [&, label](const Progress& p) mutable {
      if (label) progress.label(which + label(p));
      progress.show(p);
    };
    if (i + 1 == choice.repeat) {
      options.trace = choice.trace;
      options.report = choice.report;
    }
    run(options, &out.last);
    out.seconds.push_back(out.last.seconds);
    out.peak_bytes = std::max(out.peak_bytes, out.last.peak_bytes);
    if (i > 0) continue;
    out.compile_seconds = out.last.compile_seconds;
    out.front_seconds = out.last.front_seconds;
    out.kernels_compiled = out.last.kernels_compiled;
    out.kernels_from_disk = out.last.kernels_from_disk;
  }
  return out;
}

}  // namespace anabranch::apps
