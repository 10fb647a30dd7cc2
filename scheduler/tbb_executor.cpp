// The default executor: oneTBB, in an arena of its own.
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <utility>

#include "scheduler/executor.h"
#include "scheduler/task_queue.h"
#include "scheduler/threads.h"

namespace anabranch::scheduler {
namespace {

// oneTBB starts no more workers than it counts processors, and complains about arenas that want more,
// unless a global_control allows it; of several, the smallest holds. So one control for the process
// allows what the largest of our executors asks for: a user who wants more threads than processors has a
// reason, tests for example.
class MoreWorkers {
 public:
  explicit MoreWorkers(int threads) {
    const std::lock_guard lock(all().mutex);
    entry_ = all().wanted.insert(threads);
    all().update();
  }
  ~MoreWorkers() {
    const std::lock_guard lock(all().mutex);
    all().wanted.erase(entry_);
    try {
      all().update();
    } catch (const std::bad_alloc&) {  // NOLINT: a higher limit than is needed stays
    }
  }
  MoreWorkers(const MoreWorkers&) = delete;
  MoreWorkers& operator=(const MoreWorkers&) = delete;

 private:
  struct All {
    std::mutex mutex;
    std::multiset<int> wanted;
    int allowed = 0;
    std::unique_ptr<tbb::global_control> control;

    void update() {
      const int most = wanted.empty() ? 0 : *wanted.rbegin();
      if (most == allowed) return;
      // Made before the old one goes, so that the limit is never lower than both.
      std::unique_ptr<tbb::global_control> next;
      if (most > tbb::info::default_concurrency()) {
        next = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                     static_cast<std::size_t>(most));
      }
      control = std::move(next);
      allowed = most;
    }
  };
  static All& all() {
    // Never destroyed: programs in static storage give their
    // threads back after any destructor here would have run.
    static All& instance = *new All;
    return instance;
  }

  std::multiset<int>::iterator entry_;
};

// What oneTBB throws of its own where the system refuses it a thread is a std::runtime_error.
template <class F>
void with_our_errors(F&& use_tbb) {
  try {
    use_tbb();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& e) {
    throw NoThreads(std::string("oneTBB: ") + e.what());
  }
}

class TbbExecutor final : public Executor {
 public:
  // oneTBB does not survive that it gets no thread or no memory: an arena whose initialisation threw spins
  // for ever when it is used again, and a worker that cannot start another one ends the process. So the
  // threads are tried out first, and the arena is initialised here: a constructor that throws leaves no arena
  // behind.
  explicit TbbExecutor(int threads) : Executor(threads), workers_(concurrency()), arena_(concurrency()) {
    if (concurrency() == 1) return;  // all is done inline
    try_threads(concurrency() - 1);
    with_our_errors([this] { arena_.initialize(); });
  }

  ~TbbExecutor() override {
    stop_waiting();
    queue_->drain();
  }

  void submit(Task task, const void* owner) override {
    if (concurrency() == 1) {
      task();
      return;
    }
    queue_->push(std::move(task), owner);
    while (queue_->wants_visit()) {  // more than once where one could not be arranged before
      try {
        // A late worker finds nothing to do if drain() was quicker.
        with_our_errors([this] { arena_.enqueue([queue = queue_] { queue->visit(); }); });
      } catch (...) {
        queue_->no_visit();
        throw;
      }
    }
  }

 protected:
  void withdraw_from_queue(const void* owner) noexcept override { queue_->withdraw(owner); }
  void team(int members, FunctionRef<void()> member) override {
    with_our_errors([&] { run_team(members, member); });
  }

 private:
  void run_team(int members, FunctionRef<void()> member) {
    arena_.execute([&] {
      // A thread that waits for the end of this loop must not pick up something else meanwhile: not a piece
      // of an outer loop (it may hold what that piece needs), not a read that takes long.
      tbb::this_task_arena::isolate([&] {
        // Nor may the cancellation of a user's own oneTBB work cut our loops short.
        tbb::task_group_context context(tbb::task_group_context::isolated);
        tbb::parallel_for(
            tbb::blocked_range<int>(0, members, 1), [&](const tbb::blocked_range<int>&) { member(); },
            tbb::simple_partitioner{}, context);
      });
    });
  }

  MoreWorkers workers_;
  tbb::task_arena arena_;
  std::shared_ptr<TaskQueue> queue_ = std::make_shared<TaskQueue>();
};

}  // namespace

std::unique_ptr<Executor> make_tbb_executor(int threads) { return std::make_unique<TbbExecutor>(threads); }

}  // namespace anabranch::scheduler
