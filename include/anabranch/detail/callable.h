#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

/// Whether a user's function takes these arguments, asked so that a mistake inside the function is reported
/// as itself. std::is_invocable is false too where the body of a generic lambda does not compile, and whoever
/// asserts it then blames the parameters. Here overload resolution alone decides: a function that takes the
/// arguments beats the fallback, whatever becomes of its body.
namespace anabranch::detail {

struct NotCallable {};

template <class F>
struct WithFallback : F {
  using F::operator();
  NotCallable operator()(...) const;
};

struct SecondCallOperator {
  void operator()();
};
template <class F>
struct WithSecond : F, SecondCallOperator {};

/// A class with call operators of its own, such as any lambda: with a second one the name is ambiguous.
template <class F>
concept HasCallOperator =
    std::is_class_v<F> && !std::is_final_v<F> && !requires { &WithSecond<F>::operator(); };

template <class Function, class... Args>
constexpr bool takes() {
  using F = std::remove_cvref_t<Function>;
  if constexpr (HasCallOperator<F>)
    return !requires {
      { std::declval<WithFallback<F>&>()(std::declval<Args>()...) } -> std::same_as<NotCallable>;
    };
  else
    return std::is_invocable_v<F&, Args...>;
}

}  // namespace anabranch::detail
