#include "apps/common/interrupt.h"

#include <cstdlib>
#include <system_error>

#include <anabranch/error.h>

namespace anabranch::apps {

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
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
  // It is blocked, and taken by sigwait.
  pthread_kill(waiter_.native_handle(), SIGTERM);  // NOLINT(bugprone-bad-signal-to-kill-thread)
  waiter_.join();
  // What the system still does before the process is gone needs no patience.
  pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

void Interrupt::wait() {
  for (;;) {
    int signal = 0;
    if (sigwait(&signals_, &signal) != 0) continue;
    if (over_) return;
    const bool second = signal_.exchange(signal) != 0;
    if (second || at_once_) std::_Exit(128 + signal);
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
