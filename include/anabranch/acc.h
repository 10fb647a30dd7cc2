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

namespace detail {
/// Of the shape (n): a function of the number.
template <class F>
auto by_number(F f) {
  constexpr bool fits = takes<F, Exp<std::int64_t>&>();
  static_assert(fits,
                "anabranch: with a length the function takes a number, an Exp<int64_t>; with a shape, as in "
                "generate(Index{n}, f), an index");
  return [f](const Exp<Index<1>>& ix) {
    if constexpr (fits) {
      Exp<std::int64_t> number = ix[0];
      return f(number);
    } else {
      return ix;
    }
  };
}
}  // namespace detail

/// Element at ix is f(ix). `shape` may be an Index<N>, an Exp<Index<N>>, or, for a vector, a length: then f
/// takes an Exp<int64_t>.
template <int N, class F>
auto generate(const Exp<Index<N>>& shape, F f, detail::Loc at = detail::Loc::current()) {
  auto [function, result] = detail::trace_function<Index<N>>(f, at);
  using T = typename decltype(result)::value_type;
  return detail::acc<N, T>(detail::generate(shape.handle(), function, at, {}));
}
template <int N, class F>
auto generate(const Index<N>& shape, F f, detail::Loc at = detail::Loc::current()) {
  return generate(Exp<Index<N>>(shape, at), std::move(f), at);
}
template <class F>
auto generate(const Position& length, F f, detail::Loc at = detail::Loc::current()) {
  return generate(Exp<Index<1>>(detail::FromHandle{}, length.value().handle()),
                  detail::by_number(std::move(f)), at);
}
/// Every element the same, an Exp or a plain value.
template <int N, class X>
auto fill(const Exp<Index<N>>& shape, const X& value, detail::Loc at = detail::Loc::current()) {
  auto [function, result] = detail::trace_function<Index<N>>([&](auto) { return value; }, at);
  using T = typename decltype(result)::value_type;
  return detail::acc<N, T>(detail::generate(shape.handle(), function, at, "fill"));
}
template <int N, class X>
auto fill(const Index<N>& shape, const X& value, detail::Loc at = detail::Loc::current()) {
  return fill(Exp<Index<N>>(shape, at), value, at);
}
template <class X>
auto fill(const Position& length, const X& value, detail::Loc at = detail::Loc::current()) {
  return fill(Exp<Index<1>>(detail::FromHandle{}, length.value().handle()), value, at);
}

// ---- Element-wise -----------------------------------------------------------------------------------------

/// f of every element.
template <class F, int N, class T>
auto map(F f, const Acc<Array<N, T>>& a, detail::Loc at = detail::Loc::current()) {
  auto [function, result] = detail::trace_function<T>(f, at);
  using U = typename decltype(result)::value_type;
  return detail::acc<N, U>(detail::map(function, {a.handle()}, at, {}));
}

namespace detail {
template <class F, int N, class... Ts>
auto zip_with_at(Loc at, Symbol label, F& f, const Acc<Array<N, Ts>>&... arrays) {
  auto [function, result] = trace_function<Ts...>(f, at);
  using U = typename decltype(result)::value_type;
  return acc<N, U>(detail::map(function, {arrays.handle()...}, at, label));
}
inline constexpr auto packing = [](const auto&... parts) { return pack(parts...); };
}  // namespace detail

/// f of the elements at equal positions; the result has the intersection of the shapes (minimum per
/// dimension).
template <class F, int N, class A, class B>
auto zip_with(F f, const Acc<Array<N, A>>& a, const Acc<Array<N, B>>& b,
              detail::Loc at = detail::Loc::current()) {
  return detail::zip_with_at(at, "zip_with", f, a, b);
}
template <class F, int N, class A, class B, class C>
auto zip_with(F f, const Acc<Array<N, A>>& a, const Acc<Array<N, B>>& b, const Acc<Array<N, C>>& c,
              detail::Loc at = detail::Loc::current()) {
  return detail::zip_with_at(at, "zip_with", f, a, b, c);
}
template <class F, int N, class A, class B, class C, class D>
auto zip_with(F f, const Acc<Array<N, A>>& a, const Acc<Array<N, B>>& b, const Acc<Array<N, C>>& c,
              const Acc<Array<N, D>>& d, detail::Loc at = detail::Loc::current()) {
  return detail::zip_with_at(at, "zip_with", f, a, b, c, d);
}

