#pragma once

#include <concepts>
#include <limits>
#include <source_location>
#include <tuple>
#include <type_traits>

#include <anabranch/detail/callable.h>
#include <anabranch/detail/core.h>
#include <anabranch/element.h>

/// Scalar expressions. An Exp<T> stands for one value of element type T that is computed on the device,
/// inside the function that a collective operation applies to every element. It is a handle to a node of the
/// program: copying one is cheap, and an Exp used twice is computed once.
namespace anabranch {

template <class T>
class Exp;
template <class T>
class BitNumber;

/// The operators of Exp<T> beside those of scalars, as friends of a base class: specialised by kinds of
/// elements.
template <class T>
struct ExpOperators {};

namespace detail {

/// An element of several scalars, or of one with a meaning of its own.
template <class T>
concept CompositeElement = IsElement<T> && !IsScalar<T>;

/// Whether operators calculate with values of T.
template <class T>
inline constexpr bool has_arithmetic = IsScalar<T>;

/// Whether T holds an integer, which may be a character: 'a' is 97.
template <class T, class U>
constexpr bool in_range(U value) {
  return std::in_range<T>(+value);
}

/// A value of U always survives conversion to T (int32 to double, float to double, ...).
template <class U, class T>
concept Lossless =
    NumericValue<U> && NumericValue<T> && !std::same_as<T, bool> &&
    (std::same_as<U, T> || (std::same_as<U, bool> && IntegerValue<T>) ||
     (IntegerValue<U> && IntegerValue<T> && in_range<T>(std::numeric_limits<U>::max()) &&
      in_range<T>(std::numeric_limits<U>::min())) ||
     (IntegerValue<U> && FloatValue<T> && std::numeric_limits<U>::digits <= std::numeric_limits<T>::digits) ||
     (FloatValue<U> && FloatValue<T> && std::numeric_limits<U>::digits <= std::numeric_limits<T>::digits));

/// Whether the floating-point type T holds a literal.
template <FloatValue T, NumericValue U>
constexpr bool holds(U value) {
  const T rounded = static_cast<T>(value);
  if constexpr (FloatValue<U>)
    if (value != value) return true;  // NaN
  if constexpr (IntegerValue<U>) {
    // 2^digits is the first number that is too large for U: largest numbers are rounded to it.
    constexpr double end =
        2.0 * static_cast<double>(std::uint64_t{1} << (std::numeric_limits<U>::digits - 1));
    const auto whole = static_cast<double>(rounded);
    if (whole >= end || whole < -end) return false;
  }
  return static_cast<U>(rounded) == value;
}

/// What becomes of a literal where T does not hold it.
enum class Misfit { none, range, inexact };
template <class T, class U>
constexpr Misfit misfit(const U& value) {
  if constexpr (IntegerValue<T> && IntegerValue<U> && !std::same_as<T, bool>)
    return in_range<T>(value) ? Misfit::none : Misfit::range;
  else if constexpr (FloatValue<T> && NumericValue<U>)
    return holds<T>(value) ? Misfit::none : Misfit::inexact;
  else
    return Misfit::none;
}

/// The constant of any element type: a tuple of its scalars.
template <IsElement T>
Handle constant_of(const T& value, Place at) {
  Handles parts;
  Element<T>::visit(value, [&](const auto& scalar) {
    using S = std::remove_cvref_t<decltype(scalar)>;
    parts.push_back(constant(scalar_type<S>, bits_of(scalar), at));
  });
  return parts.size() == 1 ? parts[0] : tuple(std::move(parts), at);
}

/// The number of a dimension, with the line it stands on.
struct Dimension {
  Dimension(int d, std::source_location at = std::source_location::current()) : number(d), place(at) {}
  int number;
  Place place;
};

template <class U>
void assigned_to_a_temporary() {
  static_assert(
      always_false<U>,
      "anabranch: this assigns to a temporary and would change nothing: the arrays of a program are "
      "values. Make a new one with map or generate, or change the host array before `use`");
}

/// Values that an Exp<T> is not made of though they come to mind, specialised by kinds of elements: `refuses`,
/// `refuses_operand` (by operators, too), and `answer`, which says what to write.
template <class T>
struct Stranger {
  template <class X>
  static constexpr bool refuses = false;
  template <class X>
  static constexpr bool refuses_operand = false;
  template <class X>
  static void answer() {}
};

struct FromHandle {};  // tag: an Exp, Acc or Seq around a node whose type the caller vouches for

}  // namespace detail

/// An operand as operators take it: an Exp<T>, a value of T, or a literal that T can hold exactly, together
/// with the source line it stands on. `x * 2` works for Exp<float>; `x * 0.1` does not compile: 0.1 is no
/// float.
template <class T>
class Located {
 public:
  Located(const Exp<T>& value, std::source_location at = std::source_location::current());
  template <class U>
    requires std::same_as<U, T> || detail::Lossless<U, T>
  Located(const U& value, std::source_location at = std::source_location::current())
      : at_(at), handle_(detail::constant_of<T>(static_cast<T>(value), at)) {}
  template <class U>
    requires(detail::NumericValue<U> && detail::NumberElement<T> && !std::same_as<U, T> &&
             !detail::Lossless<U, T>)
#ifdef __clang__
  // A consteval constructor would make functions around it immediate, and the message that of another mistake.
  Located(const U& value, std::source_location at = std::source_location::current()) __attribute__((
      diagnose_if(!__builtin_constant_p(value),
                  "anabranch: a value that only the run knows, of a type that may lose something: cast the "
                  "value, as in float(a)",
                  "error"),
      diagnose_if(detail::misfit<T>(value) == detail::Misfit::range,
                  "anabranch: the literal is out of range for the element type; use cast<T>(...)", "error"),
      diagnose_if(detail::misfit<T>(value) == detail::Misfit::inexact,
                  "anabranch: the element type does not hold this literal exactly; write it in that type, as "
                  "in 0.1F",
                  "error")))
      : at_(at) {
#else
  consteval Located(const U& value, std::source_location at = std::source_location::current()) : at_(at) {
    // A throw in a constant expression is an error at compile time that shows its own text.
    if (!__builtin_constant_p(value))
      throw "anabranch: a value that only the run knows, of a type that may lose something: cast the value, as in float(a)";
    if (detail::misfit<T>(value) == detail::Misfit::range)
      throw "anabranch: the literal is out of range for the element type; use cast<T>(...)";
    if (detail::misfit<T>(value) == detail::Misfit::inexact)
      throw "anabranch: the element type does not hold this literal exactly; write it in that type, as in 0.1F";
#endif
    static_assert(
        !(detail::FloatValue<U> && detail::IntegerValue<T>),
        "anabranch: a floating-point literal meets an integer; convert the integer with cast<T>(...)");
    literal_ = static_cast<T>(value);
    is_literal_ = true;
  }
  template <class X>
    requires(detail::Stranger<T>::template refuses_operand<X>)
  Located(const X&) {
    detail::Stranger<T>::template answer<X>();
  }

  Exp<T> value() const;
  std::source_location place() const { return at_; }

 private:
  struct NoLiteral {};
  std::source_location at_;
  detail::Handle handle_;
  std::conditional_t<detail::NumericValue<T>, T, NoLiteral> literal_{};
  bool is_literal_ = false;
};

/// One value of element type T, computed on the device.
template <class T>
class Exp : public ExpOperators<T> {
  static_assert(IsElement<T>, "anabranch: an Exp is one element, which are " ANABRANCH_ELEMENTS);

