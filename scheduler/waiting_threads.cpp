#include "scheduler/waiting_threads.h"

#include <string>
#include <system_error>
#include <utility>

#include "scheduler/threads.h"

namespace anabranch::scheduler {
namespace {

// Of one executor. Whoever finds none free does its work itself.
constexpr std::size_t most_threads = 64;

}  // namespace

void WaitingThreads::submit(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
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

void WaitingThreads::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [this] { return closed_ || !tasks_.empty(); });
    --idle_;
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

void WaitingThreads::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace anabranch::scheduler
