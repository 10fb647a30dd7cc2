// Threads that the system may not give.
#pragma once

#include <stdexcept>

namespace anabranch::scheduler {

/// The system gives no more threads, or no memory for one.
class NoThreads : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Starts `count` threads that do nothing, all alive at the same time, and ends them: what comes next finds
/// their stacks ready. NoThreads if the system does not give them.
void try_threads(int count);

}  // namespace anabranch::scheduler
