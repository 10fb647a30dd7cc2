#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <stop_token>
#include <thread>

/// SIGHUP, SIGINT and SIGTERM as a request to stop, but for those that were ignored when the process began; a second one ends
/// the process at once, unless it comes with the first.
namespace anabranch::apps {

/// One in the program, made before any other thread: it blocks the signals for all threads and waits for them
/// in one of its own, so that no handler runs and everything a stop needs may be done. ResourceError where
/// there is no thread for it.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  /// The signal that came, or 0.
  int signal() const { return signal_; }

  /// While one lives, a signal ends the process at once:
  /// for work that cannot be stopped and leaves nothing behind.
  class AtOnce {
   public:
    explicit AtOnce(Interrupt& interrupt);
    ~AtOnce();
    AtOnce(const AtOnce&) = delete;
    AtOnce& operator=(const AtOnce&) = delete;

   private:
    Interrupt& interrupt_;
  };

 private:
  /// A signal that comes so soon after the first one is no second request.
  static constexpr std::chrono::milliseconds same_request{300};

  void wait();

  sigset_t signals_{};
  std::stop_source source_;
  std::atomic<int> signal_ = 0;
  std::atomic<bool> at_once_ = false;
  std::atomic<bool> over_ = false;
  std::thread waiter_;
};

}  // namespace anabranch::apps
