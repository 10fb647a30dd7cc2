#include "quiet.h"

#include <sys/resource.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace anabranch::bench {

namespace {

std::int64_t involuntary_switches() {
  std::int64_t switches = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    switches += usage.ru_nivcsw;
  }
  return switches;
}

int runnable() {
  std::ifstream stat("/proc/stat");
  std::string word;
  while (stat >> word) {
    int n = 0;
    if (word == "procs_running" && stat >> n) return n;
  }
  return 1;
}

}  // namespace

bool wait_for_quiet(double patience) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience);
  for (;;) {
    // Once more after a pause: a compiler between two files is not yet gone.
    if (runnable() <= 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (runnable() <= 1) return true;
    }
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Watch::Watch() : switches_(involuntary_switches()) {}
bool Watch::disturbed() const { return involuntary_switches() != switches_; }

}  // namespace anabranch::bench
