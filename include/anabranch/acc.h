#pragma once

#include <array>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include <anabranch/exp.h>

/// Array computations. An Acc<Array<N, T>> stands for an array that will be computed; it is a handle to a
/// node of the program, so it copies cheaply, goes into containers, and one used twice is computed once.
/// Nothing runs before `run`.
///
/// Costs are of the element-wise kind unless stated: one pass over the output, fused with its neighbours.
namespace anabranch {

/// `A` is an Array<N, T> (Scalar<T>, Vector<T>, Matrix<T>).
template <class A>
class Acc {
 public:
  using array_type = A;
  static constexpr int rank = A::rank;
  using value_type = typename A::value_type;

  /// Element at a position (RunError when out of range). For a vector also an integer of any type.
  Exp<value_type> operator[](const Located<Index<rank>>& ix) const {
    return {detail::FromHandle{}, detail::index(handle_, ix.value().handle(), ix.place())};
  }
  Exp<value_type> operator[](const Position& i) const
    requires(rank == 1)
  {
    return {detail::FromHandle{}, detail::index(handle_, i.value().handle(), i.place())};
  }
  /// Refused, with a sentence.
  template <class X>
    requires(!std::convertible_to<const X&, Located<Index<rank>>> &&
             !(rank == 1 && std::convertible_to<const X&, Position>))
  Exp<value_type> operator[](const X&) const {
    static_assert(detail::always_false<X>,
                  "anabranch: a[ix] takes an Index with as many dimensions as the array, as index_of(i, j) "
                  "makes one; a[i] an integer, of a vector only (a.linear(i) counts row by row)");
    return {detail::FromHandle{}, detail::Handle{}};
  }
  /// Element at a row-major position.
  Exp<value_type> linear(const Position& i) const {
    return {detail::FromHandle{}, detail::linear_index(handle_, i.value().handle(), i.place())};
  }

  Acc(const Acc&) = default;
  Acc(Acc&&) noexcept = default;
  /// A variable may be given another computation; what a function returns, such as slice(...), may not.
  Acc& operator=(const Acc&) & = default;
  Acc& operator=(Acc&&) & noexcept = default;
  template <class U>
  Acc& operator=(U&&) && {
    detail::assigned_to_a_temporary<U>();
    return *this;
  }

  Acc(detail::FromHandle, detail::Handle handle) : handle_(std::move(handle)) {}
  const detail::Handle& handle() const { return handle_; }

 private:
  detail::Handle handle_;
};

namespace detail {

template <int N, class T>
Acc<Array<N, T>> acc(Handle handle) {
  return {FromHandle{}, std::move(handle)};
}
template <class X>
struct AccOf {
  static constexpr bool is_acc = false;
};
template <int N, class T>
struct AccOf<Acc<Array<N, T>>> {
  static constexpr bool is_acc = true;
};
template <class X>
concept IsAcc = AccOf<std::remove_cvref_t<X>>::is_acc;

template <int N>
Exp<Index<N>> index_parameter(Place at) {
  return fresh_parameter<Index<N>>(at);
}

using Loc = std::source_location;

/// A user's operator for fold: takes and returns elements of T.
template <class T, class F>
Handle trace_operator(F&& f, Place at) {
  auto [traced, result] = trace_function<T, T>(f, at);
  static_assert(std::same_as<decltype(result), Exp<T>>,
                "anabranch: the operator of a fold returns the type of its two operands");
  return traced;
}

}  // namespace detail

// ---- From the host and from scalars -----------------------------------------------------------------------

/// A host array. No copy on the CPU: do not change it while a run uses it.
template <int N, class T>
Acc<Array<N, T>> use(const Array<N, T>& array, detail::Loc at = detail::Loc::current()) {
  return detail::acc<N, T>(detail::use(array.erased(), at));
}

/// A vector that is given away (a temporary, or std::move): its elements are not copied, if T is a scalar.
template <IsElement T>
  requires(!std::same_as<T, bool>)
Acc<Vector<T>> use(std::vector<T>&& values, detail::Loc at = detail::Loc::current()) {
  if constexpr (IsScalar<T>) {
    const auto owner = std::make_shared<const std::vector<T>>(std::move(values));
    return use(Vector<T>::view(Index{static_cast<std::int64_t>(owner->size())}, owner->data(), owner), at);
  } else {
    return use(Vector<T>(values), at);
  }
}
/// A vector that stays yours: its elements are copied now, and you may change it afterwards. To use its
/// memory without a copy, give a std::span of it.
template <IsElement T>
  requires(!std::same_as<T, bool>)
Acc<Vector<T>> use(const std::vector<T>& values, detail::Loc at = detail::Loc::current()) {
  return use(Vector<T>(values), at);
}
/// Memory of yours, which is not copied: it has to outlive every run of the program, and not to change while
/// one uses it.
template <class T, std::size_t Extent>
  requires IsScalar<std::remove_const_t<T>>
Acc<Vector<std::remove_const_t<T>>> use(std::span<T, Extent> values,
                                        detail::Loc at = detail::Loc::current()) {
  using V = Vector<std::remove_const_t<T>>;
  return use(V::view(Index{static_cast<std::int64_t>(values.size())}, values.data()), at);
}

/// A scalar array holding one value.
template <IsElement T>
Acc<Scalar<T>> unit(const Exp<T>& value, detail::Loc at = detail::Loc::current()) {
  return detail::acc<0, T>(detail::unit(value.handle(), at));
}
template <IsElement T>
Acc<Scalar<T>> unit(const T& value, detail::Loc at = detail::Loc::current()) {
  return unit(Exp<T>(value, at), at);
}

/// The value of a scalar array.
template <class T>
Exp<T> the(const Acc<Scalar<T>>& array, detail::Loc at = detail::Loc::current()) {
  return {detail::FromHandle{}, detail::index(array.handle(), detail::tuple({}, at), at)};
}

/// The extents of an array, outermost first. Asking for them does not compute the elements.
template <int N, class T>
Exp<Index<N>> shape(const Acc<Array<N, T>>& array, detail::Loc at = detail::Loc::current()) {
  return {detail::FromHandle{}, detail::shape(array.handle(), at)};
}
/// Extent of dimension d (0 is outermost).
template <int N, class T>
Exp<std::int64_t> extent(const Acc<Array<N, T>>& array, int d, detail::Loc at = detail::Loc::current()) {
  detail::check_dimension("extent", d, N, at);
  return {detail::FromHandle{}, detail::project(detail::shape(array.handle(), at), d, 1, at)};
}
/// Number of elements.
template <int N, class T>
Exp<std::int64_t> size(const Acc<Array<N, T>>& array, detail::Loc at = detail::Loc::current()) {
  Exp<std::int64_t> product(std::int64_t{1}, at);
  for (int d = 0; d < N; ++d) product = product * extent(array, d, at);
  return product;
}

}  // namespace anabranch

#include <anabranch/detail/array_misuse.h>
