#include "run/stages/stage.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "ir/cancelled.h"
#include "run/context/computing.h"

namespace anabranch::runtime {

StageRun::StageRun(RunContext& context, RunBackend& backend, int number, GlobalValues& global,
                   const std::vector<HostArray>& into, const RunBody& run_body, PassStreams& pass, int member)
    : context_(context),
      backend_(backend),
      traits_(backend.traits()),
      number_(number),
      streams_(context.plan, pass, member),
      input_(context, context.plan.stages[static_cast<std::size_t>(number)], global, streams_,
             feeds(context, backend, global, run_body,
                   [this](std::int64_t first, std::int64_t items) { return places_of_items(first, items); })),
      results_(context, number, input_, into, global, run_body),
      log_(context, backend),
      in_pieces_(runs_in_pieces()) {
  options_.policy = input_.policy();
  options_.stop = context.options.stop;
  options_.total = input_.sources().extent();
  options_.reads_again = input_.has_intermediates();
  options_.start_work = input_.start_work();
  options_.cache_bytes = traits_.cache_of_thread;
  if (in_pieces_) options_.max_ring = slots_of_pieces();
  if (!context.budget.unlimited()) options_.memory_limit = memory_for_chunks();
  computing_ = backend.open_stage(input_.work(options_.max_ring));
}

/// Results of items in memory are to be written where they belong: appended in turn, by one thread, they would cost more
/// than is gained.
bool StageRun::runs_in_pieces() const {
  if (!traits_.side_by_side || results_.bodies_print() || streams_.members() > 1) return false;
  // In pieces results lie in memory that is used again: what kept them would have to copy them.
  if (results_.keeps()) return false;
  const bool appends = !results_.known_places() || results_.writes() || results_.runs_bodies();
  return input_.in_pieces() || (input_.gains_in_pieces() && !appends);
}

/// Single elements that are results as they are lie there when they are made: they are not copied.
std::vector<HostArray> StageRun::places_of_items(std::int64_t first, std::int64_t items) const {
  // Of several sources one may end before the others: what is read of these beyond that is no result.
  if (traits_.copies_chunks || input_.infos().size() != 1) return {};
  int number = 0;  // of an array
  std::vector<HostArray> places;
  for (const ArrayInfo& info : input_.infos()[0]) {
    places.push_back(info.extents.empty() ? place_of_items(number, info, first, items) : nullptr);
    ++number;
  }
  return places;
}

/// `number`: of an array of the stage's items.
HostArray StageRun::place_of_items(int number, const ArrayInfo& info, std::int64_t first,
                                   std::int64_t items) const {
  const plan::StagePlan& stage = input_.stage();
  for (std::size_t r = 0; r < stage.results.size(); ++r) {
    const plan::PlanArray& array = stage.group.arrays[static_cast<std::size_t>(stage.results[r])];
    if (array.copy_of_item != number) continue;
    const std::vector<void*> place = results_.place(static_cast<int>(r), first, items);
    if (place.empty()) continue;
    auto memory = std::make_shared<detail::ArrayData>();
    memory->scalars = info.scalars;
    memory->extents = {items};
    for (void* const component : place) memory->buffers.emplace_back(std::shared_ptr<void>(), component);
    return memory;
  }
  return nullptr;
}

/// What is joined is held until its turn, and by more than the places that there are for it the others are not ahead.
int StageRun::slots_of_pieces() const {
  const int all = scheduler::piece_slots(context_.executor);
  return results_.runs_bodies() ? std::min(all, 2 * context_.executor.concurrency() + 1) : all;
}

/// Of what the bound leaves: less a part for intermediate arrays, for results whose size is not known yet or that are
/// joined, and for copies in flight.
std::int64_t StageRun::memory_for_chunks() const {
  std::int64_t left = streams_.bytes_of_member();
  if (input_.has_intermediates()) left /= 2;
  if (!results_.known_sizes() || holds_results()) left /= 2;
  if (results_.runs_bodies()) left /= 4;  // the results of a chunk, and joining them
  if (traits_.copies_chunks) left /= 2;
  return std::max<std::int64_t>(left, 1);
}

/// The ring, with what is computed from it, shares the back end's memory: a first guess, corrected by halving.
std::int64_t StageRun::bytes_of_one_chunk() const {
  const auto share = [&](std::int64_t bytes) {
    return bytes == scheduler::no_limit ? bytes : bytes / options_.max_ring;
  };
  std::int64_t bytes = std::min(traits_.largest_chunk, share(traits_.chunk_memory));
  if (traits_.copies_chunks) bytes = std::min(bytes, share(options_.memory_limit));
  return bytes;
}

std::vector<HostArray> StageRun::run() {
  if (is_small())
    run_at_once();
  else
    run_scheduled();
  log_.complete();
  {
    const PassStreams::Turn turn = streams_.turn();
    computing_.reset();
  }
  input_.close();  // others may go on
  return results_.finish();
}

void StageRun::run_scheduled() {
  const LearnedChunks::Key key{&context_.plan, number_, backend_.name(), context_.executor.concurrency()};
  if (context_.learned) options_.learned = context_.learned->of(key);
  const scheduler::PipelineResult result = in_pieces_ ? run_pieces() : run_chunks();
  if (result.cancelled) ir::raise_cancelled();
  if (context_.learned) context_.learned->note(key, result.learned);
}

/// Few items in memory, in a run inside of an item, as of a round of a loop there (only such have no record): to decide how they
/// are cut would take longer than to compute them.
bool StageRun::is_small() const {
  constexpr std::int64_t few = 4096;
  if (context_.record != nullptr || streams_.members() > 1 || input_.is_fed()) return false;
  if (!input_.sources().in_memory() || !traits_.completes_at_once) return false;
  const auto& total = options_.total;
  return total && total->items <= few && total->work <= std::min(few, options_.start_work);
}

void StageRun::run_at_once() {
  make_slots(1);
  while (read(*slots_[0], {})) {
    compute(0);
    write(0);
  }
}

/// A slot of the ring takes as much as a chunk gains by at most.
void StageRun::bound_chunks(int slots) {
  const std::int64_t largest = input_.largest_read(traits_);
  if (largest < INT64_MAX / slots) options_.memory_limit = std::min(options_.memory_limit, largest * slots);
}

scheduler::PipelineResult StageRun::run_pieces() {
  StagePieces pieces(context_, input_, results_, *computing_, options_.max_ring,
                     input_.work_of(bytes_of_one_chunk()));
  bound_chunks(context_.executor.concurrency() + 1);
  log_.begin(input_, {.ring = options_.max_ring, .in_pieces = true, .by_pipeline = true});
  options_.trace = log_.trace();
  return scheduler::run_piecewise(context_.executor, pieces.phases(), options_);
}

void StageRun::make_slots(int count) {
  for (int s = 0; s < count; ++s)
    slots_.push_back(std::make_unique<Slot>(
        context_, input_.stage(),
        [this](int result, std::int64_t elements) { return results_.bytes_to_append(result, elements); },
        later_));
}

scheduler::PipelineResult StageRun::run_chunks() {
  make_slots(options_.max_ring);
  const scheduler::ChunkPhases phases = this->phases();
  const int slots_used = scheduler::ring_slots(context_.executor, phases, options_);
  bound_chunks(slots_used);
  log_.begin(input_, {.ring = slots_used, .by_pipeline = true});
  options_.trace = log_.trace();
  return scheduler::run_pipeline(context_.executor, phases, options_);
}

scheduler::ChunkPhases StageRun::phases() {
  scheduler::ChunkPhases phases;
  // Decided once: the bound on memory shrinks while the stage runs.
  const std::int64_t largest_work = input_.work_of(bytes_of_one_chunk());
  phases.read = [this, largest_work](int s, scheduler::Target target) {
    target.work = std::min(target.work, largest_work);
    Slot& slot = *slots_[static_cast<std::size_t>(s)];
    const auto size = read(slot, target);
    if (size && computing_->begins_early()) computing_->begin(s, slot.chunks);
    return size;
  };
  phases.compute = [this](int s) {
    log_.next_chunk();
    const scheduler::Computed computed = compute(s);
    log_.draw_memory();
    return computed;
  };
  phases.write = [this](int s) { write(s); };
  phases.failed = [this] { streams_.failed(); };
  // What feeds a stage computes, too, on all threads.
  phases.inline_read = input_.is_fed() || (input_.sources().in_memory() && !computing_->begins_early());
  phases.inline_write = traits_.completes_at_once && !holds_results();
  return phases;
}

// ---- Reading

std::optional<scheduler::ChunkSize> StageRun::read(Slot& slot, const scheduler::Target& target) {
  if (!pending_.empty())
    slot.chunks = std::exchange(pending_, {});
  else if (!read_source(slot, target))
    return std::nullopt;
  const scheduler::ChunkSize size = chunk_size_of(slot.chunks);
  auto reservation = context_.try_reserve("chunks", size.bytes);
  if (!reservation && in_flight_ > 0) {
    // It is read, but other chunks hold the memory: it waits until they are gone, and is then the only one.
    pending_ = std::exchange(slot.chunks, {});
    throw scheduler::ChunkTooBig("a chunk waits for memory", scheduler::ChunkSize{1, size.work, size.bytes});
  }
  slot.reservation = reservation ? std::move(*reservation)
                                 : with_room(
                                       context_, true, [&] { return context_.reserve("chunks", size.bytes); },
                                       &streams_, [this] { return results_.waits_for_memory(); });
  ++in_flight_;
  streams_.holds_chunk();
  return size;
}

bool StageRun::read_source(Slot& slot, const scheduler::Target& target) {
  const bool alone = in_flight_ == 0;
  return with_room(
      context_, alone,
      [&] {
        if (streams_.aborted()) ir::raise_cancelled();
        return input_.read(target, slot.chunks);
      },
      &streams_, [this] { return results_.waits_for_memory(); });
}

// ---- Computing

/// A chunk that does not fit is tried again when the back end has made room, if that helps, and then in halves; one
/// item that does not fit is an error.
scheduler::Computed StageRun::compute(int number) {
  const Computing computing(computing_now_);
  Slot& slot = *slots_[static_cast<std::size_t>(number)];
  slot.on_device = false;
  if (holds_results()) {
    const std::lock_guard lock(unwritten_guard_);
    unwritten_.push_back(number);
  }
  StageOutput& results = holds_results() ? static_cast<StageOutput&>(slot.parts) : results_;
  slot.enqueued = fits(number, slot.chunks, results);
  if (!slot.enqueued) {
    make_room(number);
    slot.enqueued = fits(number, slot.chunks, results);
  }
  if (slot.enqueued) return scheduler::Computed::whole;
  compute_in_halves(number, 0, slot.chunks[0].items);
  return scheduler::Computed::in_parts;
}

void StageRun::compute_in_halves(int number, std::int64_t begin, std::int64_t end) {
  Slot& slot = *slots_[static_cast<std::size_t>(number)];
  StageOutput& results =
      traits_.completes_at_once && !holds_results() ? static_cast<StageOutput&>(results_) : slot.parts;
  if (end - begin <= 1) {
    if (!fits_after_waiting(number, input_.part_of(slot.chunks, begin, end), results))
      std::rethrow_exception(refusal_);
    const PassStreams::Turn turn = streams_.turn();
    computing_->complete(number, results);
    return;
  }
  const std::int64_t middle = begin + (end - begin) / 2;
  for (const auto& [from, to] : {std::pair(begin, middle), std::pair(middle, end)}) {
    bool fit = fits(number, input_.part_of(slot.chunks, from, to), results);
    if (!fit) {
      make_room(number);
      fit = to - from <= 1 && fits(number, input_.part_of(slot.chunks, from, to), results);
    }
    if (fit) {
      const PassStreams::Turn turn = streams_.turn();
      computing_->complete(number, results);
    } else {
      compute_in_halves(number, from, to);
    }
  }
}

/// One item that does not fit, as long as whoever has been given results has memory to give back; at last without asking
/// what appending it takes, since nothing is gained by asking.
bool StageRun::fits_after_waiting(int number, const std::vector<SourceChunk>& chunks, StageOutput& results) {
  auto pause = std::chrono::microseconds(100);
  for (bool more = results_.keeps(); more;) {
    if (context_.options.stop.stop_requested()) ir::raise_cancelled();
    make_room(number);
    more = results_.waits_for_memory();  // what comes back after this is seen the next time
    if (fits(number, chunks, results)) return true;
    if (more) std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(3200));
  }
  if (!holds_results()) return false;
  HeldResults& parts = slots_[static_cast<std::size_t>(number)]->parts;
  parts.ask(false);
  const bool fit = fits(number, chunks, results);
  parts.ask(true);
  return fit;
}

