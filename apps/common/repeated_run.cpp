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

void RepeatedRun::add_last(std::int64_t besides) { add_part(seconds.size(), besides); }

void RepeatedRun::add_part(std::size_t run, std::int64_t besides) {
  if (run == seconds.size()) seconds.push_back(0);
  seconds[run] += last.seconds;
  peak_bytes = std::max(peak_bytes, last.peak_bytes + besides);
  if (run == 0) add_preparation(last);
}

void RepeatedRun::add_preparation(const RunReport& report) {
  compile_seconds += report.compile_seconds;
  front_seconds += report.front_seconds;
  kernels_compiled += report.kernels_compiled;
  kernels_from_disk += report.kernels_from_disk;
}

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
    out.add_last();
  }
  return out;
}

}  // namespace anabranch::apps
