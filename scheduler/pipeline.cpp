#include "scheduler/pipeline.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "scheduler/attempt.h"
#include "scheduler/read_plan.h"
#include "scheduler/run_meter.h"

namespace anabranch::scheduler {
namespace {

constexpr int64_t never = std::numeric_limits<int64_t>::max();

bool overlaps(const Executor& executor, bool inline_phase) noexcept {
  return executor.concurrency() > 1 && !inline_phase;
}

ControllerConfig controller_config(const Executor& executor, const ChunkPhases& phases,
                                   const PipelineOptions& options) {
  return {.memory_limit = options.memory_limit,
          .max_ring = ring_slots(executor, phases, options),
          .read_overlaps = overlaps(executor, phases.inline_read),
          .write_overlaps = overlaps(executor, phases.inline_write),
          .total = options.total,
          .max_chunk_ns = options.max_chunk_ns,
          .reads_again = options.reads_again,
          .start_work = options.start_work};
}

struct Chunk {
  int64_t index = 0;  // in the order of reads
  ChunkTimes record{};
};

// A phase that may run beside computing. Queued: a task has been submitted for it, but whoever comes first,
// the task or the driver, does it.
struct Turn {
  enum class State { idle, queued, running };
  State state = State::idle;
  bool task_waiting = false;  // submitted and not yet begun
};

// One run. All members are guarded by the mutex; callbacks run without it. A task that begins after the run has
// ended finds its turn idle and returns, which is why the run is shared with the tasks.
class Run : public std::enable_shared_from_this<Run> {
 public:
  Run(Executor& executor, const ChunkPhases& phases, const PipelineOptions& options)
      : executor_(executor),
        phases_(phases),
        stop_(options.stop),
        config_(controller_config(executor, phases, options)),
        plan_(make_controller(options.policy, config_, options.learned), config_),
        meter_(options.clock != nullptr ? *options.clock : steady_clock(), executor.concurrency()),
        trace_(options.trace != nullptr ? *options.trace : own_trace_) {
    const auto slots = static_cast<std::size_t>(config_.max_ring);
    free_.reserve(slots);
    ready_.reserve(slots);
    done_.reserve(slots);
    for (int slot = config_.max_ring - 1; slot >= 0; --slot) free_.push_back(slot);
  }

