#pragma once

#include <stop_token>

#include "cpu/abi.h"

namespace anabranch::runtime {

/// While it lives, a request to stop sets the word that kernels look at, in the thread that makes the request and
/// without waiting. A request that was made before sets it at once.
class StopSignal {
 public:
  StopSignal(const std::stop_token& stop, cpu::StopWord& word) : callback_(stop, Raise{&word}) {}

 private:
  struct Raise {
    cpu::StopWord* word;
    void operator()() const noexcept { word->store(1, std::memory_order_relaxed); }
  };
  std::stop_callback<Raise> callback_;
};

}  // namespace anabranch::runtime
