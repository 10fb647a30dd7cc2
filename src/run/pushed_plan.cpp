#include "run/pushed_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "ir/cancelled.h"
#include "ir/device_error.h"
#include "run/feeds/streams.h"
#include "run/plan_run.h"
#include "run/sources/pushed_items.h"
#include "run/stages/stage_log.h"
#include "run/stages/stage_reader.h"
#include "run/stages/stage_results.h"
#include "scheduler/busy.h"
#include "scheduler/clock.h"

namespace anabranch::runtime {

namespace {

bool reads(const ir::StageSource& source, const SourceBase& pushed) {
  return source.node->op() == ir::Op::stream_in && source.node->payload().source.get() == &pushed;
}

/// Whether a stage reads it, or one that feeds the stage.
bool reads(const plan::Plan& plan, int stage, const SourceBase& pushed) {
  const auto& sources = plan.stages[static_cast<std::size_t>(stage)].sources;
  return std::any_of(sources.begin(), sources.end(), [&](const ir::StageSource& source) {
    return reads(source, pushed) || std::any_of(source.feeds.begin(), source.feeds.end(),
                                                [&](int feed) { return reads(plan, feed, pushed); });
  });
}

/// The stages that an action runs side by side.
std::vector<int> stages_of(const plan::StageAction& action) {
  std::vector<int> stages{action.stage};
  stages.insert(stages.end(), action.with.begin(), action.with.end());
  return stages;
}
bool reads(const plan::Plan& plan, const plan::StageAction& action, const SourceBase& pushed) {
  const std::vector<int> stages = stages_of(action);
  return std::any_of(stages.begin(), stages.end(), [&](int stage) { return reads(plan, stage, pushed); });
}

/// Where a stage is consumed.
Place place_of(const plan::StagePlan& stage) {
  const ir::Ref& reader = stage.sinks[0].consume;
  return reader && reader->place().known() ? reader->place() : stage.sources[0].node->place();
}

/// The passes over it in a plan and its bodies. Stages that share a source which passes once run side by side, each at its own
/// pace, which is more than one pass, whichever of them read what is pushed; so are sequences of one stage that are joined one
/// after the other.
void find_passes(const plan::Plan& plan, const SourceBase& pushed, std::vector<Place>& places) {
  for (const plan::Action& action : plan.actions)
    if (const auto* const run = std::get_if<plan::StageAction>(&action); run && reads(plan, *run, pushed))
      for (const int stage : stages_of(*run)) {
        const int passes = std::max(PassStreams::passes_over(plan, stage, pushed), 1);
        places.insert(places.end(), static_cast<std::size_t>(passes),
                      place_of(plan.stages[static_cast<std::size_t>(stage)]));
      }
  for (const plan::Body& body : plan.bodies) find_passes(body.plan, pushed, places);
}

/// Which of the plan's actions runs the one stage that reads the source.
std::size_t action_that_reads(const plan::Plan& plan, const SourceBase& pushed) {
  std::vector<Place> places;
  find_passes(plan, pushed, places);
  if (places.empty()) throw ProgramError("push_stream: the program does not read what is pushed");
  if (places.size() > 1)
    throw ProgramError(
        fmt::format("push_stream: what is pushed passes once, and it is read at {} and again at {}",
                    to_string(places[0]), to_string(places[1])),
        places[0]);
  for (std::size_t a = 0; a < plan.actions.size(); ++a)
    if (const auto* const run = std::get_if<plan::StageAction>(&plan.actions[a]);
        run && reads(plan, *run, pushed))
      return a;
  throw ProgramError(
      fmt::format("push_stream: what is pushed passes once, and it is read in a loop or a branch at {}; "
                  "consume it before",
                  to_string(places[0])),
      places[0]);
}

}  // namespace

void check_passes_once(const plan::Plan& plan, const PushedItems& pushed) { action_that_reads(plan, pushed); }

struct PushedPlan::Impl {
  Impl(RunContext& of_run, RunBackend& computing, PushedItems& items, OnResults give)
      : context(of_run),
        backend(computing),
        pushed(items),
        on_results(std::move(give)),
        action(action_that_reads(of_run.plan, items)),
        number(std::get<plan::StageAction>(of_run.plan.actions[action]).stage),
        plan(of_run, computing, {}),
        log(of_run, computing) {
    plan.run(action);
    reader.emplace(context, backend, number, plan.values(), plan.applied_functions());
    const plan::StagePlan& stage = reader->input().stage();
    streams_out = !stage.sinks[0].consume;
    if (!streams_out)
      results.emplace(context, number, reader->input(), std::vector<HostArray>(stage.results.size()),
                      plan.values(), plan.applied_functions());
    log.begin(reader->input(), {});
  }