  PipelineResult drive() {
    idle_since_ = meter_.now_ns();
    trace_.begin(idle_since_, executor_.concurrency());
    {
      Lock lock(mutex_);
      while (step(lock)) {
      }
    }
    if (has_asked_) executor_.withdraw(this);
    trace_.end(meter_.now_ns(), meter_.compute_meter().busy_ns());
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return {.cancelled = !ended_ || dropped_, .summary = trace_.summary(), .learned = plan_.learned()};
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  // Does what the driver does next; false when nothing is left to do.
  // It waits only for what another thread has begun.
  bool step(Lock& lock) {
    drop_dead_chunks();
    if (!ready_.empty()) {
      compute_next(lock);
    } else if (reader_.state != Turn::State::running && can_read()) {
      offer(writer_, !done_.empty(), &Run::write_task);
      reader_.state = Turn::State::running;
      read_next(lock);
      reader_.state = Turn::State::idle;
    } else if (writer_.state != Turn::State::running && !done_.empty()) {
      writer_.state = Turn::State::running;
      write_next(lock);
      writer_.state = Turn::State::idle;
    } else if (reader_.state == Turn::State::running || writer_.state == Turn::State::running) {
      changed_.wait(lock);
    } else {
      reader_.state = writer_.state = Turn::State::idle;
      return false;
    }
    return true;
  }

  bool is_dead(const Chunk& chunk) const { return chunk.index >= failed_at_ || stop_.stop_requested(); }

  void drop_dead_chunks() {
    for (std::vector<Chunk>* queue : {&ready_, &done_}) {
      while (!queue->empty() && is_dead(queue->back())) {
        dropped_ = true;
        free_slot(queue->back().record.slot);
        queue->pop_back();
      }
    }
  }

  void fail(Lock& lock, int64_t index, std::exception_ptr error) {
    if (index >= failed_at_) return;
    const bool first = failed_at_ == never;
    failed_at_ = index;
    error_ = std::move(error);
    if (!first || !phases_.failed) return;
    lock.unlock();
    phases_.failed();
    lock.lock();
  }

  void free_slot(int slot) {
    free_.push_back(slot);
    --in_flight_;
    plan_.left();
  }

  // --- phases beside the driver

  // Lets another thread take a phase. If none can be asked, the driver does it in its turn.
  void offer(Turn& turn, bool possible, void (Run::*task)()) {
    if (turn.state != Turn::State::idle || !possible) return;
    turn.state = Turn::State::queued;
    if (turn.task_waiting) return;
    has_asked_ = true;
    try {
      executor_.submit_waiting([self = shared_from_this(), task] { (*self.*task)(); }, this);
      turn.task_waiting = true;
    } catch (const std::exception&) {  // no memory, no thread
      turn.task_waiting = false;
    }
  }

  // For the time the driver is computing; when it waits, it reads and writes itself.
  void offer_both() {
    offer(reader_, config_.read_overlaps && can_read(), &Run::read_task);
    offer(writer_, config_.write_overlaps && !done_.empty(), &Run::write_task);
  }

  void read_task() {
    Lock lock(mutex_);
    reader_.task_waiting = false;
    if (reader_.state != Turn::State::queued) return;
    reader_.state = Turn::State::running;
    while (can_read()) read_next(lock);
    reader_.state = Turn::State::idle;
    changed_.notify_all();
  }

  void write_task() {
    Lock lock(mutex_);
    writer_.task_waiting = false;
    if (writer_.state != Turn::State::queued) return;
    writer_.state = Turn::State::running;
    while (!done_.empty() && !is_dead(done_.front())) write_next(lock);
    writer_.state = Turn::State::idle;
    changed_.notify_all();
  }

  // --- read

  bool can_read() const {
    return !ended_ && next_index_ < failed_at_ && !stop_.stop_requested() && plan_.has_room(in_flight_);
  }

  void read_next(Lock& lock) {
    Chunk chunk{.index = next_index_};
    ChunkTimes& record = chunk.record;
    record.decision = plan_.next();
    record.slot = free_.back();
    free_.pop_back();
    record.in_flight = ++in_flight_;

    std::optional<ChunkSize> size;
    const Outcome outcome = timed(lock, Phase::read, record.read, [&] {
      size = phases_.read(record.slot, record.decision.target);
      if (size && size->items < 1) throw std::logic_error("a source gave a chunk without items");
    });

    if (!outcome.error && size) {
      record.size = *size;
      plan_.succeeded(*size);
      ++next_index_;
      ready_.push_back(chunk);
    } else {
      free_slot(record.slot);
      if (!outcome.error) {
        ended_ = true;
      } else if (outcome.too_big && plan_.try_smaller(record.decision.target, *outcome.too_big)) {
        trace_.add_halving();
      } else {
        fail(lock, chunk.index, outcome.error);
      }
    }
    changed_.notify_all();
  }

  // --- compute

  void compute_next(Lock& lock) {
    Chunk chunk = ready_.front();
    ready_.erase(ready_.begin());
    offer_both();
    bool done = !is_dead(chunk) && compute(lock, chunk);
    if (done && config_.write_overlaps) {
      done_.push_back(chunk);
      return;
    }
    if (done) {
      finish_writes(lock);
      done = !is_dead(chunk) && write(lock, chunk);
    }
    // What is written to the end: a stop that is requested now has left nothing out.
    dropped_ |= !done;
    free_slot(chunk.record.slot);
  }

  // False when the chunk is not to be written.
  bool compute(Lock& lock, Chunk& chunk) {
    ChunkTimes& record = chunk.record;
    const RunMeter::Mark begin = meter_.mark();
    Computed computed = Computed::whole;
    const int64_t aside_before_ns = time_aside_ns();
    const Outcome outcome = timed(lock, Phase::compute, record.compute, [&] {
      const BusySpan busy(&meter_.compute_meter());
      computed = phases_.compute(record.slot);
    });
    record.aside_ns = time_aside_ns() - aside_before_ns;
    record.utilisation = meter_.utilisation(begin, meter_.mark());
    record.wait_ns = record.compute.begin_ns - idle_since_;
    idle_since_ = record.compute.end_ns;
    if (outcome.error) {
      fail(lock, chunk.index, outcome.error);
      return false;
    }
    if (computed == Computed::in_parts) {
      trace_.add_halving();
      plan_.too_big(record.size);
    }
    return true;
  }

  // --- write

  // Writes all that is computed.
  void finish_writes(Lock& lock) {
    for (;;) {
      drop_dead_chunks();
      if (writer_.state == Turn::State::running) {
        changed_.wait(lock);
      } else if (!done_.empty()) {
        writer_.state = Turn::State::running;
        write_next(lock);
        writer_.state = Turn::State::idle;
      } else {
        return;
      }
    }
  }

  void write_next(Lock& lock) {
    Chunk chunk = done_.front();
    done_.erase(done_.begin());
    write(lock, chunk);
    free_slot(chunk.record.slot);
    if (meter_.is_open(Phase::compute)) offer_both();
    changed_.notify_all();
  }

  bool write(Lock& lock, Chunk& chunk) {
    ChunkTimes& record = chunk.record;
    Outcome outcome = timed(lock, Phase::write, record.write, [&] { phases_.write(record.slot); });
    if (!outcome.error) outcome = attempt([&] { report(record); });
    if (outcome.error) fail(lock, chunk.index, outcome.error);
    return !outcome.error;
  }

  void report(ChunkTimes& record) {
    record.chunk = written_++;
    plan_.observe({.size = record.size,
                   .target = record.decision.target,
                   .ns = {.read = record.read.length(),
                          .wait = record.wait_ns,
                          .compute = record.compute_ns(),
                          .write = record.write.length()},
                   .utilisation = record.utilisation});
    trace_.add(record);
  }

  // --- calling back

  template <class F>
  Outcome timed(Lock& lock, Phase phase, Span& span, F&& callback) {
    span = meter_.begin(phase);
    lock.unlock();
    Outcome outcome = attempt(callback);
    lock.lock();
    meter_.end(phase, span);
    return outcome;
  }

  Executor& executor_;
  const ChunkPhases& phases_;
  const std::stop_token stop_;
  const ControllerConfig config_;

  std::mutex mutex_;
  std::condition_variable changed_;
  ReadPlan plan_;
  RunMeter meter_;
  Trace own_trace_{0};
  Trace& trace_;
  // Slots without a chunk; the last used one on top, because its memory is warm.
  std::vector<int> free_;
  // In chunk order; never more than there are slots, so they do not allocate.
  std::vector<Chunk> ready_, done_;
  Turn reader_, writer_;
  bool has_asked_ = false;  // for a thread
  int in_flight_ = 0;
  int64_t next_index_ = 0;
  int64_t written_ = 0;
  bool ended_ = false;
  bool dropped_ = false;
  int64_t failed_at_ = never;
  std::exception_ptr error_;
  int64_t idle_since_ = 0;  // when the driver last stopped computing
};

void check(const ChunkPhases& phases, const PipelineOptions& options) {
  if (!phases.read || !phases.compute || !phases.write) {
    throw std::invalid_argument("a pipeline needs a read, a compute and a write phase");
  }
  if (options.max_ring < 1) throw std::invalid_argument("a ring has at least one slot");
  if (options.memory_limit < 0) throw std::invalid_argument("a memory limit below zero");
}

}  // namespace

int ring_slots(const Executor& executor, const ChunkPhases& phases, const PipelineOptions& options) noexcept {
  const int beside = overlaps(executor, phases.inline_read) + overlaps(executor, phases.inline_write);
  // One more than phases that run at once, so that uneven chunks do not make them wait for each other.
  return beside == 0 ? 1 : std::min(options.max_ring, beside + 2);
}

PipelineResult run_pipeline(Executor& executor, const ChunkPhases& phases, const PipelineOptions& options) {
  check(phases, options);
  return std::make_shared<Run>(executor, phases, options)->drive();
}

}  // namespace anabranch::scheduler
