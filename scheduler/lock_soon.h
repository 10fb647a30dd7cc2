// Waiting for a lock that is held for less than a microsecond or two.
#pragma once

#include <mutex>

namespace anabranch::scheduler {

/// A thread that sleeps has lost fifty microseconds: so it looks again some times before it does, ever more rarely, because
/// each look takes the lock's cache line from whoever is to unlock it.
inline void lock_soon(std::mutex& mutex) {
  for (int pauses = 1; pauses <= 64; pauses *= 2)
    for (int looks = 0; looks < 2; ++looks) {
      if (mutex.try_lock()) return;
      for (int p = 0; p < pauses; ++p) __builtin_ia32_pause();
    }
  mutex.lock();
}

}  // namespace anabranch::scheduler
