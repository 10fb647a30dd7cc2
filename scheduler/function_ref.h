// A borrowed callable: two words, no allocation, no copy.
//
// Callbacks that only live for the duration of a call (a loop body, a piece of work) are passed this way, so
// that a virtual interface such as Executor can take any lambda without the cost of std::function. The
// callable must outlive the call; storing a FunctionRef beyond it is an error.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace anabranch::scheduler {

template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, Args...>)
  FunctionRef(F&& callable) noexcept
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace anabranch::scheduler