/// An array of tuples from arrays; costs nothing by itself (structure of arrays).
template <int N, class A, class B>
auto zip(const Acc<Array<N, A>>& a, const Acc<Array<N, B>>& b, detail::Loc at = detail::Loc::current()) {
  return detail::zip_with_at(at, "zip", detail::packing, a, b);
}
template <int N, class A, class B, class C>
auto zip(const Acc<Array<N, A>>& a, const Acc<Array<N, B>>& b, const Acc<Array<N, C>>& c,
         detail::Loc at = detail::Loc::current()) {
  return detail::zip_with_at(at, "zip", detail::packing, a, b, c);
}

namespace detail {
template <class... Ts, int N, class T>
std::tuple<Acc<Array<N, Ts>>...> unzip_at(Loc at, const Acc<Array<N, T>>& a) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto part = [&]<std::size_t K>(std::integral_constant<std::size_t, K>) {
      auto [function, result] = trace_function<T>([](Exp<T> e) { return get<K>(e); }, at);
      return detail::map(function, {a.handle()}, at, "unzip");
    };
    return std::tuple<Acc<Array<N, Ts>>...>{acc<N, Ts>(part(std::integral_constant<std::size_t, I>{}))...};
  }(std::index_sequence_for<Ts...>{});
}
}  // namespace detail

/// An array of tuples or pairs taken apart; free. auto [x, y] = unzip(a).
template <int N, class... Ts>
std::tuple<Acc<Array<N, Ts>>...> unzip(const Acc<Array<N, std::tuple<Ts...>>>& a,
                                       detail::Loc at = detail::Loc::current()) {
  return detail::unzip_at<Ts...>(at, a);
}
template <int N, class A, class B>
std::tuple<Acc<Array<N, A>>, Acc<Array<N, B>>> unzip(const Acc<Array<N, std::pair<A, B>>>& a,
                                                     detail::Loc at = detail::Loc::current()) {
  return detail::unzip_at<A, B>(at, a);
}

// ---- Reductions -------------------------------------------------------------------------------------------

/// Reduces one dimension (the innermost, unless `axis` says another): z o x0 o x1 o ... with an associative
/// f, in the canonical order of the language reference; z is joined once and need not be neutral; an empty
/// row gives z.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N - 1, T>> fold(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                          int axis = N - 1, detail::Loc at = detail::Loc::current()) {
  return detail::acc<N - 1, T>(
      detail::fold(detail::trace_operator<T>(f, at), z.value().handle(), a.handle(), axis, at, {}));
}
/// Without a seed: an empty row is a RunError.
template <class F, int N, class T>
  requires(N >= 1)
Acc<Array<N - 1, T>> fold1(F f, const Acc<Array<N, T>>& a, int axis = N - 1,
                           detail::Loc at = detail::Loc::current()) {
  return detail::acc<N - 1, T>(
      detail::fold(detail::trace_operator<T>(f, at), {}, a.handle(), axis, at, "fold1"));
}

/// The same elements in row-major order, as another shape; sizes must agree (RunError).
template <int M, int N, class T>
Acc<Array<M, T>> reshape(const Exp<Index<M>>& shape, const Acc<Array<N, T>>& a,
                         detail::Loc at = detail::Loc::current()) {
  return detail::acc<M, T>(detail::reshape(shape.handle(), a.handle(), at, {}));
}
template <int M, int N, class T>
Acc<Array<M, T>> reshape(const Index<M>& shape, const Acc<Array<N, T>>& a,
                         detail::Loc at = detail::Loc::current()) {
  return reshape(Exp<Index<M>>(shape, at), a, at);
}
template <int N, class T>
Acc<Vector<T>> reshape(const Position& length, const Acc<Array<N, T>>& a,
                       detail::Loc at = detail::Loc::current()) {
  return reshape(Exp<Index<1>>(detail::FromHandle{}, length.value().handle()), a, at);
}
/// All elements as one vector.
template <int N, class T>
Acc<Vector<T>> flatten(const Acc<Array<N, T>>& a, detail::Loc at = detail::Loc::current()) {
  if constexpr (N == 1) {
    return a;
  } else {
    return detail::acc<1, T>(detail::reshape(size(a, at).handle(), a.handle(), at, "flatten"));
  }
}

