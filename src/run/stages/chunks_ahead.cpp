#include "run/stages/chunks_ahead.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "ir/cancelled.h"
#include "ir/device_error.h"
#include "scheduler/clock.h"
#include "scheduler/threads.h"

namespace anabranch::runtime {

namespace {

/// Chunks that have been read and wait to be computed: one for the next turn, one that is there when that ends.
constexpr std::size_t most_read = 2;

/// While it lives, a turn is somebody's.
template <class Turn>
class Running {
 public:
  explicit Running(Turn& turn) : turn_(turn) { turn_.state = Turn::State::running; }
  ~Running() { turn_.state = Turn::State::idle; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Turn& turn_;
};

}  // namespace

ChunksAhead::ChunksAhead(RunContext& context, RunBackend& backend, int number, GlobalValues& global,
                         const RunBody& run_body, const std::optional<ReadAhead>& bounds)
    : context_(context),
      log_(context, backend),
      reader_(std::make_unique<StageReader>(context, backend, number, global, run_body)),
      sizes_(std::make_unique<ReadSizes>(context, *reader_, bounds)) {}

ChunksAhead::~ChunksAhead() = default;

/// Views of memory cost nothing, and what feeds a stage computes, too: who computes reads them.
bool ChunksAhead::reads_in_line() const {
  return reader_->input().sources().in_memory() || reader_->input().is_fed();
}

// ---- The taker

void ChunksAhead::begin() {
  if (std::exchange(begun_, true)) return;
  log_.begin(reader_->input(), {.progress = false});
  on_stop_.emplace(context_.options.stop, [this] {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
  });
  if (!sizes_->gathers()) return;
  try {
    waiting_reader_ = std::thread([this] { serve_reads(); });
  } catch (const std::system_error& e) {
    throw scheduler::NoThreads(std::string("a thread could not be started: ") + e.what());
  }
}

void ChunksAhead::raise_if_stopped() const {
  if (context_.options.stop.stop_requested()) ir::raise_cancelled();
}

bool ChunksAhead::next(std::vector<HostArray>& item) {
  begin();
  raise_if_stopped();
  scheduler::Ahead& ahead = sizes_->ahead();
  std::int64_t now = scheduler::steady_clock().now_ns();
  ahead.asks(now);
  bool handed_out = false;
  while (!current_ || current_->items() == 0) {
    if (!hand_out()) {
      log_.complete();
      return false;
    }
    handed_out = true;
  }
  if (handed_out) now = scheduler::steady_clock().now_ns();
  current_->take(item);
  ahead.takes(now);
  if (sizes_->beside() && (handed_out || ahead.may_resume())) {
    const Lock lock(mutex_);
    offer_both();
  }
  return true;
}

/// The next chunk is the taker's; false at the end.
bool ChunksAhead::hand_out() {
  current_.reset();
  Computed chunk;
  {
    Lock lock(mutex_);
    taker_waits_ = true;
    changed_.notify_all();
    const struct Waits {
      bool& waits;
      ~Waits() { waits = false; }
    } waits{taker_waits_};
    while (computed_.empty())
      if (!make_one(lock)) return false;
    chunk = std::move(computed_.front());
    computed_.pop_front();
    sizes_->ahead().was_handed_out(chunk.results->bytes());
  }
  current_ = std::move(chunk.results);
  log_.tell_progress(chunk.size);
  return true;
}

/// Does what is next for a chunk to be there, or waits for who does it. False: there will be none.
bool ChunksAhead::make_one(Lock& lock) {
  raise_if_stopped();
  if (failure_) std::rethrow_exception(failure_);
  if (computing_.state == Turn::State::running) {
    changed_.wait(lock);
  } else if (has_items()) {
    const Running running(computing_);
    waits_for_memory_ = false;
    compute_next(lock, true);
  } else if (read_failure_) {
    std::rethrow_exception(read_failure_);
  } else if (over_) {
    return false;
  } else if (reading_.state == Turn::State::running || sizes_->gathers()) {
    changed_.wait(lock);
  } else {
    const Running running(reading_);
    waits_for_memory_ = false;
    read_next(lock);
  }
  return true;
}

void ChunksAhead::stop() noexcept {
  on_stop_.reset();
  bool task_waits = false;
  {
    const Lock lock(mutex_);
    stopped_ = true;
    task_waits = reading_.task_waiting || computing_.task_waiting;
    changed_.notify_all();
  }
  if (waiting_reader_.joinable()) waiting_reader_.join();
  if (task_waits) context_.executor.withdraw(this);
  Lock lock(mutex_);
  changed_.wait(lock, [this] {
    return reading_.state != Turn::State::running && computing_.state != Turn::State::running;
  });
  log_.end(busy_.busy_ns());
  // A task that begins later finds nothing to do.
  reading_.state = computing_.state = Turn::State::idle;
  current_.reset();
  computed_.clear();
  at_work_ = {};
  read_.clear();
  sizes_.reset();
  reader_.reset();
}

// ---- Threads beside

/// Lets another thread take a turn. If none can be asked, the taker does it when it needs it.
void ChunksAhead::offer(Turn& turn, bool (ChunksAhead::*may)(), void (ChunksAhead::*task)()) {
  if (turn.state != Turn::State::idle || !(this->*may)()) return;
  turn.state = Turn::State::offered;
  if (turn.task_waiting) return;
  try {
    const auto run = [self = shared_from_this(), task] { (*self.*task)(); };
    if (&turn == &reading_)
      context_.executor.submit_waiting(run, this);
    else
      context_.executor.submit(run, this);
    turn.task_waiting = true;
  } catch (const std::exception&) {  // no memory, no thread
    turn.state = Turn::State::idle;
  }
}

void ChunksAhead::offer_both() {
  if (!sizes_->beside()) return;
  offer(computing_, &ChunksAhead::may_compute, &ChunksAhead::compute_task);
  if (sizes_->gathers())
    changed_.notify_all();
  else if (!reads_in_line())
    offer(reading_, &ChunksAhead::may_read, &ChunksAhead::read_task);
}

void ChunksAhead::read_task() {
  Lock lock(mutex_);
  reading_.task_waiting = false;
  if (reading_.state != Turn::State::offered) return;
  const Running running(reading_);
  while (may_read()) read_next(lock);
  changed_.notify_all();
}

void ChunksAhead::compute_task() {
  Lock lock(mutex_);
  computing_.task_waiting = false;
  if (computing_.state != Turn::State::offered) return;
  const Running running(computing_);
  while (may_compute()) compute_next(lock, false);
  changed_.notify_all();
}

/// The life of the thread that waits for a live source.
void ChunksAhead::serve_reads() {
  Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopped_ || over_ || read_failure_ || may_read(); });
    if (stopped_ || over_ || read_failure_) return;
    const Running running(reading_);
    read_next(lock);
  }
}