 public:
  using value_type = T;

  /// A constant, or a value of a type that converts without loss.
  template <class U>
    requires std::same_as<U, T> || detail::Lossless<U, T>
  Exp(const U& value, std::source_location at = std::source_location::current())
      : handle_(detail::constant_of<T>(static_cast<T>(value), at)) {}
  /// A literal whose value T holds exactly, as in Exp<float>(2); `Exp<float> x = 2` would be two conversions.
  Exp(const Located<T>& value) : handle_(value.value().handle()) {}
  template <class X>
    requires(detail::Stranger<T>::template refuses<X>)
  Exp(const X&) {
    detail::Stranger<T>::template answer<X>();
  }
  template <IsScalar U>
    requires(IsScalar<T> && !std::same_as<U, T>)
  explicit Exp(const Exp<U>&) {
    static_assert(detail::always_false<U>,
                  "anabranch: an Exp of another element type; convert it with cast<T>(x)");
  }

  Exp(const Exp&) = default;
  Exp(Exp&&) noexcept = default;
  /// A variable may be given another expression; what a function returns, such as v[0], may not.
  Exp& operator=(const Exp&) & = default;
  Exp& operator=(Exp&&) & noexcept = default;
  template <class U>
  Exp& operator=(U&&) && {
    detail::assigned_to_a_temporary<U>();
    return *this;
  }

