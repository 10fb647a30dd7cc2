#include "support/gpu_host/fiber.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#if !defined(__x86_64__)
#error "the GPU simulation is written for x86-64"
#endif

extern "C" {
/// Saves what a callee must preserve and the stack pointer, then goes on where `to` was saved.
void anabranch_gpu_host_switch(void** from, void* to);
void anabranch_gpu_host_begin();
}

asm(R"(
.text
.globl anabranch_gpu_host_switch
.hidden anabranch_gpu_host_switch
.type anabranch_gpu_host_switch, @function
anabranch_gpu_host_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size anabranch_gpu_host_switch, .-anabranch_gpu_host_switch

.globl anabranch_gpu_host_begin
.hidden anabranch_gpu_host_begin
.type anabranch_gpu_host_begin, @function
anabranch_gpu_host_begin:
  movq %r12, %rdi
  xorl %ebp, %ebp
  callq *%r13
  ud2
.size anabranch_gpu_host_begin, .-anabranch_gpu_host_begin
)");

namespace anabranch::gpu_host {
namespace {

constexpr std::size_t guard = 4096;
constexpr std::size_t stack_bytes = 256 * 1024;

#if defined(__SANITIZE_THREAD__)
/// What all fibers of this OS thread are to ThreadSanitizer.
class TsanFiber {
 public:
  TsanFiber() : fiber_(__tsan_create_fiber(0)) {}
  TsanFiber(const TsanFiber&) = delete;
  ~TsanFiber() { __tsan_destroy_fiber(fiber_); }
  void* get() const { return fiber_; }
  /// The calls that forgotten fibers were in are forgotten, too.
  void renew() {
    __tsan_destroy_fiber(fiber_);
    fiber_ = __tsan_create_fiber(0);
  }

 private:
  void* fiber_;
};
TsanFiber& tsan_fiber() {
  static thread_local TsanFiber fiber;
  return fiber;
}
#endif

}  // namespace

FiberStack::FiberStack() {
  pages_ = ::mmap(nullptr, guard + stack_bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages_ == MAP_FAILED) throw std::bad_alloc();
  ::mprotect(pages_, guard, PROT_NONE);
}

FiberStack::FiberStack(FiberStack&& other) noexcept : pages_(std::exchange(other.pages_, nullptr)) {}

FiberStack::~FiberStack() {
  if (!pages_) return;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(bottom(), bytes());
#endif
  ::munmap(pages_, guard + stack_bytes);
}

std::byte* FiberStack::bottom() const { return static_cast<std::byte*>(pages_) + guard; }
std::size_t FiberStack::bytes() const { return stack_bytes; }

FiberHost::FiberHost() {
#if defined(__SANITIZE_THREAD__)
  tsan_ = __tsan_get_current_fiber();
#endif
}

FiberHost::~FiberHost() {
#if defined(__SANITIZE_THREAD__)
  if (unfinished_ > 0) tsan_fiber().renew();
#endif
}

Fiber::Fiber(FiberHost& host, FiberStack& stack, Body body, void* argument)
    : host_(&host), stack_(&stack), body_(body), argument_(argument) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack.bottom(), stack.bytes());  // of a fiber that was forgotten
#endif
  ++host.unfinished_;
  // As `switch` leaves it: r15, r14, r13, r12, rbx, rbp, where to go on. Then the stack pointer is at a
  // multiple of 16, as `begin`, which nobody called, expects.
  auto** top = reinterpret_cast<void**>(stack.bottom() + stack.bytes()) - 3;
  *top = reinterpret_cast<void*>(&anabranch_gpu_host_begin);
  void** at = top - 6;
  for (int k = 0; k < 6; ++k) at[k] = nullptr;
  at[2] = reinterpret_cast<void*>(&Fiber::start);
  at[3] = this;
  stack_pointer_ = static_cast<void*>(at);
}

void Fiber::resume() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&host_->fake_stack_, stack_->bottom(), stack_->bytes());
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(tsan_fiber().get(), 0);
#endif
  anabranch_gpu_host_switch(&host_->stack_pointer_, stack_pointer_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(host_->fake_stack_, nullptr, nullptr);
#endif
}

ANABRANCH_FIBER_ENDS_HERE void Fiber::leave(bool for_good) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(for_good ? nullptr : &fake_stack_, host_->bottom_, host_->bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(host_->tsan_, 0);
#endif
  if (for_good) --host_->unfinished_;
  anabranch_gpu_host_switch(&stack_pointer_, host_->stack_pointer_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack_, &host_->bottom_, &host_->bytes_);
#endif
}

ANABRANCH_FIBER_ENDS_HERE void Fiber::start(Fiber* fiber) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &fiber->host_->bottom_, &fiber->host_->bytes_);
#endif
  fiber->body_(fiber->argument_);
  std::abort();
}

}  // namespace anabranch::gpu_host
