#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

/// What an array can hold. An element is a scalar or a product (pair,
/// tuple, Index) of elements; a product of n scalars is stored as n buffers,
/// one per scalar component (structure of arrays), nested products flattened.
namespace anabranch {

/// The scalar types, in the order of C++'s usual arithmetic conversions.
enum class ScalarType : std::uint8_t { boolean, uint8, int32, int64, float32, float64 };

/// Bytes of one scalar in a buffer.
constexpr std::size_t size_of(ScalarType type) {
  switch (type) {
    case ScalarType::boolean:
    case ScalarType::uint8:
      return 1;
    case ScalarType::int32:
    case ScalarType::float32:
      return 4;
    case ScalarType::int64:
    case ScalarType::float64:
      return 8;
  }
  return 0;
}

/// "bool", "uint8", "int32", "int64", "float", "double".
constexpr const char* name_of(ScalarType type) {
  switch (type) {
    case ScalarType::boolean:
      return "bool";
    case ScalarType::uint8:
      return "uint8";
    case ScalarType::int32:
      return "int32";
    case ScalarType::int64:
      return "int64";
    case ScalarType::float32:
      return "float";
    case ScalarType::float64:
      return "double";
  }
  return "?";
}

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
template <>
struct Element<bool> : ScalarElement<bool, ScalarType::boolean> {};
template <>
struct Element<std::uint8_t> : ScalarElement<std::uint8_t, ScalarType::uint8> {};
template <>
struct Element<std::int32_t> : ScalarElement<std::int32_t, ScalarType::int32> {};
template <>
struct Element<std::int64_t> : ScalarElement<std::int64_t, ScalarType::int64> {};
template <>
struct Element<float> : ScalarElement<float, ScalarType::float32> {};
template <>
struct Element<double> : ScalarElement<double, ScalarType::float64> {};
// `long long` is a distinct type from std::int64_t on this platform; both name the same 64 bits.
template <>
struct Element<long long> : ScalarElement<long long, ScalarType::int64> {};

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

/// A type that is one scalar.
template <class T>
concept IsScalar = IsElement<T> && detail::Element<T>::is_scalar;

namespace detail {
/// The C++ type of a scalar.
template <ScalarType S>
using ScalarOf =
    std::tuple_element_t<static_cast<std::size_t>(S),
                         std::tuple<bool, std::uint8_t, std::int32_t, std::int64_t, float, double>>;
/// Number of scalar components of T.
template <IsElement T>
inline constexpr int components = static_cast<int>(Element<T>::scalars.size());
template <IsScalar T>
inline constexpr ScalarType scalar_type = Element<T>::scalars[0];
}  // namespace detail

}  // namespace anabranch