  /// A tuple from its parts.
  template <class... Us>
    requires(sizeof...(Us) >= 2 && std::same_as<std::tuple<Us...>, T>)
  Exp(const Exp<Us>&... parts) : handle_(detail::tuple({parts.handle()...}, {})) {}

  /// Refused, with a sentence: while the program is being built there is no value to test or to convert.
  template <class B>
    requires detail::NumericValue<B>
  explicit operator B() const {
    static_assert(
        !std::same_as<B, bool>,
        "anabranch: an Exp has no value while the program is being built, so `if`, `while`, `?:` cannot test "
        "it; use cond(condition, then, otherwise) or while_loop");
    static_assert(
        std::same_as<B, bool>,
        "anabranch: an Exp has no value while the program is being built; cast<float>(x) converts it "
        "where it is computed, some(x) makes an optional of it");
    return {};
  }

  /// Component d of an index or shape; ProgramError where there is none.
  auto operator[](detail::Dimension d) const
    requires(std::same_as<T, Index<detail::components<T>>>)
  {
    detail::check_dimension("index", d.number, detail::components<T>, d.place);
    return Exp<std::int64_t>(detail::FromHandle{}, detail::project(handle_, d.number, 1, d.place));
  }

  Exp(detail::FromHandle, detail::Handle handle) : handle_(std::move(handle)) {}
  const detail::Handle& handle() const { return handle_; }

 private:
  using L = Located<T>;
  using P = detail::Primitive;
  static Exp binary(P op, const L& a, const L& b) {
    return {detail::FromHandle{}, detail::primitive(op, {a.value().handle(), b.value().handle()}, a.place())};
  }
  static Exp<bool> compare(P op, const L& a, const L& b);
  static constexpr bool number = detail::NumberElement<T>;
  static constexpr bool integer = detail::IntegerElement<T>;

