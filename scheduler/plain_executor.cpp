// A pool of std::threads with one queue. Not the fastest, but every synchronisation in it is a mutex, so
// ThreadSanitizer sees all there is to see of the code above it.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "scheduler/executor.h"
#include "scheduler/task_queue.h"
#include "scheduler/threads.h"

namespace anabranch::scheduler {
namespace {

// The calls of one team. A task of a team may begin after the team has ended; then it does nothing.
class Team {
 public:
  explicit Team(FunctionRef<void()> member) : member_(member) {}

  void join() {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
      ++active_;
    }
    member_();
    const std::lock_guard lock(mutex_);
    if (--active_ == 0) left_.notify_one();
  }

  // The caller has found no more work: no more members are taken in, and those that are there are waited for.
  void close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    left_.wait(lock, [this] { return active_ == 0; });
  }

 private:
  const FunctionRef<void()> member_;
  std::mutex mutex_;
  std::condition_variable left_;
  int active_ = 0;
  bool closed_ = false;
};

class PlainExecutor final : public Executor {
 public:
  explicit PlainExecutor(int threads) : Executor(threads) {
    try {
      for (int i = 1; i < concurrency(); ++i) threads_.emplace_back([this] { queue_.serve(); });
    } catch (const std::system_error& e) {
      stop();
      throw NoThreads(std::string("a thread could not be started: ") + e.what());
    } catch (...) {
      stop();
      throw;
    }
  }

  ~PlainExecutor() override {
    stop_waiting();
    stop();
  }

  void submit(Task task, const void* owner) override {
    if (concurrency() == 1) {
      task();
    } else {
      queue_.push(std::move(task), owner);
    }
  }

 protected:
  void withdraw_from_queue(const void* owner) noexcept override { queue_.withdraw(owner); }
  void team(int members, FunctionRef<void()> member) override {
    const auto team = std::make_shared<Team>(member);
    try {
      for (int i = 1; i < members; ++i) queue_.push([team] { team->join(); }, team.get());
    } catch (...) {
      // Fewer helpers, then; but none may outlive this call.
      team->close();
      queue_.withdraw(team.get());
      throw;
    }
    member();
    team->close();
    queue_.withdraw(team.get());
  }

 private:
  void stop() {
    queue_.close();
    for (std::thread& thread : threads_) thread.join();
  }

  TaskQueue queue_;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<Executor> make_plain_executor(int threads) {
  return std::make_unique<PlainExecutor>(threads);
}

}  // namespace anabranch::scheduler
