#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Cooperative threads of one OS thread, for the executor. x86-64, System V ABI; AddressSanitizer and
/// ThreadSanitizer are told about every switch. To the latter all fibers of an OS thread are one: with one for each of a
/// thousand every atomic operation of the process had a thousand clocks to look at.
namespace anabranch::gpu_host {

/// Memory for a fiber's stack, with a page below it that nobody may touch.
class FiberStack {
 public:
  FiberStack();
  FiberStack(FiberStack&& other) noexcept;
  FiberStack(const FiberStack&) = delete;
  ~FiberStack();
  std::byte* bottom() const;
  std::size_t bytes() const;

 private:
  friend class Fiber;
  void* pages_ = nullptr;
};

/// Marks the functions that a fiber ends in: ThreadSanitizer would count calls that never return, until it has no room.
#if defined(__SANITIZE_THREAD__)
#define ANABRANCH_FIBER_ENDS_HERE __attribute__((no_sanitize_thread))
#else
#define ANABRANCH_FIBER_ENDS_HERE
#endif

/// The OS thread's own stack: where fibers are resumed from.
class FiberHost {
 public:
  FiberHost();
  FiberHost(const FiberHost&) = delete;
  ~FiberHost();

 private:
  friend class Fiber;
  void* stack_pointer_ = nullptr;
  void* fake_stack_ = nullptr;
  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
  int unfinished_ = 0;  ///< fibers that have not left for good
  void* tsan_ = nullptr;
};

class Fiber {
 public:
  using Body = void (*)(void* argument);
  /// `body` must end with `leave(true)`, never return. Stack and host outlive the fiber; a fiber that is
  /// never resumed again is just forgotten.
  Fiber(FiberHost& host, FiberStack& stack, Body body, void* argument);
  /// From the host: runs the fiber until it leaves.
  void resume();
  /// From the fiber: back to the host.
  void leave(bool for_good = false);

 private:
  static void start(Fiber* fiber);
  FiberHost* host_;
  FiberStack* stack_;
  Body body_;
  void* argument_;
  void* stack_pointer_ = nullptr;
  void* fake_stack_ = nullptr;
};

}  // namespace anabranch::gpu_host