 public:
  // Arithmetic: integers wrap, `/` and `%` on integers truncate
  // and refuse 0 at run time (RunError with the place).
  friend Exp operator+(const L& a, const L& b)
    requires number
  {
    return binary(P::add, a, b);
  }
  friend Exp operator-(const L& a, const L& b)
    requires number
  {
    return binary(P::subtract, a, b);
  }
  friend Exp operator*(const L& a, const L& b)
    requires number
  {
    return binary(P::multiply, a, b);
  }
  friend Exp operator/(const L& a, const L& b)
    requires number
  {
    return binary(P::divide, a, b);
  }
  friend Exp operator%(const L& a, const L& b)
    requires number
  {
    return binary(P::remainder, a, b);
  }
  friend Exp operator-(const L& a)
    requires number
  {
    return {detail::FromHandle{}, detail::primitive(P::negate, {a.value().handle()}, a.place())};
  }
  friend Exp operator&(const L& a, const L& b)
    requires integer
  {
    return binary(P::bit_and, a, b);
  }
  friend Exp operator|(const L& a, const L& b)
    requires integer
  {
    return binary(P::bit_or, a, b);
  }
  friend Exp operator^(const L& a, const L& b)
    requires integer
  {
    return binary(P::bit_xor, a, b);
  }
  friend Exp operator~(const L& a)
    requires integer
  {
    const std::uint64_t ones = detail::scalar_info(detail::scalar_type<T>).identities.bit_and;
    const detail::Handle all = detail::constant(detail::scalar_type<T>, ones, a.place());
    return {detail::FromHandle{}, detail::primitive(P::bit_xor, {a.value().handle(), all}, a.place())};
  }
  // Shifts, by a count modulo the width; to the right of a signed number its sign moves in.
  friend Exp operator<<(const L& a, const BitNumber<T>& by)
    requires integer
  {
    return {detail::FromHandle{},
            detail::primitive(P::shift_left, {a.value().handle(), by.value().handle()}, a.place())};
  }
  friend Exp operator>>(const L& a, const BitNumber<T>& by)
    requires integer
  {
    return {detail::FromHandle{},
            detail::primitive(P::shift_right, {a.value().handle(), by.value().handle()}, a.place())};
  }
  // Comparisons are IEEE.
  friend Exp<bool> operator==(const L& a, const L& b)
    requires IsScalar<T>
  {
    return compare(P::equal, a, b);
  }
  friend Exp<bool> operator!=(const L& a, const L& b)
    requires IsScalar<T>
  {
    return compare(P::not_equal, a, b);
  }
  friend Exp<bool> operator<(const L& a, const L& b)
    requires IsScalar<T>
  {
    return compare(P::less, a, b);
  }
  friend Exp<bool> operator<=(const L& a, const L& b)
    requires IsScalar<T>
  {
    return compare(P::less_equal, a, b);
  }
  friend Exp<bool> operator>(const L& a, const L& b)
    requires IsScalar<T>
  {
    return compare(P::less, b, a);
  }
  friend Exp<bool> operator>=(const L& a, const L& b)
    requires IsScalar<T>
  {
    return compare(P::less_equal, b, a);
  }
  // Logic: the right side is evaluated only when it is needed.
  friend Exp operator&&(const Exp& a, const Exp& b)
    requires std::same_as<T, bool>
  {
    return {detail::FromHandle{},
            detail::cond(a.handle_, b.handle_, detail::constant(ScalarType::boolean, 0, {}), {})};
  }
  template <std::same_as<bool> B>
  friend Exp operator&&(const Exp& a, B b)
    requires std::same_as<T, bool>
  {
    return a && Exp(b);
  }
  template <std::same_as<bool> B>
  friend Exp operator&&(B a, const Exp& b)
    requires std::same_as<T, bool>
  {
    return Exp(a) && b;
  }
  template <std::same_as<bool> B>
  friend Exp operator||(const Exp& a, B b)
    requires std::same_as<T, bool>
  {
    return a || Exp(b);
  }
  template <std::same_as<bool> B>
  friend Exp operator||(B a, const Exp& b)
    requires std::same_as<T, bool>
  {
    return Exp(a) || b;
  }
  friend Exp operator||(const Exp& a, const Exp& b)
    requires std::same_as<T, bool>
  {
    return {detail::FromHandle{},
            detail::cond(a.handle_, detail::constant(ScalarType::boolean, 1, {}), b.handle_, {})};
  }
  friend Exp operator!(const Exp& a)
    requires std::same_as<T, bool>
  {
    return {detail::FromHandle{}, detail::primitive(P::logical_not, {a.handle_}, {})};
  }

