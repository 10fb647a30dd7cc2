#include "made_up_backends.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "run/backends/choose.h"
#include "run/execute.h"
#include "run/item_stream.h"
#include "run/record/run_record.h"

namespace anabranch::testing {

using runtime::ComputedOn;
using runtime::HostArray;
using runtime::RunBackend;
using runtime::RunContext;
using runtime::StageBackend;
using runtime::StageOutput;
using runtime::StageWork;

namespace {

std::vector<SourceChunk> part_of(const std::vector<SourceChunk>& chunks,
                                 const std::vector<std::vector<ArrayInfo>>& infos, std::int64_t begin,
                                 std::int64_t end) {
  std::vector<SourceChunk> part;
  for (std::size_t s = 0; s < chunks.size(); ++s)
    part.push_back(runtime::slice(chunks[s], infos[s], begin, end));
  return part;
}

class MadeUpStage final : public StageBackend {
 public:
  MadeUpStage(std::unique_ptr<StageBackend> cpu, Behaviour& behaviour, const StageWork& work)
      : cpu_(std::move(cpu)),
        behaviour_(behaviour),
        infos_(work.infos),
        slots_(static_cast<std::size_t>(work.slots)) {}

  ComputedOn enqueue(int slot, const std::vector<SourceChunk>& chunks, StageOutput& results) override {
    if (chunks[0].items > behaviour_.most_items && !room_) {
      ++behaviour_.refused;
      throw scheduler::BudgetExceeded("the made-up memory is full", "made up", chunks[0].items, 0, 0);
    }
    room_ = false;
    ++behaviour_.enqueued;
    const int now = ++behaviour_.on_their_way;
    behaviour_.most_on_their_way = std::max(behaviour_.most_on_their_way.load(), now);
    if (behaviour_.late)
      slots_[static_cast<std::size_t>(slot)] = chunks;
    else
      compute(slot, chunks, results);
    return ComputedOn::device;
  }

  void complete(int slot, StageOutput& results) override {
    if (behaviour_.milliseconds > 0 && behaviour_.completed % 2 == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(behaviour_.milliseconds));
    if (behaviour_.late) compute(slot, slots_[static_cast<std::size_t>(slot)], results);
    --behaviour_.on_their_way;
    ++behaviour_.completed;
  }

  bool make_room(int slot) override {
    ++behaviour_.rooms_made;
    cpu_->make_room(slot);
    room_ = behaviour_.makes_room;
    return room_;
  }

  bool ready() override { return behaviour_.busy_every == 0 || ++asked_ % behaviour_.busy_every != 0; }

 private:
  void compute(int slot, const std::vector<SourceChunk>& chunks, StageOutput& results) {
    const std::int64_t items = chunks[0].items;
    if (items <= behaviour_.most_items_of_a_part) {
      cpu_->enqueue(slot, chunks, results);
    } else {
      const auto first = part_of(chunks, infos_, 0, items / 2);
      const auto second = part_of(chunks, infos_, items / 2, items);
      cpu_->enqueue(slot, behaviour_.backwards ? second : first, results);
      cpu_->enqueue(slot, behaviour_.backwards ? first : second, results);
    }
    cpu_->complete(slot, results);
  }

  std::unique_ptr<StageBackend> cpu_;
  Behaviour& behaviour_;
  const std::vector<std::vector<ArrayInfo>>& infos_;
  std::vector<std::vector<SourceChunk>> slots_;
  bool room_ = false;
  int asked_ = 0;
};

class MadeUpBackend final : public RunBackend {
 public:
  MadeUpBackend(std::unique_ptr<RunBackend> cpu, Behaviour& behaviour)
      : cpu_(std::move(cpu)), behaviour_(behaviour) {}

  std::string name() const override { return "made up"; }
  runtime::BackendTraits traits() const override {
    runtime::BackendTraits traits = cpu_->traits();
    traits.completes_at_once = !behaviour_.late;
    traits.side_by_side = false;
    return traits;
  }
  void prepare() override {
    ++behaviour_.prepared;
    cpu_->prepare();
  }
  void compute_global(const plan::KernelStep& step, runtime::GlobalValues& values) override {
    ++behaviour_.globals;
    cpu_->compute_global(step, values);
  }
  std::unique_ptr<StageBackend> open_stage(const StageWork& work) override {
    ++behaviour_.stages;
    return std::make_unique<MadeUpStage>(cpu_->open_stage(work), behaviour_, work);
  }
  void conclude(RunReport* report) override {
    ++behaviour_.concluded;
    cpu_->conclude(report);
  }

 private:
  std::unique_ptr<RunBackend> cpu_;
  Behaviour& behaviour_;
};

/// What a run shares, and its back end.
struct Run {
  Run(const MakeBackend& make, const Compiled& program, const RunOptions& options, RunReport* report)
      : executor(scheduler::make_plain_executor(options.threads)),
        budget(options.memory > 0 ? options.memory : scheduler::Budget::no_limit),
        blocks(budget, runtime::MemoryPool::of_process()),
        context{.plan = program.plan,
                .options = options,
                .memory = runtime::MemoryPool::of_process(),
                .executor = *executor,
                .budget = budget,
                .blocks = blocks,
                .report = report,
                .record = &record,
                .sinks = &sinks},
        kernels(runtime::make_program_kernels(program.plan)),
        backend(make(context, runtime::make_backend(runtime::BackendChoice{}, context, *kernels, true))) {
    backend->prepare();
  }

  std::unique_ptr<scheduler::Executor> executor;
  scheduler::Budget budget;
  runtime::BlockPool blocks;
  runtime::RunRecord record{0};
  ir::SinkPasses sinks;
  RunContext context;
  std::shared_ptr<runtime::ProgramKernels> kernels;
  std::unique_ptr<RunBackend> backend;
};

}  // namespace

std::unique_ptr<RunBackend> made_up(std::unique_ptr<RunBackend> cpu, Behaviour& behaviour) {
  return std::make_unique<MadeUpBackend>(std::move(cpu), behaviour);
}

std::vector<HostArray> run_on(const MakeBackend& make, const Compiled& program, const RunOptions& options,
                              RunReport* report) {
  Run run(make, program, options, report);
  std::vector<HostArray> results = runtime::execute(run.context, *run.backend, {});
  run.backend->conclude(report);
  if (report) run.record.tell(*report);
  return results;
}

std::vector<std::vector<HostArray>> items_on(const MakeBackend& make, const Compiled& sequence,
                                             const RunOptions& options) {
  Run run(make, sequence, options, nullptr);
  run.context.gives_before_failure = true;
  runtime::ItemStream items(run.context, *run.backend, {});
  std::vector<std::vector<HostArray>> all;
  for (std::vector<HostArray> item; items.next(item);) all.push_back(std::move(item));
  return all;
}

}  // namespace anabranch::testing
