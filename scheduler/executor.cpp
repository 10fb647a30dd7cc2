#include "scheduler/executor.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "scheduler/busy.h"
#include "scheduler/concurrency.h"

namespace anabranch::scheduler {
namespace {

constexpr int most_threads = 4096;

int checked_threads(int threads) {
  if (threads == 0) return std::min(available_concurrency(), most_threads);
  if (threads < 0 || threads > most_threads) {
    throw std::invalid_argument("an executor takes 1 to " + std::to_string(most_threads) +
                                " threads, or 0 for all that are available; got " + std::to_string(threads));
  }
  return threads;
}

// One parallel_for. Pieces come off a counter: a thread that got a long piece takes fewer of the others. As
// they come in rising order, every piece below one that threw has been begun, and whoever began it finishes
// it: so the lowest failing piece is always among those that report.
struct Loop {
  const int64_t pieces;
  const FunctionRef<void(int64_t)> body;
  BusyMeter* const meter;
  alignas(64) std::atomic<int64_t> next{0};
  alignas(64) std::mutex mutex{};
  int64_t failed = std::numeric_limits<int64_t>::max();
  std::exception_ptr error{};

  void run() noexcept {
    int64_t piece = next.fetch_add(1, std::memory_order_relaxed);
    if (piece >= pieces) return;
    const BusySpan busy(meter);
    for (; piece < pieces; piece = next.fetch_add(1, std::memory_order_relaxed)) {
      try {
        body(piece);
      } catch (...) {
        next.store(pieces, std::memory_order_relaxed);
        const std::lock_guard lock(mutex);
        if (piece < failed) {
          failed = piece;
          error = std::current_exception();
        }
      }
    }
  }
};

}  // namespace

namespace {
thread_local bool loops_in_line = false;
}

bool Executor::runs_in_line() const noexcept { return concurrency_ == 1 || loops_in_line; }

LoopsInLine::LoopsInLine(bool in_line) noexcept : outer_(loops_in_line) { loops_in_line |= in_line; }
LoopsInLine::~LoopsInLine() { loops_in_line = outer_; }

Executor::Executor(int concurrency) : concurrency_(checked_threads(concurrency)) {}

void Executor::submit_waiting(Task task, const void* owner) {
  if (concurrency_ == 1)
    task();
  else
    waiting_.submit(std::move(task), owner);
}

void Executor::withdraw(const void* owner) noexcept {
  if (concurrency_ == 1) return;  // all has been done
  withdraw_from_queue(owner);
  waiting_.withdraw(owner);
}

void Executor::parallel_for(int64_t pieces, FunctionRef<void(int64_t)> body) {
  const int members = static_cast<int>(std::min<int64_t>(pieces, concurrency_));
  if (members <= 1 || loops_in_line) {
    for (int64_t piece = 0; piece < pieces; ++piece) body(piece);
    return;
  }
  Loop loop{.pieces = pieces, .body = body, .meter = current_meter()};
  {
    const BusySpan waiting(nullptr);
    team(members, [&loop] { loop.run(); });
  }
  if (loop.error) std::rethrow_exception(loop.error);
}

}  // namespace anabranch::scheduler