 private:
  detail::Handle handle_;
};

template <IsElement T>
Exp(T) -> Exp<T>;

template <class T>
Exp<bool> Exp<T>::compare(P op, const L& a, const L& b) {
  return {detail::FromHandle{}, detail::primitive(op, {a.value().handle(), b.value().handle()}, a.place())};
}

template <class T>
Located<T>::Located(const Exp<T>& value, std::source_location at) : at_(at), handle_(value.handle()) {}

template <class T>
Exp<T> Located<T>::value() const {
  if constexpr (detail::NumericValue<T>) {
    if (is_literal_) return {detail::FromHandle{}, detail::constant_of<T>(literal_, at_)};
  }
  return {detail::FromHandle{}, handle_};
}

namespace detail {

template <class X>
struct ExpOf {
  static constexpr bool is_exp = false;
};
template <IsElement T>
struct ExpOf<Exp<T>> {
  static constexpr bool is_exp = true;
  using type = T;
};
template <class X>
concept IsExp = ExpOf<std::remove_cvref_t<X>>::is_exp;

/// What goes where a Located<T> is taken. (Of a number the compiler says by itself whether T holds it.)
template <class X, class T>
concept OperandOf = (NumericValue<X> && NumberElement<T>) || std::convertible_to<const X&, Located<T>>;

/// An Acc, a Seq or a Terminal.
template <class X>
concept Collective = !IsExp<X> && requires(const X& x) {
  { x.handle() } -> std::same_as<const Handle&>;
};

/// A tuple of such parts, or a pair where X is one.
template <class X, class... Ts>
struct ProductLike {
  using type = std::tuple<Ts...>;
};
template <class A, class B, class... Ts>
struct ProductLike<std::pair<A, B>, Ts...> {
  using type = std::pair<Ts...>;
};

/// What a user's function returned, as an Exp: an Exp itself, a plain value, or a tuple or pair of such.
template <class X>
auto as_exp(const X& x, Place at = {}) {
  if constexpr (IsExp<X>) {
    return x;
  } else if constexpr (IsElement<X>) {
    return Exp<X>(FromHandle{}, constant_of<X>(x, at));
  } else if constexpr (requires { std::tuple_size<X>::value; }) {
    return std::apply(
        [&](const auto&... parts) {
          using T = typename ProductLike<X, typename decltype(as_exp(parts))::value_type...>::type;
          return Exp<T>(FromHandle{}, tuple({as_exp(parts, at).handle()...}, at));
        },
        x);
  } else {
    static_assert(always_false<X>,
                  "anabranch: a scalar function returns an Exp, a plain value, or a std::tuple of them");
  }
}

/// A tuple or pair with an Exp among its parts, or among those of a part: `as_exp` makes one Exp of it.
template <class X>
inline constexpr bool has_exp = IsExp<X>;
template <class... Xs>
inline constexpr bool has_exp<std::tuple<Xs...>> = (has_exp<Xs> || ...);
template <class A, class B>
inline constexpr bool has_exp<std::pair<A, B>> = has_exp<A> || has_exp<B>;
template <class X>
concept ProductOfExps = has_exp<X> && !IsExp<X>;

template <class T>
Exp<T> fresh_parameter(Place at) {
  return {FromHandle{}, element_parameter(Element<T>::scalars, at)};
}

/// Where a user's function is refused: what its caller goes on with, so that it says nothing more.
template <class P, class... Ps>
std::pair<Handle, P> untraced(const P& first, const Ps&...) {
  return {Handle{}, first};
}

template <class F, class... Ps>
auto traced(F& f, Place at, Symbol label, Ps&... parameters) {
  if constexpr (!takes<F, Ps&...>()) {
    static_assert(always_false<F>,
                  "anabranch: this function cannot be called with the elements of these arrays; check its "
                  "parameter types and their number (operators as plus take elements of one type)");
    return untraced(parameters...);
  } else if constexpr (!requires { f(parameters...); }) {
    f(parameters...);  // does not compile: what is wrong inside is said there
    return untraced(parameters...);
  } else if constexpr (std::is_void_v<decltype(f(parameters...))>) {
    static_assert(always_false<F>,
                  "anabranch: this function returns nothing; it has to return the value of an element");
    return untraced(parameters...);
  } else {
    auto result = as_exp(f(parameters...), at);
    Handle function = detail::lambda({parameters.handle()...}, {result.handle()}, at, label);
    return std::pair<Handle, decltype(result)>(std::move(function), std::move(result));
  }
}

/// Traces a user's scalar function: calls it once with fresh parameters of types Ts.
template <class... Ts, class F>
auto trace_function(F&& f, Place at, Symbol label = {}) {
  std::tuple<Exp<Ts>...> parameters{fresh_parameter<Ts>(at)...};
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return traced(f, at, label, std::get<I>(parameters)...);
  }(std::index_sequence_for<Ts...>{});
}

template <class T, std::size_t I>
constexpr int first_component() {
  int first = 0;
  [&]<std::size_t... J>(std::index_sequence<J...>) {
    ((first += components<std::tuple_element_t<J, T>>), ...);
  }(std::make_index_sequence<I>{});
  return first;
}

}  // namespace detail

/// Component I of a tuple. Also what structured bindings use: auto [a, b] = e.
template <std::size_t I, class T>
  requires(I < std::tuple_size<T>::value)
auto get(const Exp<T>& e, std::source_location at = std::source_location::current()) {
  using Part = std::tuple_element_t<I, T>;
  return Exp<Part>(detail::FromHandle{}, detail::project(e.handle(), detail::first_component<T, I>(),
                                                         detail::components<Part>, at));
}
/// Component I of an index or shape.
template <std::size_t I, int N>
  requires(static_cast<int>(I) < N)
Exp<std::int64_t> get(const Exp<Index<N>>& e, std::source_location at = std::source_location::current()) {
  return {detail::FromHandle{}, detail::project(e.handle(), static_cast<int>(I), 1, at)};
}

/// Refused, with a sentence: a part by its type.
template <class Part, detail::IsExp X>
  requires requires { std::tuple_size<X>::value; }
auto get(const X&) {
  static_assert(detail::always_false<X>, "anabranch: get takes the number of a part, as in get<0>(e)");
  return Exp<double>(detail::FromHandle{}, {});
}

/// A tuple from its parts: pack(a, b) : Exp<std::tuple<A, B>>.
template <class... Xs>
auto pack(const Xs&... parts) {
  return detail::as_exp(std::tuple<Xs...>(parts...));
}

/// A position or a length: a number or an Exp of any integer type, with the source line it stands on.
class Position {
 public:
  template <class U>
    requires detail::NumericValue<U>
  Position(const U& value, std::source_location at = std::source_location::current())
      : at_(at), handle_(detail::constant_of(static_cast<std::int64_t>(value), at)) {
    check<U>();
  }
  template <IsScalar T>
  Position(const Exp<T>& value, std::source_location at = std::source_location::current())
      : at_(at),
        handle_(detail::scalar_type<T> == ScalarType::int64
                    ? value.handle()
                    : detail::cast(ScalarType::int64, value.handle(), at)) {
    check<T>();
  }

