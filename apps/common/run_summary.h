#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "apps/common/repeated_run.h"

/// What the reports of all subcommands that run a program say of their runs: docs/command.md.
namespace anabranch::apps {

struct RunSummary {
  const RunChoice& choice;
  const RepeatedRun& runs;
  std::int64_t memory = 0;   ///< the bound
  const char* item = "row";  ///< what the stream consists of
  double open_seconds = 0;   ///< checking headers; sorting
  double total_seconds = 0;  ///< from opening the input to the result in place
  const char* part = "";     ///< " of the last file", where `runs.last` is of a part of a run
};

/// "backend" to "kernels": what ran, and how long.
void add_run(nlohmann::ordered_json& out, const RunSummary& s);
/// "repeats" to "stages": files, and the streams. `result`: empty where none is written.
void add_files_and_stages(nlohmann::ordered_json& out, const RunSummary& s,
                          const std::vector<std::string>& unchecked, const std::string& result);

/// " (kernels from the cache)", or how many were compiled, where some are from the cache.
std::string kernels_from(int compiled, int from_disk);
/// "Time      ..." and a newline.
std::string report_line(const char* label, const std::string& text);
/// The lines "Run", "GPU", "Stream", "Time", "Repeats".
std::string run_lines(const RunSummary& s);
/// The lines from "Memory" on. `no_result`: what to say where none is written; null:
/// nothing.
std::string memory_and_file_lines(const RunSummary& s, const std::vector<std::string>& unchecked,
                                  const std::string& result, const char* no_result);

}  // namespace anabranch::apps