/// Reduces all elements to one, in row-major order.
template <class F, int N, class T>
Acc<Scalar<T>> fold_all(F f, const std::type_identity_t<Located<T>>& z, const Acc<Array<N, T>>& a,
                        detail::Loc at = detail::Loc::current()) {
  return fold(f, z, flatten(a, at), 0, at);
}

namespace detail {
template <class T, class F, int N>
Acc<Array<N - 1, T>> named_fold(Symbol label, F f, Handle seed, const Acc<Array<N, T>>& a, int axis, Loc at) {
  return acc<N - 1, T>(detail::fold(trace_operator<T>(f, at), seed, a.handle(), axis, at, label));
}
/// What sums and products of T are: bool and integers of less than 64 bits are widened.
template <IsScalar T>
using Total = std::conditional_t<
    !IntegerValue<T> || sizeof(T) == sizeof(std::int64_t), T,
    std::conditional_t<std::is_signed_v<T> || std::same_as<T, bool>, std::int64_t, std::uint64_t>>;
/// Folds the elements as Totals.
template <class F, int N, class T>
Acc<Array<N - 1, Total<T>>> total(Symbol label, F f, Total<T> seed, const Acc<Array<N, T>>& a, int axis,
                                  Loc at) {
  Handle elements = a.handle();
  if constexpr (!std::same_as<Total<T>, T>) {
    auto [function, wide] = trace_function<T>([&](const Exp<T>& x) { return cast<Total<T>>(x, at); }, at);
    elements = detail::map(function, {a.handle()}, at, label);
  }
  return named_fold(label, f, constant_of<Total<T>>(seed, at), acc<N, Total<T>>(elements), axis, at);
}
}  // namespace detail

/// Sum, product, minimum, maximum along one dimension.
/// Empty sums are 0, products 1; an empty minimum is a RunError.
/// Sums and products of integers are int64 or, of unsigned ones, uint64, and wrap only there. The sum of bool
/// is an int64: how many are true. Of floating-point numbers they are of the elements' type.
template <int N, class T>
  requires(N >= 1 && IsScalar<T>)
Acc<Array<N - 1, detail::Total<T>>> sum(const Acc<Array<N, T>>& a, int axis = N - 1,
                                        detail::Loc at = detail::Loc::current()) {
  return detail::total("sum", plus, detail::Total<T>(0), a, axis, at);
}
/// How many elements are true; of how many elements p holds.
template <int N>
  requires(N >= 1)
Acc<Array<N - 1, std::int64_t>> count(const Acc<Array<N, bool>>& a, int axis = N - 1,
                                      detail::Loc at = detail::Loc::current()) {
  return detail::total("count", plus, std::int64_t{0}, a, axis, at);
}
template <class P, int N, class T>
  requires(N >= 1)
Acc<Array<N - 1, std::int64_t>> count(P p, const Acc<Array<N, T>>& a, int axis = N - 1,
                                      detail::Loc at = detail::Loc::current()) {
  auto [function, truth] = detail::trace_function<T>(p, at);
  static_assert(std::same_as<decltype(truth), Exp<bool>>,
                "anabranch: the function of count says whether an element counts (an Exp<bool>)");
  return detail::total("count", plus, std::int64_t{0},
                       detail::acc<N, bool>(detail::map(function, {a.handle()}, at, "count")), axis, at);
}
template <int N, class T>
  requires(N >= 1 && detail::NumberElement<T>)
Acc<Array<N - 1, detail::Total<T>>> product(const Acc<Array<N, T>>& a, int axis = N - 1,
                                            detail::Loc at = detail::Loc::current()) {
  return detail::total("product", times, detail::Total<T>(1), a, axis, at);
}
template <int N, class T>
  requires(N >= 1 && detail::NumberElement<T>)
Acc<Array<N - 1, T>> minimum(const Acc<Array<N, T>>& a, int axis = N - 1,
                             detail::Loc at = detail::Loc::current()) {
  return detail::named_fold("minimum", minimum_of, {}, a, axis, at);
}
template <int N, class T>
  requires(N >= 1 && detail::NumberElement<T>)
Acc<Array<N - 1, T>> maximum(const Acc<Array<N, T>>& a, int axis = N - 1,
                             detail::Loc at = detail::Loc::current()) {
  return detail::named_fold("maximum", maximum_of, {}, a, axis, at);
}

// ---- Reordering -------------------------------------------------------------------------------------------

