#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

/// The keys of `--json` that all commands have that run a program: docs/command.md.
namespace cli_test {

/// Options of a run on the CPU.
struct AskedRun {
  int threads;
  std::string scheduler;
  std::int64_t memory;
  std::size_t repeats = 1;
};

/// Checks that a run was as it was asked for, and that what it says of itself can be.
void check_run(const nlohmann::json& report, const AskedRun& asked);

/// Checks that the interpreter ran, and that what it does not have is null.
void check_interpreted(const nlohmann::json& report);

/// Of the runs that it reports: the median of those after the first two; of one or two, the faster.
double steady_seconds(const nlohmann::json& report);

}  // namespace cli_test
