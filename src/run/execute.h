#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <anabranch/run.h>

#include "cpu/compiler.h"
#include "interp/bits.h"
#include "plan/plan.h"
#include "run/backends/stop_word.h"
#include "run/sources.h"
#include "run/storage.h"
#include "scheduler/budget.h"
#include "scheduler/executor.h"
#include "scheduler/pipeline.h"

/// Executes a plan on the CPU: evaluates exact sizes, allocates, binds and launches kernels; drives stages
/// through the scheduler. One object per run.
namespace anabranch::runtime {

using HostArray = std::shared_ptr<detail::ArrayData>;

/// The compiled kernels of a plan, by address of the plan's kernel.
using Kernels = std::unordered_map<const kernel::Kernel*, std::shared_ptr<const cpu::CompiledKernel>>;

class DeviceRun;
class RunTrace;

/// How many elements the streams of a program gave the last time, where nothing else tells. Thread-safe.
class ResultSizes {
 public:
  /// 0: not known.
  std::int64_t of(int stage, int result) const;
  void note(int stage, int result, std::int64_t elements);

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<int, int>, std::int64_t> elements_;
};

/// What all parts of a run share.
struct RunContext {
  const plan::Plan& plan;
  const Kernels& kernels;
  const RunOptions& options;
  MemoryPool& memory;
  scheduler::Executor& executor;
  scheduler::Budget& budget;
  BlockPool& blocks;
  RunReport* report;
  DeviceRun* device = nullptr;   ///< of a run on a GPU
  bool cpu_too = true;           ///< chunks may be computed on the CPU
  std::int64_t cache_bytes = 0;  ///< what is read again only after as many bytes comes from memory
  RunTrace* trace = nullptr;     ///< of a traced run
  /// Memory that the caller gives for the results, one array for each, or none.
  std::span<const HostArray> into{};
  ResultSizes* sizes = nullptr;  ///< of the program's earlier runs; null: nobody keeps them
  cpu::StopWord stop_word = 0;   ///< of kernels on the CPU
  StopSignal stop_signal{options.stop, stop_word};
};

/// Values of the global group: evaluated as the run goes on.
class GlobalValues {
 public:
  /// Evaluating ends with Cancelled once `stop` is requested.
  GlobalValues(const plan::Plan& plan, const std::vector<HostArray>& arguments, std::stop_token stop);
  HostArray& array(int number) { return arrays_[static_cast<std::size_t>(number)]; }
  /// Arrays of the program whose values are known, for evaluating uniforms.
  const HostArray* find(const ir::Node* node) const;
  void set(int number, HostArray array);
  std::int64_t uniform(int number);
  const plan::Plan& plan() const { return plan_; }
  const std::stop_token& stop() const { return stop_; }

 private:
  const plan::Plan& plan_;
  std::stop_token stop_;
  std::vector<HostArray> arrays_;
  std::unordered_map<const ir::Node*, HostArray> by_node_;
  std::vector<std::optional<std::int64_t>> uniforms_;
};

/// What a plan reads that is there before the run: arrays inside the program, and arguments.
std::vector<HostArray> inputs_of(const plan::Plan& plan, const std::vector<HostArray>& arguments);

/// An int64 expression over known arrays, on the host.
std::int64_t evaluate_uniform(const ir::Ref& expression, const GlobalValues& values);

/// Runs a whole plan; results in the order of plan.results. They own their elements: none shares memory with
/// an input or with another one.
std::vector<HostArray> execute(RunContext& context, const std::vector<HostArray>& arguments);

/// Runs everything of a plan but its last stage, whose chunks are then asked for one by one.
class ChunkReader {
 public:
  ChunkReader(RunContext& context, const std::vector<HostArray>& arguments);
  ~ChunkReader();
  /// The items of the next chunk, one vector of arrays per item; false at the end.
  bool next(std::vector<std::vector<HostArray>>& items);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace anabranch::runtime
