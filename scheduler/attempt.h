// Calls a callback of the caller's and keeps what it throws: exceptions come out in the order of the stream, not
// when they happen.
#pragma once

#include <exception>
#include <optional>

#include "scheduler/chunk_size.h"

namespace anabranch::scheduler {

struct Outcome {
  std::exception_ptr error{};
  std::optional<ChunkSize> too_big{};  ///< error is a ChunkTooBig
};

template <class F>
Outcome attempt(F&& callback) noexcept {
  try {
    callback();
    return {};
  } catch (const ChunkTooBig& big) {
    return {std::current_exception(), big.tried()};
  } catch (...) {
    return {std::current_exception()};
  }
}

}  // namespace anabranch::scheduler
