#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <anabranch/io.h>
#include <anabranch/run.h>

#include "apps/common/run_options_cli.h"

/// What `anabranch smvm` says of its work: docs/command.md.
namespace anabranch::apps {

struct SmvmOptions {
  std::string matrix;
  std::string vector;  ///< empty: all ones
  std::string out;     ///< empty: the result is not written
  RunChoice run;
};

struct SmvmReport {
  SmvmOptions options;
  io::CsrHeader header;
  std::int64_t nnz = 0;
  std::int64_t bytes = 0;       ///< of the matrix as it is streamed: columns, values, row offsets
  std::int64_t memory = 0;      ///< the bound
  std::int64_t peak_bytes = 0;  ///< the most that all runs held of it
  double open_seconds = 0;      ///< checking headers; Matrix Market: sorting
  double total_seconds = 0;     ///< from opening the matrix to the result in place
  std::vector<double> repeats;  ///< seconds of each run
  double compile_seconds = 0, front_seconds = 0;    ///< of the first run, the only one that compiles
  int kernels_compiled = 0, kernels_from_disk = 0;  ///< likewise
  RunReport run;                                    ///< of the last run
  std::vector<std::string> unchecked;               ///< files that were read and carry no checksum

  /// Seconds of a run once all is warm: the median of the runs after the first two, where there are three or
  /// more; else the fastest.
  double steady_seconds() const;
};

/// One JSON object with a newline.
std::string to_json(const SmvmReport& report);
/// A few readable lines.
std::string to_text(const SmvmReport& report);

}  // namespace anabranch::apps