// ---- Reading

/// The taker waits, and nothing would come without another read.
bool ChunksAhead::is_wanted() const {
  return taker_waits_ && computed_.empty() && computing_.state != Turn::State::running && !has_items();
}

bool ChunksAhead::may_read() {
  if (stopped_ || over_ || read_failure_ || failure_) return false;
  if (!sizes_->gathers() && read_.size() >= most_read) return false;
  const bool wanted = is_wanted();
  return (wanted || !waits_for_memory_) && sizes_->has_room(wanted);
}

/// What is read now waits until the taker has taken all that there is. He has, where it is wanted: then what has been
/// gathered is computed.
void ChunksAhead::has_no_memory(bool wanted) {
  if (!wanted)
    waits_for_memory_ = true;
  else if (!read_.empty())
    no_room_for_more_ = true;
  else
    read_failure_ = std::current_exception();
}

void ChunksAhead::read_next(Lock& lock) {
  const bool wanted = is_wanted();
  Read read;
  try {
    read.decision = sizes_->next(wanted);
    read.span.begin_ns = scheduler::steady_clock().now_ns();
    lock.unlock();
    const auto next = [&] { return reader_->read(read.decision.target, sizes_->at_once(), read.items); };
    const bool more = wanted ? with_room(context_, true, next) : next();
    read.span.end_ns = scheduler::steady_clock().now_ns();
    lock.lock();
    if (more) {
      const scheduler::ChunkSize size = chunk_size_of(read.items.chunks);
      read.bytes = size.bytes;
      read_.push_back(std::move(read));
      items_read_ += size.items;
      sizes_->was_read(size);
    } else {
      over_ = true;
    }
  } catch (const ItemTooBig&) {
    if (!lock) lock.lock();
    has_no_memory(wanted);
  } catch (const scheduler::BudgetExceeded&) {
    if (!lock) lock.lock();
    has_no_memory(wanted);
  } catch (...) {
    if (!lock) lock.lock();
    read_failure_ = std::current_exception();
  }
  if (!taker_waits_) offer_both();
  changed_.notify_all();
}

// ---- Computing

