// The executors that tests of anything parallel run on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "scheduler/executor.h"

namespace anabranch::scheduler::test {

struct NamedExecutor {
  std::string name;
  std::unique_ptr<Executor> executor;
};

// Both kinds with 1 to 4 threads. oneTBB is not built with ThreadSanitizer, which would then see races where
// there are none; the plain executor stands for both there.
inline std::vector<NamedExecutor> all_executors() {
  std::vector<NamedExecutor> result;
  for (int threads = 1; threads <= 4; ++threads) {
    result.push_back({"plain " + std::to_string(threads), make_plain_executor(threads)});
#if !defined(__SANITIZE_THREAD__)
    result.push_back({"oneTBB " + std::to_string(threads), make_tbb_executor(threads)});
#endif
  }
  return result;
}

}  // namespace anabranch::scheduler::test