  Exp<std::int64_t> value() const { return {detail::FromHandle{}, handle_}; }
  std::source_location place() const { return at_; }

 private:
  template <class U>
  static constexpr void check() {
    static_assert(detail::IntegerValue<U> && !std::same_as<U, bool>,
                  "anabranch: a position or length is an integer; convert with cast<int64_t>(x)");
  }
  std::source_location at_;
  detail::Handle handle_;
};

/// Which bit of a T, or by how many bits: a number or an Exp of any integer type, modulo the width of T (so
/// that it may be converted to T, whatever its low bits mean there).
template <class T>
class BitNumber {
 public:
  template <class U>
    requires detail::NumericValue<U>
  BitNumber(const U& value, std::source_location at = std::source_location::current())
      : at_(at), handle_(detail::constant_of(static_cast<T>(value), at)) {
    check<U>();
  }
  template <IsScalar U>
  BitNumber(const Exp<U>& value, std::source_location at = std::source_location::current())
      : at_(at),
        handle_(detail::scalar_type<U> == detail::scalar_type<T>
                    ? value.handle()
                    : detail::cast(detail::scalar_type<T>, value.handle(), at)) {
    check<U>();
  }

  Exp<T> value() const { return {detail::FromHandle{}, handle_}; }
  std::source_location place() const { return at_; }

