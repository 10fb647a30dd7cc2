#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <anabranch/run.h>

#include "apps/common/interrupt.h"
#include "apps/common/run_options_cli.h"

/// A compiled program that is run as often as the command line says, and what its runs took.
namespace anabranch::apps {

struct RepeatedRun {
  RunReport last;                                 ///< of the last run; of its last part, where it has several
  std::vector<double> seconds;                    ///< of each run
  std::int64_t peak_bytes = 0;                    ///< the most that all runs held of the memory bound
  double compile_seconds = 0, front_seconds = 0;  ///< of the first run, the only one that compiles
  int kernels_compiled = 0, kernels_from_disk = 0;  ///< likewise

  /// Another run, which `last` has become, held so many bytes besides.
  void add_last(std::int64_t besides = 0);
  /// A part of run number `run` (from 0), over one of several inputs, which `last` has become.
  void add_part(std::size_t run, std::int64_t besides = 0);
  /// What a program took before its first run; also another one than that of the runs.
  void add_preparation(const RunReport& report);
  /// Seconds of a run once all is warm: the median of the runs after the first two, where there are three or
  /// more; else the fastest.
  double steady_seconds() const;
};

/// Calls run(options, &report) that many times, with progress on standard error. Options are as chosen, but for the memory
/// bound; `trace` and `report` are of the last run. `label`, if any: what stands before progress, beside which run it is.
RepeatedRun run_repeatedly(const RunChoice& choice, std::int64_t memory, const Interrupt& interrupt,
                           const std::function<void(const RunOptions&, RunReport*)>& run,
                           const std::function<std::string(const Progress&)>& label = {});

}  // namespace anabranch::apps
