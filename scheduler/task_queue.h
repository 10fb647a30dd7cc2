// Tasks that were submitted and have not begun. Shared by an executor and the threads that serve it, so that
// a thread which comes late, after the executor is gone, finds an empty queue instead of freed memory.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "scheduler/busy.h"
#include "scheduler/executor.h"

namespace anabranch::scheduler {

class TaskQueue {
 public:
  void push(Executor::Task task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
  }

  /// Runs the oldest task here; false if there was none.
  bool run_one() {
    std::unique_lock lock(mutex_);
    if (tasks_.empty()) return false;
    run_front(lock);
    return true;
  }

  /// Serves the queue until it is closed and empty: the life of a worker.
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      run_front(lock);
    }
  }

  /// Runs here what no thread has begun, and waits for the rest.
  void drain() {
    while (run_one()) {
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return running_ == 0; });
  }

  void close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }

 private:
  void run_front(std::unique_lock<std::mutex>& lock) noexcept {
    Executor::Task task = std::move(tasks_.front());
    tasks_.pop_front();
    ++running_;
    lock.unlock();
    {
      /// The thread may be waiting inside somebody's measured work: the task's time does not count there.
      const BusySpan foreign(nullptr);
      task();
      task = nullptr;
    }
    lock.lock();
    if (--running_ == 0) changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Executor::Task> tasks_;
  int running_ = 0;
  bool closed_ = false;
};

}  // namespace anabranch::scheduler
