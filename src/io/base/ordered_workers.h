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
/// time, in order; false at the end), `work(state)` runs beside the others, and `commit(state, step)` is called for
/// each step from 0 on, in each step for one piece at a time in the order of taking. So the steps of pieces that follow
/// one another run beside each other; but where `alone(state)`, the first one waits until all pieces before have been
/// through all of them. The first exception in that order stops all and is thrown again here. ResourceError where there
/// are no such threads.
template <class State, class Take, class Work, class Alone, class Commit>
void run_ordered_in_steps(int threads, int steps, Take take, Work work, Alone alone, Commit commit) {
  std::mutex mutex;
  // Each thread has one piece, and so those that are under way follow one another: each waits at a place of its own,
  // and of many threads only the one is woken whose turn it is.
  std::vector<std::condition_variable> turn_changed(static_cast<std::size_t>(threads));
  std::vector<std::int64_t> turns(static_cast<std::size_t>(steps));
  std::int64_t taken = 0;
  bool stopped = false;
  std::exception_ptr error;

  const auto place_of = [&](std::int64_t piece) -> std::condition_variable& {
    return turn_changed[static_cast<std::size_t>(piece % threads)];
  };
  const auto stop_locked = [&](std::exception_ptr why) {
    if (stopped) return;
    stopped = true;
    error = std::move(why);
    for (std::condition_variable& place : turn_changed) place.notify_all();
  };
  const auto stop = [&](std::exception_ptr why) {
    const std::lock_guard lock(mutex);
    stop_locked(std::move(why));
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
      std::unique_lock lock(mutex);
      const auto wait_for = [&](int step) {
        const std::int64_t& turn = turns[static_cast<std::size_t>(step)];
        place_of(mine).wait(lock, [&] { return stopped || turn == mine; });
        return !stopped;
      };
      for (int step = 0; step < steps && more && !failure; ++step) {
        if (!wait_for(step == 0 && alone(state) ? steps - 1 : step)) return;
        lock.unlock();  // others may take meanwhile; no other thread can commit in this step
        try {
          commit(state, step);
        } catch (...) {
          failure = std::current_exception();
        }
        lock.lock();
        if (failure) break;
        ++turns[static_cast<std::size_t>(step)];
        place_of(mine + 1).notify_one();
      }
      if (more && !failure) continue;
      // The end of the pieces and failures take their turn too, so that earlier pieces are committed first.
      if (wait_for(steps - 1)) stop_locked(failure);
      return;
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

/// The same with one step: commit(state).
template <class State, class Take, class Work, class Commit>
void run_ordered(int threads, Take take, Work work, Commit commit) {
  run_ordered_in_steps<State>(
      threads, 1, take, work, [](const State&) { return false; }, [&](State& state, int) { commit(state); });
}

}  // namespace anabranch::io::detail
