#pragma once

#include <type_traits>

/// Visiting variants.
namespace anabranch::ir {

/// One function of several, chosen by type: what visits a variant, so that a new alternative does not compile
/// until it is handled.
template <class... F>
struct overloaded : F... {
  using F::operator()...;
};

/// T, const where C is.
template <class C, class T>
using like = std::conditional_t<std::is_const_v<C>, const T, T>;

}  // namespace anabranch::ir
