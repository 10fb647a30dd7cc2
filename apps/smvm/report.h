#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <anabranch/io.h>

#include "apps/common/repeated_run.h"
#include "apps/common/run_options_cli.h"

/// What `anabranch smvm` says of its work: docs/command.md.
namespace anabranch::apps {

struct SmvmOptions {
  std::string matrix;
  std::string vector;      ///< empty: all ones
  std::string vectors;     ///< several of them; empty: one
  std::string out;         ///< empty: the result is not written
  bool transpose = false;  ///< y = A^T x
  bool explain = false;    ///< say what is made of the program instead of running it
  RunChoice run;
};

struct SmvmReport {
  SmvmOptions options;
  io::CsrHeader header;  ///< of the matrix that is multiplied
  std::int64_t nnz = 0;
  std::int64_t vectors = 1;  ///< that are multiplied
  std::int64_t bytes = 0;    ///< of the matrix as it is streamed: columns, values, row offsets
  std::int64_t memory = 0;   ///< the bound
  double open_seconds = 0;   ///< checking headers; sorting
  double total_seconds = 0;  ///< from opening the matrix to the result in place
  RepeatedRun runs;
  std::vector<std::string> unchecked;  ///< files that were read and carry no checksum
};

/// One JSON object with a newline.
std::string to_json(const SmvmReport& report);
/// A few readable lines.
std::string to_text(const SmvmReport& report);

}  // namespace anabranch::apps
