#pragma once

#include <utility>

#include <anabranch/detail/for_each.h>
#include <anabranch/elementwise.h>

/// A struct of yours as an element. Its fields are named once, in its namespace, behind it:
///
///     namespace nbody {
///     struct Body {
///       double x, y, mass;
///     };
///     ANABRANCH_AGGREGATE(Body, x, y, mass);
///     }
///
/// Then Vector<Body> is a host array of them, stored as one buffer per scalar, and of an Exp<Body> e the
/// fields are e->x, e->y, e->mass, also get<&Body::x>(e), get<0>(e) and auto [x, y, mass] = e. One is made by
/// make<Body>(x, y, mass). Fields are elements: scalars, products, other structs named before.
namespace anabranch {

namespace detail {

/// Finds the fields of T by argument-dependent lookup.
template <class T>
struct Named {};

/// What ANABRANCH_AGGREGATE says of a struct: the pointers to its fields, and a struct of the same names
/// whose fields are expressions.
template <class ExpFields, auto... Members>
struct FieldList {};

template <class T>
concept Aggregate = std::is_class_v<T> && requires { anabranch_fields(Named<T>{}); };
template <class T>
using FieldsOf = decltype(anabranch_fields(Named<T>{}));

template <class T, class F>
F field_type(F T::*);

/// The type of a field as an expression.
template <class T>
struct ExpField {
  struct None {};
  using type = None;  // refused by ANABRANCH_AGGREGATE
};
template <IsElement T>
struct ExpField<T> {
  using type = Exp<T>;
};

template <class List>
struct AggregateElement;
template <class E, auto... Members>
struct AggregateElement<FieldList<E, Members...>> {
  using ExpFields = E;
  using Fields = Types<decltype(field_type(Members))...>;
  static constexpr bool is_element = (IsElement<decltype(field_type(Members))> && ...);
  static constexpr bool is_scalar = false;
  static constexpr auto scalars = [] {
    if constexpr (is_element)
      return flatten<decltype(field_type(Members))...>();
    else
      return std::array<ScalarType, 0>{};
  }();
  template <class V, class F>
  static constexpr void visit(V& value, F&& f) {
    (Element<decltype(field_type(Members))>::visit(value.*Members, f), ...);
  }
  /// The number of a field.
  template <auto Field>
  static constexpr std::size_t position() {
    std::size_t at = 0;
    (void)((same<Field, Members>() || (++at, false)) || ...);
    return at;
  }

 private:
  template <auto A, auto B>
  static constexpr bool same() {
    return std::same_as<std::integral_constant<decltype(A), A>, std::integral_constant<decltype(B), B>>;
  }
};

template <Aggregate T>
struct Element<T> : AggregateElement<FieldsOf<T>> {};
template <Aggregate T>
struct Parts<T> {
  using type = typename Element<T>::Fields;
};

/// Stands for a value of any type where one counts the fields of a struct.
struct AnyValue {
  template <class T>
  operator T() const;
};
template <class T, std::size_t... I>
constexpr bool takes_values(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyValue{})...}; };
}
/// Whether T has a field (or a base) beyond those named.
template <class T>
constexpr bool has_more_fields() {
  if constexpr (IsElement<T>)
    return takes_values<T>(std::make_index_sequence<part_count<T> + 1>{});
  else
    return false;
}

}  // namespace detail

template <detail::CompositeElement T>
  requires detail::Aggregate<T>
struct ExpOperators<T> : ElementComparisons<T> {
  /// The fields as expressions: p->x.
  auto operator->() const {
    const auto& e = static_cast<const Exp<T>&>(*this);
    using Fields = typename detail::Element<T>::ExpFields;
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return detail::Arrow<Fields>{Fields{get<I>(e)...}};
    }(std::make_index_sequence<detail::part_count<T>>{});
  }
};

/// A field: get<&Point::x>(p), which is p->x.
template <auto Field, detail::Aggregate T>
  requires std::is_member_object_pointer_v<decltype(Field)>
