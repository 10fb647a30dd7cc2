#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <anabranch/error.h>

/// A small pipeline for work that is cut into pieces in order, done on several threads, and put together in
/// order again: so its result does not depend on the number of threads.
namespace anabranch::io::detail {

/// On each of `threads` threads, with a State of its own: `take(state)` gets the next piece (one thread at a
/// time, in order; false at the end), `work(state)` runs beside the others, `commit(state)` again one at a
/// time in the order of taking. The first exception in that order stops all and is thrown again here.
/// ResourceError where there are no such threads.
template <class State, class Take, class Work, class Commit>
void run_ordered(int threads, Take take, Work work, Commit commit) {
  std::mutex mutex;
  std::condition_variable turn_changed;
  std::int64_t taken = 0;
  std::int64_t turn = 0;
  bool stopped = false;
  std::exception_ptr error;

  const auto stop = [&](std::exception_ptr why) {
    const std::lock_guard lock(mutex);
    if (stopped) return;
    stopped = true;
    error = std::move(why);
    turn_changed.notify_all();
  };
  const auto loop = [&] {
    std::optional<State> own;
    try {
      own.emplace();
    } catch (...) {
      return stop(std::current_exception());
    }
    State& state = *own;
    for (;;) {
      std::exception_ptr failure;
      bool more = false;
      std::int64_t mine;
      {
        std::lock_guard lock(mutex);
        if (stopped) return;
        mine = taken++;
        try {
          more = take(state);
        } catch (...) {
          failure = std::current_exception();
        }
      }
      if (more) {
        try {
          work(state);
        } catch (...) {
          failure = std::current_exception();
        }
      }
      // The end of the pieces and failures take their turn too, so that earlier pieces are committed first.
      std::unique_lock lock(mutex);
      turn_changed.wait(lock, [&] { return stopped || turn == mine; });
      if (stopped) return;
      if (more && !failure) {
        lock.unlock();  // others may take meanwhile; no other thread can commit
        try {
          commit(state);
        } catch (...) {
          failure = std::current_exception();
        }
        lock.lock();
      }
      ++turn;
      if (failure || !more) {
        stopped = true;
        error = failure;
      }
      turn_changed.notify_all();
      if (stopped) return;
    }
  };

  std::vector<std::jthread> others;
  try {
    for (int i = 1; i < threads; ++i) others.emplace_back(loop);
  } catch (const std::system_error& e) {
    stop(nullptr);
    throw ResourceError(std::string("a thread could not be started: ") + e.what());
  } catch (...) {
    stop(nullptr);
    throw;
  }
  loop();
  others.clear();
  if (error) std::rethrow_exception(error);
}

}  // namespace anabranch::io::detail
