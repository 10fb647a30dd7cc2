#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "run/stages/item_results.h"
#include "run/stages/read_sizes.h"
#include "run/stages/stage_log.h"
#include "run/stages/stage_reader.h"
#include "scheduler/busy.h"
#include "scheduler/clock.h"

/// A stage whose items are taken one by one, while the next ones are read and computed.
namespace anabranch::runtime {

/// Reads are one at a time and in order, so are computes. Each is a *turn*, which is offered to the threads of the run;
/// the thread that takes items does itself what it waits for and nobody has begun. So it waits only for what is under
/// way, also where all other threads are taken. A live source is waited for by a thread of its own.
///
/// What a thread beside cannot do because memory is short waits until the taker has taken all that there is, and does it
/// alone.
class ChunksAhead : public std::enable_shared_from_this<ChunksAhead> {
 public:
  /// `number`: of the plan's stages.
  ChunksAhead(RunContext& context, RunBackend& backend, int number, GlobalValues& global,
              const RunBody& run_body, const std::optional<ReadAhead>& bounds);
  ~ChunksAhead();

  /// The arrays of the next item; false at the end. What was handed out before is no longer reserved.
  bool next(std::vector<HostArray>& item);
  /// Waits for what is under way, and releases all. A read or compute that looks at the run's stop token ends early if
  /// that has been requested.
  void stop() noexcept;

 private:
  using Lock = std::unique_lock<std::mutex>;
  /// Work that one thread at a time does.
  struct Turn {
    enum class State { idle, offered, running };
    State state = State::idle;
    bool task_waiting = false;  ///< handed to the executor and not yet begun
  };
  /// A chunk, or what is left of one.
  struct Read {
    ReadItems items;
    scheduler::Decision decision;
    scheduler::Span span;
    std::int64_t bytes =
        0;  ///< that are counted as read and not computed; joined or parted chunks may have others
  };
  struct Computed {
    std::unique_ptr<ItemResults> results;
    scheduler::ChunkSize size;  ///< of what they were computed from
  };

  void begin();
  bool hand_out();
  bool make_one(Lock& lock);
  void raise_if_stopped() const;
  bool reads_in_line() const;

  void offer(Turn& turn, bool (ChunksAhead::*may)(), void (ChunksAhead::*task)());
  void offer_both();
  void read_task();
  void compute_task();
  void serve_reads();

  bool is_wanted() const;
  bool may_read();
  void has_no_memory(bool wanted);
  void read_next(Lock& lock);
  bool has_items() const;
  bool may_compute();
  void compute_next(Lock& lock, bool alone);
  void take_items(Lock& lock);

  RunContext& context_;
  StageLog log_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<StageReader> reader_;
  std::unique_ptr<ReadSizes> sizes_;
  Turn reading_, computing_;
  std::deque<Read> read_;        ///< not computed, in the order of the stream
  std::int64_t items_read_ = 0;  ///< in `read_`
  scheduler::BusyMeter busy_{scheduler::steady_clock()};
  Read at_work_;                   ///< whose turn it is to compute uses it without the lock
  bool part_begun_ = false;        ///< of it, in the trace
  std::deque<Computed> computed_;  ///< not handed out
  bool taker_waits_ = false;
  bool over_ = false;                ///< the sources have no more
  bool no_room_for_more_ = false;    ///< beside the items that have been gathered
  bool waits_for_memory_ = false;    ///< what is next, until the taker has taken all that there is
  std::exception_ptr read_failure_;  ///< comes after all that has been read
  std::exception_ptr failure_;       ///< comes after all that has been computed
  bool stopped_ = false;

  // The taker's.
  bool begun_ = false;
  std::unique_ptr<ItemResults> current_;
  std::thread waiting_reader_;  ///< for a live source
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace anabranch::runtime