auto get(const Exp<T>& e, std::source_location at = std::source_location::current()) {
  constexpr std::size_t position = detail::Element<T>::template position<Field>();
  static_assert(position < detail::part_count<T>,
                "anabranch: this is no field of the struct, or one that ANABRANCH_AGGREGATE does not name");
  return get < position<detail::part_count<T> ? position : 0>(e, at);
}

namespace detail {
template <class T, int N, class... Ts>
std::tuple<Acc<Array<N, Ts>>...> unzip_fields(Types<Ts...>, const Acc<Array<N, T>>& a, Loc at) {
  return unzip_at<Ts...>(at, a);
}
template <class T, int N, class... Ts>
std::tuple<Array<N, Ts>...> unzip_fields(Types<Ts...>, const Array<N, T>& a) {
  return unzip_host<Ts...>(a);
}
}  // namespace detail

/// An array of structs as one array for each field; free. auto [x, y, mass] = unzip(bodies).
template <int N, detail::Aggregate T>
auto unzip(const Acc<Array<N, T>>& a, detail::Loc at = detail::Loc::current()) {
  return detail::unzip_fields<T, N>(typename detail::Parts<T>::type{}, a, at);
}
/// The same of a host array; they share its elements.
template <int N, detail::Aggregate T>
auto unzip(const Array<N, T>& a) {
  return detail::unzip_fields<T, N>(typename detail::Parts<T>::type{}, a);
}

}  // namespace anabranch

#define ANABRANCH_FIELD(Type, field) ::anabranch::detail::ExpField<decltype(Type::field)>::type field;
#define ANABRANCH_MEMBER(Type, field) , &Type::field
#define ANABRANCH_INITIALIZED(Type, field) .field = std::declval<decltype(Fields::field)>(),

/// Makes a struct an element: its name, then all its fields in their order. In the namespace of the struct,
/// before the first use of it as an element; ends with a semicolon.
#define ANABRANCH_AGGREGATE(Type, ...)                                                                      \
  static_assert(std::is_aggregate_v<Type>,                                                                  \
                "anabranch: " #Type " is no aggregate: a struct without constructors and private fields");  \
  constexpr auto anabranch_fields(const ::anabranch::detail::Named<Type>&) {                                \
    struct ExpFields {                                                                                      \
      ANABRANCH_FOR_EACH(ANABRANCH_FIELD, Type, __VA_ARGS__)                                                \
    };                                                                                                      \
    return ::anabranch::detail::FieldList<ExpFields ANABRANCH_FOR_EACH(ANABRANCH_MEMBER, Type,              \
                                                                       __VA_ARGS__)>{};                     \
  }                                                                                                         \
  static_assert(!::anabranch::detail::AggregateElement<decltype(anabranch_fields(                           \
                        ::anabranch::detail::Named<Type>{}))>::is_element ||                                \
                    ::anabranch::IsElement<Type>,                                                           \
                "anabranch: ANABRANCH_AGGREGATE(" #Type                                                     \
                ", ...) stands in the namespace of the struct, before its first use as an element");        \
  static_assert(::anabranch::detail::AggregateElement<decltype(anabranch_fields(                            \
                    ::anabranch::detail::Named<Type>{}))>::is_element,                                      \
                "anabranch: a field of " #Type " is no element, which are " ANABRANCH_SCALAR_TYPES          \
                ", products of elements, and structs that ANABRANCH_AGGREGATE has named before");           \
  static_assert(!::anabranch::detail::has_more_fields<Type>(),                                              \
                "anabranch: " #Type " has more fields than ANABRANCH_AGGREGATE names: it would lose them"); \
  static_assert(                                                                                            \
      []<class Fields>() {                                                                                  \
        return requires { Fields{ANABRANCH_FOR_EACH(ANABRANCH_INITIALIZED, Fields, __VA_ARGS__)}; };        \
      }.template operator()<Type>(),                                                                        \
      "anabranch: ANABRANCH_AGGREGATE names the fields of " #Type " in their order, each once")
