#include "scheduler/waiting_threads.h"

#include <unistd.h>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "scheduler/threads.h"

namespace anabranch::scheduler {
namespace {

// Of one executor. Whoever finds none free does its work itself.
constexpr std::size_t most_threads = 64;

}  // namespace

class WaitingThreads::Pool {
 public:
  void submit(TaskList::Task task, const void* owner) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task), owner);
      if (idle_ < tasks_.size() && threads_.size() < most_threads) {
        try {
          threads_.emplace_back([this] { serve(); });
        } catch (const std::system_error& e) {
          tasks_.pop_back();
          throw NoThreads(std::string("a thread could not be started: ") + e.what());
        } catch (...) {
          tasks_.pop_back();
          throw;
        }
      }
    }
    changed_.notify_one();
  }

  void withdraw(const void* owner) noexcept {
    std::unique_lock lock(mutex_);
    const TaskList withdrawn = tasks_.take_all_of(owner);
    lock.unlock();  // what they hold goes without it
  }

  void close() noexcept {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      changed_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
      --idle_;
      if (tasks_.empty()) return;
      TaskList::Task task = tasks_.take_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  TaskList tasks_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool closed_ = false;
};

WaitingThreads::WaitingThreads() : process_(::getpid()), pool_(std::make_unique<Pool>()) {}

void WaitingThreads::submit(TaskList::Task task, const void* owner) {
  if (::getpid() != process_) throw NoThreads("this process was forked: it has no threads to read and write");
  pool_->submit(std::move(task), owner);
}

void WaitingThreads::withdraw(const void* owner) noexcept {
  if (pool_ && ::getpid() == process_) pool_->withdraw(owner);
}

WaitingThreads::~WaitingThreads() { stop(); }

void WaitingThreads::stop() noexcept {
  if (!pool_) return;
  if (::getpid() == process_) return pool_->close();
  // Its threads are not here to be waited for, and its lock may be held for ever.
  [[maybe_unused]] const Pool* const left = pool_.release();
}

}  // namespace anabranch::scheduler
