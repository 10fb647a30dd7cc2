// Threads for what may wait for a device: reading and writing. They are beside those that compute, so that one which
// waits leaves its processor to them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace anabranch::scheduler {

/// As many as have had to wait at the same time. Thread-safe.
class WaitingThreads {
 public:
  WaitingThreads() = default;
  ~WaitingThreads() { stop(); }
  WaitingThreads(const WaitingThreads&) = delete;
  WaitingThreads& operator=(const WaitingThreads&) = delete;

  /// Throws std::bad_alloc or NoThreads, and then has not taken the task.
  void submit(std::function<void()> task);
  /// Runs what has not begun, and waits for the rest.
  void stop() noexcept;

 private:
  void serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool closed_ = false;
};

}  // namespace anabranch::scheduler