 private:
  template <class U>
  static constexpr void check() {
    static_assert(detail::IntegerValue<U> && !std::same_as<U, bool>,
                  "anabranch: the number of a bit, or of bits to shift by, is an integer; convert with "
                  "cast<int32_t>(x)");
  }
  std::source_location at_;
  detail::Handle handle_;
};

/// A position: index_of(i, j) : Exp<Index<2>>. Numbers or Exps of any integer type.
template <std::convertible_to<Position>... I>
Exp<Index<static_cast<int>(sizeof...(I))>> index_of(const I&... at) {
  return {detail::FromHandle{}, detail::tuple({Position(at).value().handle()...}, {})};
}

/// `then` where the condition holds, else `otherwise`;
/// the other one is not evaluated (no error of it can appear).
template <IsElement T>
Exp<T> cond(const Exp<bool>& condition, const Exp<T>& then, const Exp<T>& otherwise,
            std::source_location at = std::source_location::current()) {
  return {detail::FromHandle{}, detail::cond(condition.handle(), then.handle(), otherwise.handle(), at)};
}
template <IsElement T>
Exp<T> cond(const Exp<bool>& condition, const Exp<T>& then, const std::type_identity_t<Located<T>>& otherwise,
            std::source_location at = std::source_location::current()) {
  return cond(condition, then, otherwise.value(), at);
}
template <IsElement T>
Exp<T> cond(const Exp<bool>& condition, const std::type_identity_t<Located<T>>& then, const Exp<T>& otherwise,
            std::source_location at = std::source_location::current()) {
  return cond(condition, then.value(), otherwise, at);
}
/// Of two plain values of one type.
template <IsElement T>
Exp<T> cond(const Exp<bool>& condition, const T& then, const T& otherwise,
            std::source_location at = std::source_location::current()) {
  return cond(condition, Exp<T>(then, at), Exp<T>(otherwise, at), at);
}
/// f(f(... x)) as long as p holds of the value.
template <class P, class F, IsElement T>
Exp<T> while_loop(P p, F f, const Exp<T>& x, std::source_location at = std::source_location::current()) {
  auto [condition, truth] = detail::trace_function<T>(p, at);
  static_assert(std::same_as<decltype(truth), Exp<bool>>,
                "anabranch: while_loop's condition returns an Exp<bool>");
  auto [body, next] = detail::trace_function<T>(f, at);
  static_assert(std::same_as<decltype(next), Exp<T>>,
                "anabranch: while_loop's function returns what it takes");
  return {detail::FromHandle{}, detail::while_loop(condition, body, x.handle(), at)};
}
/// From a plain value.
template <class P, class F, IsElement T>
Exp<T> while_loop(P p, F f, const T& x, std::source_location at = std::source_location::current()) {
  return while_loop(std::move(p), std::move(f), Exp<T>(x, at), at);
}
/// Conversion. Float to integer truncates and saturates, NaN gives 0; integers keep their low bits; to bool:
/// != 0.
template <IsScalar U, IsScalar T>
Exp<U> cast(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return {detail::FromHandle{}, detail::cast(detail::scalar_type<U>, x.handle(), at)};
}

namespace detail {
template <class T>
Exp<T> unary(Primitive op, const Exp<T>& x, Place at) {
  return {FromHandle{}, primitive(op, {x.handle()}, at)};
}
}  // namespace detail

/// NaN on either side gives NaN.
template <detail::NumberElement T>
Exp<T> min(const Exp<T>& a, const Exp<T>& b, std::source_location at = std::source_location::current()) {
  return {detail::FromHandle{}, detail::primitive(detail::Primitive::minimum, {a.handle(), b.handle()}, at)};
}
template <detail::NumberElement T>
Exp<T> min(const Exp<T>& a, const std::type_identity_t<Located<T>>& b) {
  return min(a, b.value(), b.place());
}
template <detail::NumberElement T>
Exp<T> min(const std::type_identity_t<Located<T>>& a, const Exp<T>& b) {
  return min(a.value(), b, a.place());
}
template <detail::NumberElement T>
Exp<T> max(const Exp<T>& a, const Exp<T>& b, std::source_location at = std::source_location::current()) {
  return {detail::FromHandle{}, detail::primitive(detail::Primitive::maximum, {a.handle(), b.handle()}, at)};
}
template <detail::NumberElement T>
Exp<T> max(const Exp<T>& a, const std::type_identity_t<Located<T>>& b) {
  return max(a, b.value(), b.place());
}
template <detail::NumberElement T>
Exp<T> max(const std::type_identity_t<Located<T>>& a, const Exp<T>& b) {
  return max(a.value(), b, a.place());
}
template <detail::NumberElement T>
Exp<T> abs(const Exp<T>& x, std::source_location at = std::source_location::current()) {
  return detail::unary(detail::Primitive::absolute, x, at);
}
/// a * b + c with one rounding. One or two of them may be literals.
template <detail::FloatElement T>
Exp<T> fma(const Exp<T>& a, const Exp<T>& b, const Exp<T>& c,
           std::source_location at = std::source_location::current()) {
  return {detail::FromHandle{},
          detail::primitive(detail::Primitive::fma, {a.handle(), b.handle(), c.handle()}, at)};
}
template <detail::FloatElement T>
Exp<T> fma(const Exp<T>& a, const Exp<T>& b, const std::type_identity_t<Located<T>>& c) {
  return fma(a, b, c.value(), c.place());
}
template <detail::FloatElement T>
Exp<T> fma(const Exp<T>& a, const std::type_identity_t<Located<T>>& b, const Exp<T>& c) {
  return fma(a, b.value(), c, b.place());
}
template <detail::FloatElement T>
Exp<T> fma(const std::type_identity_t<Located<T>>& a, const Exp<T>& b, const Exp<T>& c) {
  return fma(a.value(), b, c, a.place());
}
template <detail::FloatElement T>
Exp<T> fma(const Exp<T>& a, const std::type_identity_t<Located<T>>& b,
           const std::type_identity_t<Located<T>>& c) {
  return fma(a, b.value(), c.value(), b.place());
}
template <detail::FloatElement T>
Exp<T> fma(const std::type_identity_t<Located<T>>& a, const Exp<T>& b,
           const std::type_identity_t<Located<T>>& c) {
  return fma(a.value(), b, c.value(), a.place());
}
template <detail::FloatElement T>
Exp<T> fma(const std::type_identity_t<Located<T>>& a, const std::type_identity_t<Located<T>>& b,
           const Exp<T>& c) {
  return fma(a.value(), b.value(), c, a.place());
}

/// Function objects for map, zip_with and fold. Folds over these operators may use several lanes (see the
/// language reference, "Order of reduction"); a lambda that says the same is recognised too.
inline constexpr auto plus = []<class T>(const Exp<T>& a, const Exp<T>& b) { return a + b; };
inline constexpr auto minus = []<class T>(const Exp<T>& a, const Exp<T>& b) { return a - b; };
inline constexpr auto times = []<class T>(const Exp<T>& a, const Exp<T>& b) { return a * b; };
inline constexpr auto divides = []<class T>(const Exp<T>& a, const Exp<T>& b) { return a / b; };
inline constexpr auto minimum_of = []<class T>(const Exp<T>& a, const Exp<T>& b) { return min(a, b); };
inline constexpr auto maximum_of = []<class T>(const Exp<T>& a, const Exp<T>& b) { return max(a, b); };

}  // namespace anabranch

template <class T>
  requires requires { std::tuple_size<T>::value; }
struct std::tuple_size<anabranch::Exp<T>> : std::tuple_size<T> {};
template <std::size_t I, class T>
  requires requires { std::tuple_size<T>::value; }
struct std::tuple_element<I, anabranch::Exp<T>> {
  using type = anabranch::Exp<std::tuple_element_t<I, T>>;
};
template <int N>
struct std::tuple_size<anabranch::Exp<anabranch::Index<N>>>
    : std::integral_constant<std::size_t, static_cast<std::size_t>(N)> {};
template <std::size_t I, int N>
struct std::tuple_element<I, anabranch::Exp<anabranch::Index<N>>> {
  using type = anabranch::Exp<std::int64_t>;
};

// They use what stands above.
#include <anabranch/mathematics.h>
#include <anabranch/product.h>

#include <anabranch/detail/misuse.h>