/// Of the back end's memory, and of results that wait to be written, which may have been just now.
void StageRun::make_room(int number) {
  {
    const PassStreams::Turn turn = streams_.turn();
    computing_->make_room(number);
  }
  write_held();
}

bool StageRun::fits(int number, const std::vector<SourceChunk>& chunks, StageOutput& results) {
  const PassStreams::Turn turn = streams_.turn();
  try {
    Slot& slot = *slots_[static_cast<std::size_t>(number)];
    slot.on_device |= computing_->enqueue(number, chunks, results) == ComputedOn::device;
    return true;
  } catch (const scheduler::BudgetExceeded&) {
    refusal_ = std::current_exception();
    // Else another thread may be taking results of a chunk before it.
    if (traits_.completes_at_once) results.forget_room();
    return false;
  }
}

// ---- Writing

/// Memory was short: writes what is held, of this chunk and those before it. Not in turn: what the caller's sinks do takes as
/// long as they like, and may wait for what another stage writes.
void StageRun::write_held() {
  const std::lock_guard lock(writing_);
  const std::deque<int> slots = [this] {
    const std::lock_guard guard(unwritten_guard_);
    return unwritten_;
  }();
  try {
    for (const int number : slots) hand_over(slots_[static_cast<std::size_t>(number)]->parts);
  } catch (const scheduler::BudgetExceeded&) {  // NOLINT: results that are kept in memory wait for their turn
  }
}

