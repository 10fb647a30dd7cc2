// Threads for what may wait for a device: reading and writing. They are beside those that compute, so that one which
// waits leaves its processor to them.
#pragma once

#include <sys/types.h>

#include <memory>

#include "scheduler/task_list.h"

namespace anabranch::scheduler {

/// As many as have had to wait at the same time. Thread-safe. A process that was forked has none of them, and
/// starts none: `submit` throws NoThreads there, as where the system gives none.
class WaitingThreads {
 public:
  WaitingThreads();
  ~WaitingThreads();
  WaitingThreads(const WaitingThreads&) = delete;
  WaitingThreads& operator=(const WaitingThreads&) = delete;

  /// Throws std::bad_alloc or NoThreads, and then has not taken the task.
  void submit(TaskList::Task task, const void* owner);
  /// Those of `owner` that have not begun never will.
  void withdraw(const void* owner) noexcept;
  /// Runs what has not begun, and waits for the rest.
  void stop() noexcept;

 private:
  class Pool;

  const pid_t process_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace anabranch::scheduler
