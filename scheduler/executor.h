// The threads of the runtime, behind an interface without any threading library in it.
//
// Compiled kernels, lifted programs and the pipeline ask for two things only: run these pieces in parallel
// and come back, and run this phase somewhere else meanwhile. Two executors answer: oneTBB (the default,
// composes with a user's own TBB code) and a plain pool of std::thread, in which ThreadSanitizer sees
// every synchronisation.
//
// Results never depend on which executor runs, on the number of threads or on which thread gets which piece:
// pieces are cut before they come here, and only where no border changes a bit.
#pragma once

#include <cstdint>
#include <memory>

#include "scheduler/function_ref.h"
#include "scheduler/task_list.h"
#include "scheduler/waiting_threads.h"

namespace anabranch::scheduler {

class Executor {
 public:
  using Task = TaskList::Task;

  virtual ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Threads that work at the same time in one parallel_for, the caller's included; at least 1.
  int concurrency() const noexcept { return concurrency_; }

  /// Calls body(0) ... body(pieces - 1), each once, and returns when all are done. Pieces are handed out one
  /// at a time in rising order to whichever thread is free, so uneven pieces balance; make a piece 20 us or
  /// longer. One piece, or concurrency 1, runs inline in order. May be nested, and called from many threads at
  /// once. If pieces throw, no further pieces are begun and the exception of the lowest piece comes out with
  /// its type: the same one as a serial loop would throw.
  void parallel_for(int64_t pieces, FunctionRef<void(int64_t piece)> body);

  /// Whether a loop that this thread begins now runs on it alone, whatever its pieces are.
  bool runs_in_line() const noexcept;
  /// Threads that may work in such a loop.
  int concurrency_here() const noexcept { return runs_in_line() ? 1 : concurrency_; }

  /// Runs `task` some time on another thread and returns at once; with concurrency 1 runs it now. The task
  /// must not throw. Throws std::bad_alloc or NoThreads: then the task may run all the same. A task may start
  /// late when all threads are busy, even never before the executor is destroyed: whoever waits for one must
  /// be able to do its work too (as the pipeline does), else two runs inside one saturated arena would
  /// wait for each other. The destructor runs what has not begun, unless it was withdrawn, and waits for the rest.
  /// `owner`: who may withdraw the task, which keeps it alive meanwhile (else another one could be in its place); null:
  /// nobody.
  virtual void submit(Task task, const void* owner = nullptr) = 0;

  /// The same for a task that may wait for a device: it runs on a thread beside those that compute, and takes none of
  /// them.
  void submit_waiting(Task task, const void* owner = nullptr);

  /// Tasks of `owner` that have not begun never will; those that have go on. Without it they would wait, with what they
  /// hold, for a thread that is busy: thousands of short runs inside a long one leave thousands of them.
  void withdraw(const void* owner) noexcept;

 protected:
  explicit Executor(int concurrency);

  virtual void withdraw_from_queue(const void* owner) noexcept = 0;

  /// Calls `member` on this thread and, as far as threads are free,
  /// on up to members - 1 others at the same time; returns when every call that was begun has ended.
  /// `member` does not throw and may be called in vain. Throws std::bad_alloc or NoThreads.
  virtual void team(int members, FunctionRef<void()> member) = 0;

  /// For destructors of executors, first of all: tasks that wait may still ask for threads.
  void stop_waiting() noexcept { waiting_.stop(); }

 private:
  int concurrency_;
  WaitingThreads waiting_;
};

/// While it lives, with `in_line`, loops that this thread begins run on it alone: for threads that each have work of
/// their own.
class LoopsInLine {
 public:
  explicit LoopsInLine(bool in_line) noexcept;
  ~LoopsInLine();
  LoopsInLine(const LoopsInLine&) = delete;
  LoopsInLine& operator=(const LoopsInLine&) = delete;

 private:
  bool outer_;
};

/// threads = 0 means available_concurrency(). Throws std::invalid_argument for a negative number or one above
/// 4096, NoThreads where the system does not give so many. A oneTBB task_arena of its own: works on any
/// thread, inside a user's arena too.
std::unique_ptr<Executor> make_tbb_executor(int threads = 0);
/// A pool of threads - 1 std::threads.
std::unique_ptr<Executor> make_plain_executor(int threads = 0);

}  // namespace anabranch::scheduler