  RunContext& context;
  RunBackend& backend;
  PushedItems& pushed;
  const OnResults on_results;
  const std::size_t action;
  const int number;
  PlanRun plan;
  std::optional<StageReader> reader;
  bool streams_out = false;
  std::optional<StageResults> results;  ///< of a stage that is not streamed out
  StageLog log;
  scheduler::BusyMeter busy{scheduler::steady_clock()};
  bool over = false;

  bool read(ReadItems& items);
  void compute(ReadItems& items, scheduler::ChunkTimes times);
  bool compute_part(ReadItems& items);
  ~Impl() { log.end(busy.busy_ns()); }
};

/// False: there is nothing now.
bool PushedPlan::Impl::read(ReadItems& items) {
  if (over) return false;
  try {
    over = !reader->read({}, true, items);
    return !over;
  } catch (const NothingPushed&) {
    return false;
  }
}

/// All of it, in parts where it must be.
void PushedPlan::Impl::compute(ReadItems& items, scheduler::ChunkTimes times) {
  log.next_chunk();
  const scheduler::ChunkSize all = chunk_size_of(items.chunks);
  times.in_flight = 1;
  times.compute.begin_ns = scheduler::steady_clock().now_ns();
  const std::int64_t busy_before = busy.busy_ns();
  while (!items.all_computed()) {
    if (context.options.stop.stop_requested()) ir::raise_cancelled();
    const scheduler::BusySpan computing(&busy);
    compute_part(items);
  }
  times.compute.end_ns = scheduler::steady_clock().now_ns();
  times.size = all;
  times.decision.reason = scheduler::Reason::live;
  const std::int64_t thread_ns =
      std::max<std::int64_t>(times.compute.length(), 1) * context.executor.concurrency();
  times.utilisation =
      std::min(static_cast<double>(busy.busy_ns() - busy_before) / static_cast<double>(thread_ns), 1.0);
  log.add(times);
}

/// False: it is to be tried again, with half of the items.
bool PushedPlan::Impl::compute_part(ReadItems& items) {
  const std::int64_t next = items.next;
  const auto again = [&](bool helps) {
    items.next = next;
    if (!helps || !items.halve()) throw;
    return false;
  };
  auto given = std::make_unique<ItemResults>(context, reader->input().stage());
  HeldResults held(context, reader->input().stage());
  try {
    // What comes in parts, of which one may find no memory, is not handed over before all of it has come.
    reader->compute(items, streams_out                          ? static_cast<StageOutput&>(*given)
                           : backend.traits().completes_at_once ? static_cast<StageOutput&>(*results)
                                                                : held);
    given->close();
  } catch (const scheduler::BudgetExceeded&) {
    return again(true);
  } catch (const ir::DeviceError&) {
    throw;
  } catch (const RunError&) {
    return again(streams_out && context.gives_before_failure);
  }
  if (streams_out)
    on_results(std::move(given));
  else
    held.move_to(*results);
  return true;
}

PushedPlan::PushedPlan(RunContext& context, RunBackend& backend, PushedItems& pushed, OnResults on_results)
    : impl_(std::make_unique<Impl>(context, backend, pushed, std::move(on_results))) {}
PushedPlan::~PushedPlan() = default;

bool PushedPlan::over() const { return impl_->over; }

void PushedPlan::advance() {
  ReadItems items;
  for (;;) {
    scheduler::ChunkTimes times;
    times.read.begin_ns = scheduler::steady_clock().now_ns();
    if (!impl_->read(items)) return;
    times.read.end_ns = scheduler::steady_clock().now_ns();
    impl_->compute(items, times);
    impl_->over = impl_->reader->input().sources().is_over();
    if (impl_->pushed.items() == 0 && !impl_->pushed.ended()) return;
  }
}

std::vector<HostArray> PushedPlan::finish() {
  advance();
  Impl& run = *impl_;
  run.log.complete();
  if (run.streams_out) return {};
  const std::vector<HostArray> streamed = run.results->finish();
  run.plan.set_stream(run.number, streamed, run.results->take_reservations());
  for (const int array : run.context.plan.last_needed[run.action]) run.plan.values().forget(array);
  run.plan.run(run.action + 1, run.context.plan.actions.size());
  std::vector<HostArray> results;
  for (std::size_t r = 0; r < run.context.plan.results.size(); ++r) results.push_back(run.plan.result(r));
  return results;
}

}  // namespace anabranch::runtime