/// Element at ix is a[f(ix)]; out of range is a RunError.
/// A length instead of a shape gives a vector, and f then takes an Exp<int64_t>: backpermute(3, [](auto i) {
/// return index_of(2 - i); }, v).
template <int M, class F, int N, class T>
Acc<Array<M, T>> backpermute(const Exp<Index<M>>& shape, F f, const Acc<Array<N, T>>& a,
                             detail::Loc at = detail::Loc::current()) {
  auto [function, result] = detail::trace_function<Index<M>>(f, at);
  static_assert(
      std::same_as<decltype(result), Exp<Index<N>>>,
      "anabranch: the function of backpermute gives a position in its array, an Exp<Index<N>>: index_of(i)");
  return detail::acc<M, T>(detail::backpermute(shape.handle(), function, a.handle(), {}, at, {}));
}
template <int M, class F, int N, class T>
Acc<Array<M, T>> backpermute(const Index<M>& shape, F f, const Acc<Array<N, T>>& a,
                             detail::Loc at = detail::Loc::current()) {
  return backpermute(Exp<Index<M>>(shape, at), std::move(f), a, at);
}
template <class F, int N, class T>
Acc<Vector<T>> backpermute(const Position& length, F f, const Acc<Array<N, T>>& a,
                           detail::Loc at = detail::Loc::current()) {
  return backpermute(Exp<Index<1>>(detail::FromHandle{}, length.value().handle()),
                     detail::by_number(std::move(f)), a, at);
}

/// Element at k is a[ix[k]]; out of range is a RunError. Indices may be of any integer type.
template <int N, detail::IntegerElement I, class T>
Acc<Array<N, T>> gather(const Acc<Array<N, I>>& ix, const Acc<Vector<T>>& a,
                        detail::Loc at = detail::Loc::current()) {
  auto [function, result] = detail::trace_function<I>(
      [&](Exp<I> i) {
        return Exp<T>(detail::FromHandle{},
                      detail::index(a.handle(), cast<std::int64_t>(i, at).handle(), at, "gather"));
      },
      at);
  return detail::acc<N, T>(detail::map(function, {ix.handle()}, at, "gather"));
}

/// Turns dimensions around: dimension d of the result is dimension permutation[d] of `a`. Default: reversed.
template <int N, class T>
Acc<Array<N, T>> transpose(const Acc<Array<N, T>>& a,
                           std::array<int, static_cast<std::size_t>(N)> permutation,
                           detail::Loc at = detail::Loc::current()) {
  detail::check_permutation(permutation, at);
  detail::Handles extents;
  for (int d : permutation) extents.push_back(extent(a, d, at).handle());
  auto [function, result] = detail::trace_function<Index<N>>(
      [&](Exp<Index<N>> ix) {
        detail::Handles from(static_cast<std::size_t>(N));
        for (int d = 0; d < N; ++d)
          from[static_cast<std::size_t>(permutation[static_cast<std::size_t>(d)])] = ix[d].handle();
        return Exp<Index<N>>(detail::FromHandle{}, detail::tuple(from, at));
      },
      at);
  return detail::acc<N, T>(detail::backpermute(detail::tuple(extents, at), function, a.handle(),
                                               {.injective = true, .in_bounds = true}, at, "transpose"));
}
template <int N, class T>
Acc<Array<N, T>> transpose(const Acc<Array<N, T>>& a, detail::Loc at = detail::Loc::current()) {
  std::array<int, static_cast<std::size_t>(N)> reversed;
  for (int d = 0; d < N; ++d) reversed[static_cast<std::size_t>(d)] = N - 1 - d;
  return transpose(a, reversed, at);
}

/// For replicate and slice: keep this dimension.
struct All {};
inline constexpr All all{};

namespace detail {
template <class X>
inline constexpr bool is_all = std::same_as<std::remove_cvref_t<X>, All>;
template <class... Spec>
inline constexpr int kept = (0 + ... + (is_all<Spec> ? 1 : 0));
template <class X>
Handle slot(const X& x) {
  if constexpr (is_all<X>)
    return {};
  else
    return Position(x).value().handle();
}
}  // namespace detail

