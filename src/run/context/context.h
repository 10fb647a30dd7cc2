#pragma once

#include <atomic>
#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <anabranch/run.h>

#include "ir/run_error.h"
#include "ir/sink_passes.h"
#include "plan/plan.h"
#include "run/context/results.h"
#include "run/memory/storage.h"
#include "run/record/print_line.h"
#include "scheduler/budget.h"
#include "scheduler/controller.h"
#include "scheduler/executor.h"

/// What all parts of one run share, whichever back end computes it.
namespace anabranch::runtime {

class RunRecord;
class RunTrace;
class Sink;
struct SinkWork;

/// Makes the sink of an operation.
using MakeSink = std::function<std::unique_ptr<Sink>(ir::SinkOp, const SinkWork&)>;

/// Runs a body of the plan with these arguments, and what it captures: its results. `item`: of the stream, that messages
/// name, or ir::no_item. `into`: empty, or for each result memory that it may lie in, or null.
using RunBody = std::function<std::vector<HostArray>(int body, const std::vector<HostArray>& arguments,
                                                     std::int64_t item, std::span<const HostArray> into)>;
/// One of them.
using ApplyFunction = std::function<std::vector<HostArray>(
    const std::vector<HostArray>& arguments, std::int64_t item, std::span<const HostArray> into)>;

/// How many elements the streams of a program gave in its latest run, where nothing else tells. Thread-safe.
class ResultSizes {
 public:
  /// 0: not known.
  std::int64_t of(int stage, int result) const;
  void note(int stage, int result, std::int64_t elements);

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<int, int>, std::int64_t> elements_;
};

/// What is known of chunk sizes from earlier runs of a program, on one back end and by as many threads. Thread-safe.
class LearnedChunks {
 public:
  struct Key {
    const plan::Plan* plan = nullptr;  ///< the program's, or one inside of it
    int stage = 0;
    std::string backend;
    int threads = 1;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::shared_ptr<const scheduler::Learned> of(const Key& key) const;
  /// Null: there is no more to know.
  void note(const Key& key, std::shared_ptr<const scheduler::Learned> learned);

 private:
  mutable std::mutex mutex_;
  std::map<Key, std::shared_ptr<const scheduler::Learned>> learned_;
};

/// Made with names: `{.plan = ...}`.
struct RunContext {
  const plan::Plan& plan;
  const RunOptions& options;
  MemoryPool& memory;
  scheduler::Executor& executor;
  scheduler::Budget& budget;
  BlockPool& blocks;
  RunReport* report = nullptr;              ///< what is told of the run as a whole; null: nobody is told
  RunRecord* record = nullptr;              ///< likewise of its stages
  const std::shared_ptr<RunTrace> trace{};  ///< null: not traced
  /// Memory that the caller gives for the results of the run, one array for each, or none: no source may give items
  /// that lie there, those of bodies neither.
  std::span<const HostArray> into{};
  bool keeps_results = false;        ///< where the back end has computed them, if it can
  ResultSizes* sizes = nullptr;      ///< of the program's earlier runs; null: not kept
  LearnedChunks* learned = nullptr;  ///< likewise
  /// Sinks of this run that are not the library's (run/sinks.h): those that write elsewhere. Empty: all are.
  MakeSink own_sinks{};
  /// What `write` feeds; null in bodies and inside of chunks, where there is none.
  ir::SinkPasses* sinks = nullptr;
  bool names_items =
      true;  ///< in messages; a program inside of a chunk has items that the user does not know
  std::int64_t item = ir::no_item;  ///< of the user's stream, that the plan is run for
  /// Where an item fails, a stage that feeds another, or whose items are taken one by one, gives those before it, which are
  /// computed again for that: the others may not be needed. Not of a program that prints.
  bool gives_before_failure = false;
  /// For chunks that are read, as the back end likes it best; empty: any. Streams that several places read do not use it.
  ChunkMemory chunk_memory{};
  /// Chunks that kernels for equal items computed. Several threads count.
  std::shared_ptr<std::atomic<std::int64_t>> equal_chunks = std::make_shared<std::atomic<std::int64_t>>(0);
  std::shared_ptr<LinePrinter> printer = std::make_shared<LinePrinter>();

  /// Of the memory bound, as Budget does: memory that lies idle gives way.
  std::optional<scheduler::Reservation> try_reserve(std::string_view name, std::int64_t bytes) const;
  scheduler::Reservation reserve(std::string_view name, std::int64_t bytes) const;
  void resize(scheduler::Reservation& reservation, std::int64_t bytes) const;
  /// A block for an intermediate array, to give back to `blocks`: this thread's own where each has a piece of its own and
  /// nothing bounds the memory.
  void* take_block(std::int64_t bytes) const;
  /// Memory for work that `what` names, counted as long as it is held. Throws ResourceError, BudgetExceeded.
  std::shared_ptr<void> take_counted(const std::string& what, std::int64_t bytes) const;
  /// For a body of a loop or a branch. Its stages have numbers of their own, and what they give is nobody's result.
  RunContext for_body(const plan::Plan& body) const;
  /// For a stage that runs at the same time as another one: nobody is told of it. `own` lives as long as what is returned.
  RunContext beside(RunOptions& own) const;
  /// For a program inside of a chunk, whose streams nobody is told of. `own` lives as long as what is returned.
  RunContext for_nested(const plan::Plan& program, RunOptions& own) const;
};

}  // namespace anabranch::runtime
