#pragma once

#include <cstdint>

/// How pushed items become chunks.
namespace anabranch {

/// For push_stream (push.h).
struct PushOptions {
  /// An item waits at most so long for others to be computed with, as far as calls come. 0: each is computed at once. (Less,
  /// where waiting gains little: until as much time has passed as eight chunks cost without their items.)
  double seconds = 0.001;
  /// Results that wait to be taken, at most: with so many, or so many bytes of them, `push` waits, and `try_push` takes
  /// nothing. Those of the last chunk may exceed it. A memory bound leaves them a quarter at most.
  std::int64_t items = 65'536;
  std::int64_t bytes = std::int64_t{64} << 20;
};

}  // namespace anabranch
