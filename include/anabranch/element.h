#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <anabranch/scalar.h>

/// What an array can hold. An element is a scalar, a product of elements (pair, tuple, Index, std::complex, a
/// struct named by ANABRANCH_AGGREGATE) or a sum (std::optional, std::variant). One of n scalars is stored as n
/// buffers, one per scalar component (structure of arrays), nested ones flattened.
namespace anabranch {

/// A position in, or the shape of, an array of rank N; outermost dimension first.
template <int N>
struct Index {
  std::array<std::int64_t, static_cast<std::size_t>(N)> at{};

  constexpr std::int64_t& operator[](int d) { return at[static_cast<std::size_t>(d)]; }
  constexpr std::int64_t operator[](int d) const { return at[static_cast<std::size_t>(d)]; }
  friend constexpr bool operator==(const Index&, const Index&) = default;
};
template <class... I>
Index(I...) -> Index<static_cast<int>(sizeof...(I))>;

namespace detail {

template <class T>
inline constexpr bool always_false = false;

template <std::size_t A, std::size_t B>
constexpr std::array<ScalarType, A + B> join(const std::array<ScalarType, A>& a,
                                             const std::array<ScalarType, B>& b) {
  std::array<ScalarType, A + B> out{};
  for (std::size_t i = 0; i < A; ++i) out[i] = a[i];
  for (std::size_t i = 0; i < B; ++i) out[A + i] = b[i];
  return out;
}

/// How T flattens into scalars: `scalars`, and `visit(value, f)` calls f on each scalar of a value in order.
template <class T>
struct Element {
  static constexpr bool is_element = false;
};

template <class T, ScalarType S>
struct ScalarElement {
  static constexpr bool is_element = true;
  static constexpr bool is_scalar = true;
  static constexpr std::array<ScalarType, 1> scalars{S};
  template <class V, class F>
  static constexpr void visit(V& value, F&& f) {
    f(value);
  }
};
template <class T>
  requires(scalar_row<T> < scalar_count)
struct Element<T> : ScalarElement<T, static_cast<ScalarType>(scalar_row<T>)> {};
// `long long` is a distinct type from std::int64_t on this platform; both name the same 64 bits. Likewise the
// unsigned ones.
template <>
struct Element<long long> : ScalarElement<long long, ScalarType::int64> {};
template <>
struct Element<unsigned long long> : ScalarElement<unsigned long long, ScalarType::uint64> {};

template <class... Ts>
constexpr auto flatten() {
  if constexpr (sizeof...(Ts) == 0) {
    return std::array<ScalarType, 0>{};
  } else {
    return []<class First, class... Rest>(std::type_identity<First>, std::type_identity<Rest>...) {
      return join(Element<First>::scalars, flatten<Rest...>());
    }(std::type_identity<Ts>{}...);
  }
}

template <class... Ts>
struct ProductElement {
  static constexpr bool is_element = true;
  static constexpr bool is_scalar = false;
  static constexpr auto scalars = flatten<Ts...>();
  template <class V, class F>
  static constexpr void visit(V& value, F&& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (Element<Ts>::visit(std::get<I>(value), f), ...);
    }(std::index_sequence_for<Ts...>{});
  }
};
template <class... Ts>
  requires(Element<Ts>::is_element && ...)
struct Element<std::tuple<Ts...>> : ProductElement<Ts...> {};
template <class A, class B>
  requires(Element<A>::is_element && Element<B>::is_element)
struct Element<std::pair<A, B>> : ProductElement<A, B> {};

template <int N>
struct Element<Index<N>> {
  static constexpr bool is_element = true;
  static constexpr bool is_scalar = false;
  static constexpr auto scalars = [] {
    std::array<ScalarType, static_cast<std::size_t>(N)> out{};
    out.fill(ScalarType::int64);
    return out;
  }();
  template <class V, class F>
  static constexpr void visit(V& value, F&& f) {
    for (auto& extent : value.at) f(extent);
  }
};

}  // namespace detail

/// A type that may be an element of an array.
template <class T>
concept IsElement = detail::Element<T>::is_element;

/// For messages that the compiler shows.
#define ANABRANCH_ELEMENTS                                                                                   \
  ANABRANCH_SCALAR_TYPES                                                                                     \
  ", or a std::pair, std::tuple, std::complex, std::optional, std::variant or Index of elements; widen "     \
  "other integers, name a struct once with ANABRANCH_AGGREGATE(Type, field, ...), in its namespace, before " \
  "its first use as an element"

/// A type that is one scalar.
template <class T>
concept IsScalar = IsElement<T> && detail::Element<T>::is_scalar;

namespace detail {
/// Number of scalar components of T.
template <IsElement T>
inline constexpr int components = static_cast<int>(Element<T>::scalars.size());
template <IsScalar T>
inline constexpr ScalarType scalar_type = Element<T>::scalars[0];

/// A scalar that one can calculate with: any but bool.
template <class T>
concept NumberElement = IsScalar<T> && !std::same_as<T, bool>;
template <class T>
concept IntegerElement = NumberElement<T> && IntegerValue<T>;
template <class T>
concept FloatElement = NumberElement<T> && FloatValue<T>;
}  // namespace detail

}  // namespace anabranch
