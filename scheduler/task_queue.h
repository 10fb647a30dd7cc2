// Tasks that were submitted and have not begun. Shared by an executor and the threads that serve it, so that
// a thread which comes late, after the executor is gone, finds an empty queue instead of freed memory.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>

#include "scheduler/busy.h"
#include "scheduler/task_list.h"

namespace anabranch::scheduler {

class TaskQueue {
 public:
  void push(TaskList::Task task, const void* owner) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task), owner);
    }
    changed_.notify_one();
  }

  /// Those of `owner` that have not begun never will.
  void withdraw(const void* owner) noexcept {
    std::unique_lock lock(mutex_);
    const TaskList withdrawn = tasks_.take_all_of(owner);
    lock.unlock();  // what they hold goes without it
  }

  // A queue that no thread serves is served by visits, which somebody arranges: as many as there are tasks, and no
  // more, however many tasks have been withdrawn meanwhile.

  /// Whether there are fewer visits to come than tasks; then the caller arranges one.
  bool wants_visit() {
    const std::lock_guard lock(mutex_);
    if (visits_ >= tasks_.size()) return false;
    ++visits_;
    return true;
  }
  /// The visit has come: runs the oldest task, if there is one.
  void visit() {
    std::unique_lock lock(mutex_);
    one_visit_less();
    if (!tasks_.empty()) run_front(lock);
  }
  /// It may not come.
  void no_visit() {
    const std::lock_guard lock(mutex_);
    one_visit_less();
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
    std::unique_lock lock(mutex_);
    while (!tasks_.empty()) run_front(lock);
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
  /// One that was given up may come all the same.
  void one_visit_less() noexcept {
    if (visits_ > 0) --visits_;
  }

  void run_front(std::unique_lock<std::mutex>& lock) noexcept {
    TaskList::Task task = tasks_.take_front();
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
  TaskList tasks_;
  std::size_t visits_ = 0;  ///< to come
  int running_ = 0;
  bool closed_ = false;
};

}  // namespace anabranch::scheduler