bool ChunksAhead::has_items() const {
  if (!at_work_.items.all_computed()) return true;
  if (read_.empty()) return false;
  // Gathered items are fewer than they should be where more may not be held, or cannot.
  return !sizes_->gathers() || over_ || read_failure_ || no_room_for_more_ || sizes_->ahead().is_full() ||
         sizes_->of_gathered(items_read_) > 0;
}

bool ChunksAhead::may_compute() {
  return !stopped_ && !failure_ && !waits_for_memory_ && !sizes_->ahead().is_full() &&
         sizes_->computes_beside() &&
         (has_items() || (reads_in_line() && reading_.state == Turn::State::idle && may_read()));
}

/// What is computed next: a chunk, or of gathered items as many as there are.
void ChunksAhead::take_items(Lock& lock) {
  const std::int64_t whole = sizes_->gathers() ? sizes_->of_gathered(items_read_) : 0;
  const std::int64_t most = sizes_->gathers() && whole == 0 ? items_read_ : whole;
  no_room_for_more_ = false;
  std::vector<ReadItems> gathered;
  std::int64_t items = 0;
  do {
    Read& read = read_.front();
    if (items == 0) at_work_ = {.items = {}, .decision = read.decision, .span = read.span};
    at_work_.span.end_ns = read.span.end_ns;
    at_work_.bytes += read.bytes;
    items += read.items.items();
    gathered.push_back(std::move(read.items));
    read_.pop_front();
  } while (!read_.empty() && items + read_.front().items.items() <= most);
  items_read_ -= items;
  offer_both();
  lock.unlock();
  at_work_.items = gathered.size() == 1 ? std::move(gathered[0]) : reader_->joined(std::move(gathered));
}

/// `alone`: by the taker, who has given back all that was handed out to it.
void ChunksAhead::compute_next(Lock& lock, bool alone) {
  if (!has_items()) {
    const Running running(reading_);
    read_next(lock);
    if (!has_items()) return;
  }
  std::exception_ptr failure;
  bool memory_is_short = false, in_halves = false;
  std::int64_t next = 0;
  scheduler::ChunkTimes times;
  times.in_flight = static_cast<int>(read_.size() + computed_.size()) + 1;
  try {
    if (at_work_.items.all_computed())
      take_items(lock);
    else
      lock.unlock();
    next = at_work_.items.next;
    if (!std::exchange(part_begun_, true)) log_.next_chunk();
    Computed chunk;
    chunk.results = std::make_unique<ItemResults>(context_, reader_->input().stage());
    times.decision = at_work_.decision;
    times.compute.begin_ns = scheduler::steady_clock().now_ns();
    times.read = next == 0 ? at_work_.span : scheduler::Span{times.compute.begin_ns, times.compute.begin_ns};
    const std::int64_t busy = busy_.busy_ns();
    {
      const scheduler::BusySpan span(&busy_);
      times.size = reader_->compute(at_work_.items, *chunk.results);
      chunk.results->close();
    }
    times.compute.end_ns = scheduler::steady_clock().now_ns();
    chunk.size = times.size;
    const std::int64_t busy_ns = busy_.busy_ns() - busy;
    times.utilisation = std::min(
        static_cast<double>(busy_ns) / static_cast<double>(std::max<std::int64_t>(times.compute.length(), 1) *
                                                           context_.executor.concurrency()),
        1.0);
    log_.add(times);
    scheduler::ChunkSize read = times.size;
    read.bytes = at_work_.items.all_computed() ? at_work_.bytes : 0;  // of a part all stays where it is
    if (at_work_.items.all_computed()) at_work_.items = {};
    part_begun_ = false;
    lock.lock();
    sizes_->was_computed(times, read, busy_ns, chunk.results->items(), chunk.results->bytes());
    computed_.push_back(std::move(chunk));
  } catch (const scheduler::BudgetExceeded&) {
    failure = std::current_exception();
    memory_is_short = in_halves = true;
  } catch (const ir::DeviceError&) {
    failure = std::current_exception();
  } catch (const RunError&) {
    failure = std::current_exception();
    in_halves = context_.gives_before_failure;
  } catch (...) {
    failure = std::current_exception();
  }
  if (!lock) lock.lock();
  if (failure) {
    at_work_.items.next = next;
    if (memory_is_short && !alone) {
      waits_for_memory_ = true;
    } else {
      if (memory_is_short) sizes_->too_big(at_work_.items.size_of_part());
      if (!in_halves || !at_work_.items.halve()) failure_ = failure;
    }
  }
  changed_.notify_all();
}

}  // namespace anabranch::runtime
