#include "scheduler/piecewise.h"

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
#include "scheduler/busy.h"
#include "scheduler/device_waits.h"
#include "scheduler/lock_soon.h"
#include "scheduler/read_plan.h"
#include "scheduler/run_meter.h"
#include "scheduler/shared_controller.h"

namespace anabranch::scheduler {
namespace {

constexpr int64_t never = std::numeric_limits<int64_t>::max();

ControllerConfig controller_config(const Executor& executor, const PipelineOptions& options) {
  return {.memory_limit = options.memory_limit,
          .max_ring = std::min(options.max_ring, executor.concurrency() + 1),
          .read_overlaps = false,
          .write_overlaps = false,
          .total = options.total,
          .max_chunk_ns = options.max_chunk_ns,
          .reads_again = true,
          .workers = executor.concurrency(),
          .cache_bytes = options.cache_bytes,
          .start_work = options.start_work};
}

struct Piece {
  enum class State : std::uint8_t {
    working,     ///< a thread reads or computes it
    read,        ///< ahead, by a thread that does not compute
    for_driver,  ///< read; so large that all threads are to compute it
    for_alone,   ///< read; it could not be computed beside the others, for want of memory mostly
    done
  };
  int64_t index = 0;
  State state = State::working;
  int64_t held_bytes = 0;  ///< what has been read, or will be
  bool ahead = false;      ///< it is being read ahead, or has been, and no thread has begun to compute it
  bool measured = false;   ///< of what follows
  DeviceWaits::Piece waits{};
  ChunkTimes record{};
};

// One run. All members are guarded by the mutex; callbacks run without it, and so does the controller. A task that begins
// after the run has ended finds it over and returns, which is why the run is shared with the tasks.
class Run : public std::enable_shared_from_this<Run> {
 public:
  Run(Executor& executor, const PiecePhases& phases, const PipelineOptions& options)
      : executor_(executor),
        phases_(phases),
        stop_(options.stop),
        config_(controller_config(executor, options)),
        clock_(options.clock != nullptr ? *options.clock : steady_clock()),
        plan_(std::make_unique<SharedController>(make_controller(options.policy, config_, options.learned)),
              config_),
        waits_(executor.concurrency()),
        has_io_(!executor.runs_in_line()),
        meter_(clock_, executor.concurrency()),
        io_(clock_),
        trace_(options.trace != nullptr ? *options.trace : own_trace_),
        pieces_(static_cast<std::size_t>(options.max_ring)) {
    free_.reserve(pieces_.size());
    in_order_.reserve(pieces_.size());
    for (int slot = options.max_ring - 1; slot >= 0; --slot) free_.push_back(slot);
  }