namespace detail {

template <int N, class T, class... Spec>
  requires(kept<Spec...> == N)
auto replicate_at(Loc at, const Acc<Array<N, T>>& a, const Spec&... spec) {
  constexpr int M = static_cast<int>(sizeof...(Spec));
  const Handles slots{slot(spec)...};
  Handles extents;
  int next = 0;
  for (const auto& s : slots) extents.push_back(s ? s : extent(a, next++, at).handle());
  auto [function, result] = trace_function<Index<M>>(
      [&](Exp<Index<M>> ix) {
        Handles from;
        for (int d = 0; d < M; ++d)
          if (!slots[static_cast<std::size_t>(d)]) from.push_back(ix[d].handle());
        return Exp<Index<N>>(FromHandle{}, tuple(from, at));
      },
      at);
  return acc<M, T>(
      detail::backpermute(tuple(extents, at), function, a.handle(), {.in_bounds = true}, at, "replicate"));
}

template <int N, class T, class... Spec>
  requires(static_cast<int>(sizeof...(Spec)) == N)
auto slice_at(Loc at, const Acc<Array<N, T>>& a, const Spec&... spec) {
  constexpr int M = kept<Spec...>;
  const Handles slots{slot(spec)...};
  Handles extents;
  for (int d = 0; d < N; ++d)
    if (!slots[static_cast<std::size_t>(d)]) extents.push_back(extent(a, d, at).handle());
  auto [function, result] = trace_function<Index<M>>(
      [&](Exp<Index<M>> ix) {
        Handles from;
        int next = 0;
        for (const auto& s : slots) from.push_back(s ? s : ix[next++].handle());
        return Exp<Index<N>>(FromHandle{}, tuple(from, at));
      },
      at);
  return acc<M, T>(
      detail::backpermute(tuple(extents, at), function, a.handle(), {.injective = true}, at, "slice"));
}

/// One argument of replicate or slice.
template <class X>
concept Slot = is_all<X> || std::convertible_to<X, Position>;

}  // namespace detail

/// New dimensions along which the array repeats. One argument per dimension of the *result*: `all` takes the
/// next dimension of `a`, a number n (or an integer Exp) is a new dimension of extent n. replicate(v, 3,
/// all): a matrix of 3 rows v.
template <int N, class T, detail::Slot A>
auto replicate(const Acc<Array<N, T>>& a, const A& s0, detail::Loc at = detail::Loc::current()) {
  return detail::replicate_at(at, a, s0);
}
template <int N, class T, detail::Slot A, detail::Slot B>
auto replicate(const Acc<Array<N, T>>& a, const A& s0, const B& s1, detail::Loc at = detail::Loc::current()) {
  return detail::replicate_at(at, a, s0, s1);
}
template <int N, class T, detail::Slot A, detail::Slot B, detail::Slot C>
auto replicate(const Acc<Array<N, T>>& a, const A& s0, const B& s1, const C& s2,
               detail::Loc at = detail::Loc::current()) {
  return detail::replicate_at(at, a, s0, s1, s2);
}
template <int N, class T, detail::Slot A, detail::Slot B, detail::Slot C, detail::Slot D>
auto replicate(const Acc<Array<N, T>>& a, const A& s0, const B& s1, const C& s2, const D& s3,
               detail::Loc at = detail::Loc::current()) {
  return detail::replicate_at(at, a, s0, s1, s2, s3);
}

/// Fixes dimensions. One argument per dimension of `a`: `all` keeps it, a number (or an integer Exp) picks a
/// position. slice(m, 2, all): row 2. A position out of range is a RunError.
template <class T, detail::Slot A>
auto slice(const Acc<Array<1, T>>& a, const A& s0, detail::Loc at = detail::Loc::current()) {
  return detail::slice_at(at, a, s0);
}
template <class T, detail::Slot A, detail::Slot B>
auto slice(const Acc<Array<2, T>>& a, const A& s0, const B& s1, detail::Loc at = detail::Loc::current()) {
  return detail::slice_at(at, a, s0, s1);
}
template <class T, detail::Slot A, detail::Slot B, detail::Slot C>
auto slice(const Acc<Array<3, T>>& a, const A& s0, const B& s1, const C& s2,
           detail::Loc at = detail::Loc::current()) {
  return detail::slice_at(at, a, s0, s1, s2);
}
template <class T, detail::Slot A, detail::Slot B, detail::Slot C, detail::Slot D>
auto slice(const Acc<Array<4, T>>& a, const A& s0, const B& s1, const C& s2, const D& s3,
           detail::Loc at = detail::Loc::current()) {
  return detail::slice_at(at, a, s0, s1, s2, s3);
}

}  // namespace anabranch

#include <anabranch/detail/array_misuse.h>
