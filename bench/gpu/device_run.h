#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/traced.h"

/// Whole runs from the GPU's memory to the GPU's, of programs that are more than one kernel.
namespace anabranch::bench {

/// For how long the kernels of a run are under way, by the GPU's clock: the median of some tenths of a second of runs, in
/// which the GPU's clocks rise.
inline double kernel_seconds(const Bench& bench, const std::string& name, const RunWith& run) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::duration<double> enough(0.4);
  std::vector<double> seconds;
  const auto start = Clock::now();
  do {
    seconds.push_back(traced(bench, name, run).gpu_kernel_seconds);
  } while (!bench.settings().is_rehearsal() && Clock::now() - start < enough);
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

/// A program of arrays on the GPU. `name`: of its timeline. `right`: is this result, a DeviceArray, what it should be?
template <class Compiled, class Right, class... Arrays>
Contender device_run(const Bench& bench, const std::string& name, Compiled compiled, const Right& right,
                     double bytes, const Arrays&... arrays) {
  const auto program = std::make_shared<Compiled>(std::move(compiled));
  const auto result = std::make_shared<std::optional<typename Compiled::OnDevice>>();
  const RunWith run = [=](const RunOptions& options, RunReport* report) {
    *result = program->run_on_device(options, report, arrays...);
  };
  const auto first = std::chrono::steady_clock::now();
  run({.backend = Backend::cuda}, nullptr);
  const std::chrono::duration<double, std::milli> compiling = std::chrono::steady_clock::now() - first;
  const double seconds = kernel_seconds(bench, name, run);
  return Contender{
      .run = [run] { run({.backend = Backend::cuda}, nullptr); },
      .right = [result, right] { return right(**result); },
      .bytes = bytes,
      .on_stream = false,
      .calls = 10,
      .prepare_ms = compiling.count(),
      .note = fmt::format("a whole run, from and to the GPU's memory; kernels {:.1f} us, {:.1f} GB/s",
                          seconds * 1e6, bytes / seconds / 1e9),
      .facts = {{"kernel_seconds", seconds}, {"kernel_gb_per_s", bytes / seconds / 1e9}}};
}

}  // namespace anabranch::bench
