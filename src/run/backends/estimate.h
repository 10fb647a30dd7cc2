#pragma once

#include <string>
#include <vector>

#include "cuda/device.h"
#include "plan/plan.h"
#include "run/context/results.h"

/// What a run costs, as far as that shows before it begins: for Backend::automatic.
namespace anabranch::runtime {

/// What a run has to do. Sizes that only values tell, lengths of streams that no source knows, and rounds of loops are
/// guessed.
struct RunEstimate {
  double bytes_up = 0, bytes_down = 0;  ///< between host and GPU, if that computes
  double bytes_there = 0;               ///< of arguments that are on the GPU
  double bytes_read = 0;                ///< of those that go up: they are read to where the GPU copies from
  double operations = 0;                ///< in additions
  double launches = 0;                  ///< of kernels that are waited for

  double link_bytes() const { return bytes_up + bytes_down; }
  double staged_bytes() const { return link_bytes() - bytes_read; }
};
/// `arguments`: of the run.
RunEstimate estimate(const plan::Plan& plan, const std::vector<HostArray>& arguments);

/// What the machine does in a second.
struct MachineRates {
  int threads = 1;
  int multiprocessors = 1;
  double link = cuda::Device::some_link_rate;  ///< bytes between page-locked memory and the GPU
};
double seconds_of_cpu(const RunEstimate& run, const MachineRates& machine);
/// Copies to page-locked memory and over the link overlap with each other and with kernels: the longest of the three.
double seconds_of_gpu(const RunEstimate& run, const MachineRates& machine);

/// Why no GPU can be quicker than so many threads of the CPU, whatever GPU it is; empty: one may be.
std::string why_no_gpu(const RunEstimate& run, int threads);

/// Whether the GPU is the quicker one, and why, with both figures.
struct Comparison {
  bool gpu = false;
  std::string reason;
};
Comparison compare(const RunEstimate& run, const MachineRates& machine, const std::string& gpu_name);

}  // namespace anabranch::runtime
