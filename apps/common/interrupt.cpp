#include "apps/common/interrupt.h"

#include <chrono>
#include <cstdlib>
#include <system_error>

#include <anabranch/error.h>

namespace anabranch::apps {

namespace {

/// Wakes who waits for the others. The number is one that nobody sends.
int waker() { return SIGRTMIN + 7; }

/// As whoever started the process wants it: SIGHUP under nohup, SIGINT of what a script runs in the background.
bool is_ignored(int signal) {
  struct sigaction action{};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM})
    if (!is_ignored(signal)) sigaddset(&signals_, signal);
  sigaddset(&signals_, waker());
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  try {
    waiter_ = std::thread([this] { wait(); });
  } catch (const std::system_error& e) {
    pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
    throw ResourceError(std::string("a thread could not be started: ") + e.what());
  }
}

Interrupt::~Interrupt() {
  over_ = true;
  pthread_kill(waiter_.native_handle(), waker());
  waiter_.join();
  // What the system still does before the process is gone needs no patience.
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

void Interrupt::wait() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point first;
  for (;;) {
    int signal = 0;
    if (sigwait(&signals_, &signal) != 0) continue;
    if (over_) return;
    if (signal == waker()) continue;
    int first_signal = 0;
    const bool again = !signal_.compare_exchange_strong(first_signal, signal);
    // What is sent to a process and to its group, as timeout does, comes twice and is one request.
    if (at_once_ || (again && Clock::now() - first >= same_request)) std::_Exit(128 + signal);
    if (again) continue;
    first = Clock::now();
    source_.request_stop();
  }
}

Interrupt::AtOnce::AtOnce(Interrupt& interrupt) : interrupt_(interrupt) {
  interrupt_.at_once_ = true;
  // One that came just before was taken as a request that nobody would look at for long.
  if (interrupt_.signal_) std::_Exit(128 + interrupt_.signal_);
}
Interrupt::AtOnce::~AtOnce() { interrupt_.at_once_ = false; }

}  // namespace anabranch::apps