/// While `writing_` is held. What a sink has refused it is not given again.
void StageRun::hand_over(HeldResults& parts) {
  if (unwritable_) std::rethrow_exception(unwritable_);
  try {
    parts.move_to(results_);
  } catch (const scheduler::BudgetExceeded&) {
    throw;
  } catch (...) {
    unwritable_ = std::current_exception();
    throw;
  }
}

void StageRun::write(int number) {
  Slot& slot = *slots_[static_cast<std::size_t>(number)];
  when_others_gave_back(context_, computing_now_, [&] {
    if (slot.enqueued) {
      const PassStreams::Turn turn = streams_.turn();
      // So that it is not in turn that they are written; a copy, for which there is no room where memory is bounded.
      const bool held = results_.writes() && streams_.members() > 1 && context_.budget.unlimited();
      computing_->complete(number, held ? static_cast<StageOutput&>(slot.parts) : results_);
      slot.enqueued = false;
    }
    const std::lock_guard lock(writing_);
    hand_over(slot.parts);
    const std::lock_guard guard(unwritten_guard_);
    if (holds_results()) unwritten_.pop_front();
  });
  if (slot.on_device) log_.count_gpu_chunk();
  slot.chunks.clear();
  slot.reservation.release();
  --in_flight_;
  streams_.gave_back_chunk();
}

}  // namespace anabranch::runtime