  // The calling thread is the driver: it works as the others do, and alone does what all are to help with.
  PipelineResult drive() {
    trace_.begin(meter_.now_ns(), executor_.concurrency());
    {
      Lock lock = locked();
      Worker driver{.is_driver = true, .is_new = true};
      ++new_;
      while (!is_over()) {
        ask_for_workers();
        driver_works_ = true;
        const bool did = step(lock, driver);
        driver_works_ = false;
        if (!did) wait_for_others(lock);
      }
      over_ = true;
    }
    if (has_asked_) executor_.withdraw(this);
    count_halvings(std::exchange(halvings_, 0));
    trace_.end(meter_.now_ns(), meter_.compute_meter().busy_ns());
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return {.cancelled = !ended_ || dropped_, .summary = trace_.summary(), .learned = plan_.learned()};
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  Lock locked() {
    lock_soon(mutex_);
    look_for_stop();
    return Lock(mutex_, std::adopt_lock);
  }

  // A request may come at any time, and acts from here on: so what a thread decides between two looks, to wait at
  // last, agrees with itself.
  void look_for_stop() { stopped_ = stopped_ || stop_.stop_requested(); }

  // A thread that computes.
  struct Worker {
    bool is_driver = false;
    bool is_new = false;  // it has come, and has had no piece yet
  };

  // Does one thing that this thread can do now; false where there is none.
  bool step(Lock& lock, Worker& worker) {
    const bool driver = worker.is_driver;
    look_for_stop();
    drop_dead_pieces();
    ask_for_io();
    if (can_commit() && !commits_aside()) {
      commit_all(lock);
    } else if (Piece* const large = driver ? for_driver() : nullptr) {
      compute_with_all(lock, *large);
    } else if (Piece* const ready = first_read()) {
      has_piece(worker);
      work_at(lock, *ready, driver);
    } else if (reads_here(driver)) {
      if (Piece* const piece = take_next(lock, [&] { return can_take(driver); })) {
        has_piece(worker);
        work_at(lock, *piece, driver);
      }
    } else if (driver && can_commit()) {
      commit_first(lock);  // who is to do it has not come, and may not
    } else {
      return false;
    }
    return true;
  }

  bool is_over() const {
    return in_order_.empty() && !taking_ && !committing_ && (ended_ || next_index_ >= failed_at_ || stopped_);
  }

  // --- threads

  // Each thread that is there asks for two more, and each of these again: so all of many are there soon, and few come in
  // vain where there are few pieces or few slots.
  void ask_for_workers() {
    if (executor_.runs_in_line()) return;  // the other threads have work of their own
    const auto most_coming = [this] {
      return std::min(2 * (workers_ - coming_ + 1), static_cast<int>(free_.size()) + read_);
    };
    const auto is_work = [this] { return read_ > 0 || reads_here(false); };
    while (workers_ < executor_.concurrency() - 1 && coming_ < most_coming() && is_work()) {
      ++workers_;
      ++coming_;
      has_asked_ = true;
      try {
        executor_.submit([self = shared_from_this()] { self->work(); }, this);
      } catch (const std::exception&) {
        // No memory, no thread: those that are there do it, and this one, too, if it runs all the same.
        return;
      }
    }
  }

  // It ends after a while, and others follow it: a pool shares its threads among runs when their tasks end.
  void work() {
    constexpr int64_t longest_ns = 20'000'000;
    Lock lock = locked();
    coming_ = std::max(coming_ - 1, 0);
    Worker worker{.is_new = true};
    ++new_;
    const int64_t end_ns =
        over_ ? 0 : meter_.now_ns() + longest_ns;  // when the run is over its clock may be gone
    if (!over_) ask_for_workers();
    bool did = true;
    const auto goes_on = [&] { return meter_.now_ns() < end_ns || (can_commit() && !commits_aside()); };
    while (!over_ && did && goes_on()) did = step(lock, worker);
    has_piece(worker);
    --workers_;
    if (!over_ && did) ask_for_workers();
    wake_driver();
  }

  void has_piece(Worker& worker) {
    if (std::exchange(worker.is_new, false)) --new_;
  }

  // The driver waits only for what another thread has begun.
  void wait_for_others(Lock& lock) {
    if (is_over()) return;
    driver_waits_ = true;
    changed_.wait(lock, [this] { return !driver_waits_; });
  }

  void wake_driver() {
    if (std::exchange(driver_waits_, false)) changed_.notify_one();
  }

  // --- threads beside: where a device is waited for, they do that while the others compute

  // They are asked for as long as there is something for them; whoever computes does it where none has come.
  void ask_for_io() {
    if (!has_io_) return;
    while (readers_ < std::min(waits_.readers(), most_ahead() - ahead_) && can_read_ahead())
      if (!submit_io(readers_, &Run::read_ahead)) return;
    if (committers_ == 0 && can_commit() && commits_aside()) submit_io(committers_, &Run::commit_beside);
  }

  bool submit_io(int& count, void (Run::*task)()) {
    has_asked_ = true;
    try {
      executor_.submit_waiting([self = shared_from_this(), task] { (*self.*task)(); }, this);
      ++count;
    } catch (const std::exception&) {  // no memory, no thread
      has_io_ = false;
    }
    return has_io_;
  }

  void read_ahead() {
    Lock lock = locked();
    const auto may = [this] { return can_read_ahead() && readers_ <= waits_.readers(); };
    ++reading_ahead_;
    while (!over_ && may()) {
      Piece* const piece = take_next(lock, may, true);
      if (piece == nullptr) continue;
      begin_work();
      if (is_dead(*piece)) {
        is_done(*piece);
      } else if (read(lock, *piece)) {
        piece->state = Piece::State::read;
        ++read_;
      }
      end_work();
      ask_for_workers();
      wake_driver();
    }
    --reading_ahead_;
    --readers_;
    if (!over_) ask_for_workers();
    wake_driver();
  }

  void commit_beside() {
    Lock lock = locked();
    while (!over_ && can_commit()) commit_first(lock);
    --committers_;
    wake_driver();
  }

  bool commits_aside() const { return has_io_ && waits_.writer(); }

  // Who computes does not wait for a device that others have asked for as much as it can do.
  bool reads_here(bool driver) const {
    return can_take(driver) && (reading_ahead_ == 0 || reading_ < executor_.concurrency());
  }

  // One that is read, and one that waits, for each of them.
  int most_ahead() const { return 2 * waits_.readers(); }

  bool can_read_ahead() const {
    return may_take() && plan_.has_room(0) && !plan_.alone() && ahead_ < most_ahead() && has_memory();
  }

  // For one piece more, of any size. (That which is alone asks for more.)
  bool has_memory() const {
    return config_.memory_limit == no_limit || held_bytes_ <= config_.memory_limit - slot_memory(config_);
  }

  // --- pieces in flight

  Piece& piece_in(int slot) { return pieces_[static_cast<std::size_t>(slot)]; }
  const Piece& piece_in(int slot) const { return pieces_[static_cast<std::size_t>(slot)]; }

  bool is_dead(const Piece& piece) const { return piece.index >= failed_at_ || stopped_; }

  void fail(int64_t index, std::exception_ptr error) {
    if (index >= failed_at_) return;
    failed_at_ = index;
    error_ = std::move(error);
  }

  void drop_dead_pieces() {
    while (!in_order_.empty()) {
      Piece& last = piece_in(in_order_.back());
      if (last.state == Piece::State::working || !is_dead(last) || (committing_ && in_order_.size() == 1))
        return;
      dropped_ = true;
      if (last.state == Piece::State::for_alone) --waiting_for_alone_;
      if (last.state == Piece::State::for_driver) --waiting_for_driver_;
      if (last.state == Piece::State::read) --read_;
      if (last.state != Piece::State::done) let_go(last);
      free_slot(last.record.slot);
      in_order_.pop_back();
    }
  }

  void free_slot(int slot) {
    free_.push_back(slot);
    plan_.left();
  }

  // What has been read of the piece, and is needed no more.
  void let_go(Piece& piece) {
    is_not_ahead(piece);
    --held_;
    held_bytes_ -= piece.held_bytes;
  }

  void is_not_ahead(Piece& piece) {
    if (std::exchange(piece.ahead, false)) --ahead_;
  }

  void is_done(Piece& piece) {
    piece.state = Piece::State::done;
    let_go(piece);
  }

  // --- taking

  bool may_take() const {
    return !ended_ && next_index_ < failed_at_ && !stopped_ && waiting_for_alone_ == 0 && !free_.empty();
  }

  bool can_take(bool driver) const {
    return may_take() && has_room() && (driver || !plan_.alone()) && held_bytes_ < config_.memory_limit &&
           (ahead_ == 0 || has_memory());
  }

  bool has_room() const {
    return plan_.has_room(plan_.alone() ? static_cast<int>(in_order_.size()) : held_ - ahead_);
  }

  // Of a piece that does not say what it will take.
  int64_t most_bytes(const Target& target) const { return target.bytes == no_limit ? 0 : target.bytes; }

  template <class F>
  Piece* take_next(Lock& lock, F&& may, bool ahead = false) {
    lock.unlock();
    lock_soon(take_mutex_);
    const std::lock_guard turn(take_mutex_, std::adopt_lock);
    const Decision wish = plan_.wish();  // it looks at what has been taken, which changes in this turn only
    lock = locked();
    return may() ? take(lock, wish, ahead) : nullptr;
  }

  Piece* take(Lock& lock, const Decision& wish, bool ahead) {
    const int slot = free_.back();
    free_.pop_back();
    Piece& piece = piece_in(slot) = {
        .index = next_index_, .ahead = ahead, .measured = has_io_ && DeviceWaits::measures(next_index_)};
    if (ahead) ++ahead_;
    ChunkTimes& record = piece.record;
    record.decision = plan_.next(wish);
    record.slot = slot;
    taking_ = true;
    const int64_t begin_ns = meter_.now_ns();
    enter(reading_, begin_ns);
    lock.unlock();
    std::optional<ChunkSize> size;
    const Outcome outcome = attempt([&] {
      size = phases_.take(slot, record.decision.target);
      if (size && size->items < 1) throw std::logic_error("a source gave a piece without items");
    });
    lock = locked();
    taking_ = false;
    const int64_t end_ns = meter_.now_ns();
    leave(reading_, end_ns);
    record.taken_ns = end_ns - begin_ns;
    if (!outcome.error && size) {
      record.size = *size;
      record.in_flight = ++held_;
      piece.held_bytes = size->bytes > 0 ? size->bytes : most_bytes(record.decision.target);
      held_bytes_ += piece.held_bytes;
      plan_.succeeded(*size);
      ++next_index_;
      in_order_.push_back(slot);
      return &piece;
    }
    is_not_ahead(piece);
    free_slot(slot);
    if (!outcome.error) {
      ended_ = true;
    } else if (outcome.too_big && plan_.try_smaller(record.decision.target, *outcome.too_big)) {
      ++halvings_;
    } else {
      fail(piece.index, outcome.error);
    }
    wake_driver();
    return nullptr;
  }

  // --- reading and computing

  // One item, far beyond what was asked for.
  static bool is_large(const ChunkTimes& record) {
    const Target& target = record.decision.target;
    return record.size.items == 1 &&
           (record.size.work / 2 > target.work || record.size.bytes / 2 > target.bytes);
  }

  // Such a piece is for all threads, unless there are more: of many items of some times the size each thread computes
  // one by itself, which spares them to meet in every loop. At the end of a stream each of many threads may have one, and
  // targets are so small there that any item is large: the driver would do them one after the other, and the threads meet
  // in every loop of each. So only some wait for him; their threads, which have then nothing to do, help him.
  bool is_for_all(const ChunkTimes& record) const {
    constexpr int64_t most_alone = 16;
    constexpr int most_waiting = 16;
    const Decision& decision = record.decision;
    if (!is_large(record)) return false;
    if (record.size.bytes / 2 > decision.target.bytes || record.size.work / most_alone > decision.target.work)
      return true;
    const bool at_the_end =
        decision.reason == Reason::tail || decision.reason == Reason::rest || !can_take(false);
    return at_the_end && waiting_for_driver_ < most_waiting;
  }

  // Nobody else has any, the driver neither, and he could not help with the loops of others.
  bool is_last_work() const { return !driver_works_ && working_ == 1 && read_ == 0 && !can_take(true); }

  // Nobody is there to help: what threads do between two pieces takes them a moment. Those that are still to come, or have
  // just come, may find nothing else to do.
  bool all_have_work() const {
    return workers_ - coming_ - new_ + (driver_waits_ ? 0 : 1) >= executor_.concurrency();
  }

  Piece* first_read() {
    if (read_ == 0) return nullptr;
    for (const int slot : in_order_)
      if (Piece& piece = piece_in(slot); piece.state == Piece::State::read) return &piece;
    return nullptr;
  }

  // Reads the piece, unless somebody has, and computes it.
  void work_at(Lock& lock, Piece& piece, bool driver) {
    const bool is_read = piece.state == Piece::State::read;
    if (is_read) {
      piece.state = Piece::State::working;
      --read_;
      is_not_ahead(piece);
    }
    if (is_dead(piece)) {
      is_done(piece);
      return wake_driver();
    }
    begin_work();
    ChunkTimes& record = piece.record;
    const WorkMark begin = mark();
    if (is_read || read(lock, piece)) {
      if (const bool for_all = is_for_all(record); !driver && (for_all || is_last_work())) {
        piece.state = Piece::State::for_driver;
        ++waiting_for_driver_;
      } else {
        compute(lock, piece, {.in_line = !for_all && all_have_work()});
      }
    }
    record.utilisation = utilisation_since(begin);
    end_work();
    // Its own turn to commit comes next; anything else is for others.
    if (piece.state != Piece::State::done || is_dead(piece) || in_order_.front() != record.slot)
      wake_driver();
  }

  // False where there is nothing to compute: then the piece is done.
  bool read(Lock& lock, Piece& piece) {
    ChunkTimes& record = piece.record;
    ChunkSize size;
    const auto [outcome, waited_ns] =
        timed_io(lock, piece, record.read, &reading_, [&] { size = phases_.read(record.slot); });
    piece.waits.read_waited_ns = waited_ns;
    record.wait_ns = std::exchange(waited_ns_, 0);
    if (outcome.error) {
      fail(piece.index, outcome.error);
    } else {
      held_bytes_ += size.bytes - std::exchange(piece.held_bytes, size.bytes);
      record.size = size;
      if (!is_dead(piece)) return true;
    }
    is_done(piece);
    return false;
  }

  // What the driver computes with the help of all: a large piece, or the first of all where memory was short.
  Piece* for_driver() {
    if (waiting_for_driver_ > 0)  // of many threads there are many pieces to look at
      for (const int slot : in_order_)
        if (piece_in(slot).state == Piece::State::for_driver && !is_dead(piece_in(slot)))
          return &piece_in(slot);
    if (in_order_.empty() || working_ > 0 || read_ > 0 || taking_ || committing_) return nullptr;
    Piece& first = piece_in(in_order_.front());
    return first.state == Piece::State::for_alone ? &first : nullptr;
  }

  void compute_with_all(Lock& lock, Piece& piece) {
    const bool alone = piece.state == Piece::State::for_alone;
    if (!alone) --waiting_for_driver_;
    piece.state = Piece::State::working;
    begin_work();
    const WorkMark begin = mark();
    compute(lock, piece, {.alone = alone});
    if (alone) --waiting_for_alone_;  // until here nothing is taken
    piece.record.utilisation = utilisation_since(begin);
    end_work();
  }

  struct How {
    bool alone = false;    // nothing else is being worked at
    bool in_line = false;  // by this thread
  };

  void compute(Lock& lock, Piece& piece, How how) {
    Computed computed = Computed::whole;
    const int64_t aside_before_ns = time_aside_ns();
    BusyMeter busy(clock_);
    const Outcome outcome = timed(lock, piece.record.compute, &computing_, busy, [&] {
      const LoopsInLine loops(how.in_line);
      computed = phases_.compute(piece.record.slot, how.alone);
    });
    piece.record.aside_ns = time_aside_ns() - aside_before_ns;
    piece.waits.compute_ns = busy.busy_ns();
    meter_.compute_meter().add(busy.busy_ns());
    if (outcome.too_big && !how.alone) {
      piece.state = Piece::State::for_alone;
      ++waiting_for_alone_;
      return;
    }
    is_done(piece);
    if (outcome.error) {
      fail(piece.index, outcome.error);
    } else if (computed == Computed::in_parts) {
      ++halvings_;
      plan_.too_big(piece.record.size);
    }
  }

  // --- committing

  bool can_commit() const {
    if (committing_ || in_order_.empty()) return false;
    const Piece& first = piece_in(in_order_.front());
    return first.state == Piece::State::done && !is_dead(first);
  }

  void commit_all(Lock& lock) {
    while (can_commit()) commit_first(lock);
  }

  void commit_first(Lock& lock) {
    mark();
    committing_ = true;
    Piece& piece = piece_in(in_order_.front());
    commit(lock, piece);
    mark();
    committing_ = false;
    in_order_.erase(in_order_.begin());
    free_slot(piece.record.slot);
    ask_for_workers();
    wake_driver();
  }

  void commit(Lock& lock, Piece& piece) {
    ChunkTimes& record = piece.record;
    auto [outcome, waited_ns] =
        timed_io(lock, piece, record.write, nullptr, [&] { phases_.commit(record.slot); });
    piece.waits.write_waited_ns = waited_ns;
    if (!outcome.error) {
      record.chunk = committed_++;
      Observation seen = observation_of(piece);
      const int halvings = std::exchange(halvings_, 0);
      // The controller takes a microsecond or two, and whoever is told may take its time.
      lock.unlock();
      outcome = attempt([&] {
        if (phases_.array_bytes) seen.array_bytes = phases_.array_bytes(record.slot);
        plan_.observe(seen);
        count_halvings(halvings);
        trace_.add(record);
      });
      lock = locked();
    }
    if (outcome.error) fail(piece.index, outcome.error);
  }

  // One thread at a time: who commits, and in the end the driver.
  void count_halvings(int halvings) {
    for (; halvings > 0; --halvings) trace_.add_halving();
  }

  Observation observation_of(Piece& piece) {
    const ChunkTimes& record = piece.record;
    if (piece.measured) {
      piece.waits.read_ns = record.read.length();
      piece.waits.write_ns = record.write.length();
      waits_.add(piece.waits);
    }
    return {.size = record.size,
            .target = record.decision.target,
            .ns = {.read = record.read_ns(), .compute = record.compute_ns(), .write = record.write.length()},
            .utilisation = record.utilisation,
            .device = has_io_ && (waits_.readers() > 0 || waits_.writer())};
  }

  // --- time

  // `threads` counts those that read or compute; null: this does neither.
  template <class F>
  Outcome timed(Lock& lock, Span& span, int* threads, BusyMeter& busy, F&& callback) {
    span = meter_.stamp();
    if (threads) enter(*threads, span.begin_ns);
    lock.unlock();
    const Outcome outcome = attempt([&] {
      const BusySpan counted(&busy);
      callback();
    });
    lock = locked();
    span.end_ns = meter_.now_ns();
    if (threads) leave(*threads, span.end_ns);
    return outcome;
  }

  struct TimedIo {
    Outcome outcome;
    int64_t waited_ns;  // for a device, if that is measured
  };
  template <class F>
  TimedIo timed_io(Lock& lock, const Piece& piece, Span& span, int* threads, F&& callback) {
    ThreadUse begin, end;
    const Outcome outcome = timed(lock, span, threads, io_, [&] {
      if (piece.measured) begin = clock_.thread_use();
      callback();
      if (piece.measured) end = clock_.thread_use();
    });
    // A thread that has not waited may have lost its processor all the same, to others.
    const bool has_waited = end.waits > begin.waits;
    return {outcome, has_waited ? std::max<int64_t>(span.length() - (end.busy_ns - begin.busy_ns), 0) : 0};
  }

  void enter(int& threads, int64_t now_ns) {
    count_waiting(now_ns);
    ++threads;
  }
  void leave(int& threads, int64_t now_ns) {
    count_waiting(now_ns);
    --threads;
  }
  // While nothing is computed because it is still being read.
  void count_waiting(int64_t now_ns) {
    if (reading_ > 0 && computing_ == 0) waited_ns_ += now_ns - waiting_from_ns_;
    waiting_from_ns_ = now_ns;
  }

  // How much time all threads together have had a piece; and have been busy, those included that help with its loops.
  struct WorkMark {
    int64_t had_ns;
    RunMeter::Mark busy;
  };
  WorkMark mark() {
    RunMeter::Mark busy = meter_.mark();
    busy.busy_ns += io_.busy_ns();
    had_ns_ += (working_ + committing_) * (busy.at_ns - counted_to_ns_);
    counted_to_ns_ = busy.at_ns;
    return {had_ns_, busy};
  }
  void begin_work() {
    mark();
    ++working_;
  }
  void end_work() {
    mark();
    --working_;
  }
  double utilisation_since(const WorkMark& begin) {
    const WorkMark end = mark();
    const double all = static_cast<double>(end.busy.at_ns - begin.busy.at_ns) * executor_.concurrency();
    const double had = all > 0 ? std::min(static_cast<double>(end.had_ns - begin.had_ns) / all, 1.0) : 1;
    return std::max(had, meter_.utilisation(begin.busy, end.busy));
  }

  Executor& executor_;
  const PiecePhases& phases_;
  const std::stop_token stop_;
  const ControllerConfig config_;

  alignas(64) std::mutex take_mutex_;  // held while a piece is taken; before mutex_
  alignas(64) std::mutex mutex_;
  std::condition_variable changed_;
  const Clock& clock_;
  ReadPlan plan_;
  DeviceWaits waits_;
  bool has_io_;  // there are threads beside those that compute
  RunMeter meter_;
  BusyMeter io_;  // reading and committing
  Trace own_trace_{0};
  Trace& trace_;
  std::vector<Piece> pieces_;  // by slot
  // Slots without a piece; the last used one on top, because its memory is warm.
  std::vector<int> free_;
  // Of the pieces in flight, in the order of the stream. Never more than there are slots, so it does not allocate.
  std::vector<int> in_order_;
  int workers_ = 0;             // tasks that have been submitted, or may have been, and have not ended
  int coming_ = 0;              // those of them that have not begun, and perhaps never will
  int new_ = 0;                 // those that have, and the driver, as long as they have had no piece
  int working_ = 0;             // pieces that are being read or computed
  int waiting_for_driver_ = 0;  // pieces that the driver is to compute, and has not begun
  int waiting_for_alone_ = 0;   // or being computed so; while there are such, nothing is taken
  int readers_ = 0;             // of these: they read ahead, or will
  int reading_ahead_ = 0;       // those of them that have come
  int committers_ = 0;          // likewise; one at most
  int ahead_ = 0;               // pieces that they read or have read, and nobody has begun to compute
  int read_ = 0;                // of them those that have been read
  bool has_asked_ = false;      // for any thread, of the pool or beside it
  bool taking_ = false, committing_ = false;
  bool driver_works_ = false, driver_waits_ = false;
  bool over_ = false, stopped_ = false;
  int held_ = 0;  // pieces that have been taken and are not done
  int64_t held_bytes_ = 0;
  int64_t next_index_ = 0;
  int64_t committed_ = 0;
  int halvings_ = 0;  // not yet told
  bool ended_ = false;
  bool dropped_ = false;
  int64_t failed_at_ = never;
  std::exception_ptr error_;
  int64_t had_ns_ = 0, counted_to_ns_ = 0;
  int reading_ = 0, computing_ = 0;              // threads; taking is reading
  int64_t waited_ns_ = 0, waiting_from_ns_ = 0;  // not yet told of any piece; counted up to then
};

void check(const PiecePhases& phases, const PipelineOptions& options) {
  if (!phases.take || !phases.read || !phases.compute || !phases.commit)
    throw std::invalid_argument("pieces are taken, read, computed and committed: a phase is missing");
  if (options.max_ring < 1) throw std::invalid_argument("pieces need at least one slot");
  if (options.memory_limit < 1) throw std::invalid_argument("a memory limit below one byte");
}

}  // namespace

int piece_slots(const Executor& executor) noexcept {
  return executor.runs_in_line() ? 1 : 16 * executor.concurrency();
}

PipelineResult run_piecewise(Executor& executor, const PiecePhases& phases, const PipelineOptions& options) {
  check(phases, options);
  return std::make_shared<Run>(executor, phases, options)->drive();
}

}  // namespace anabranch::scheduler
