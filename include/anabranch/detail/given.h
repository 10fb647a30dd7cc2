#pragma once

#include <concepts>
#include <cstddef>
#include <tuple>
#include <utility>

/// Functions of two to nine arrays or sequences, and then the caller's line: nothing can follow a parameter pack, so what is
/// not given has a value by default.
namespace anabranch::detail {

struct NotGiven {};

/// f of the arguments that are given; those that are not come last.
template <class F, class... Xs>
auto of_given(F f, const Xs&... xs) {
  const std::tuple<const Xs&...> all(xs...);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return f(std::get<I>(all)...);
  }(std::make_index_sequence<(0 + ... + (std::same_as<Xs, NotGiven> ? 0 : 1))>{});
}

}  // namespace anabranch::detail
