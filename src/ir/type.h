#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <anabranch/element.h>

/// Types of the core language. The C++ rim knows nested products; the core knows flat lists of scalars.
namespace anabranch::ir {

using Scalars = std::vector<ScalarType>;

/// An array of rank `rank` whose elements have these scalar components.
struct ArrayType {
  int rank = 0;
  Scalars scalars;
  friend bool operator==(const ArrayType&, const ArrayType&) = default;
};

/// element: a product of scalars. array: one array. arrays: what an operation with several results gives.
/// sequence: a stream whose items are tuples of arrays. function: only of a lambda node.
struct Type {
  enum class Kind : unsigned char { element, array, arrays, sequence, function };
  Kind kind = Kind::element;
  Scalars scalars;                ///< of an element, or of an array's element
  int rank = 0;                   ///< of an array
  std::vector<ArrayType> arrays;  ///< several arrays, or those of a sequence's items

  static Type element(Scalars s) { return {Kind::element, std::move(s), 0, {}}; }
  static Type element(ScalarType s) { return {Kind::element, {s}, 0, {}}; }
  static Type array(int rank, Scalars s) { return {Kind::array, std::move(s), rank, {}}; }
  static Type array(const ArrayType& a) { return array(a.rank, a.scalars); }
  static Type several(std::vector<ArrayType> a) { return {Kind::arrays, {}, 0, std::move(a)}; }
  static Type sequence(std::vector<ArrayType> a) { return {Kind::sequence, {}, 0, std::move(a)}; }
  static Type function() { return {Kind::function, {}, 0, {}}; }

  bool is_element() const { return kind == Kind::element; }
  bool is_array() const { return kind == Kind::array; }
  bool is_several() const { return kind == Kind::arrays; }
  bool is_sequence() const { return kind == Kind::sequence; }
  /// Exactly one scalar of that type.
  bool is(ScalarType s) const { return kind == Kind::element && scalars.size() == 1 && scalars[0] == s; }
  ArrayType array_type() const { return {rank, scalars}; }
  int components() const { return static_cast<int>(scalars.size()); }

  friend bool operator==(const Type&, const Type&) = default;
};

using anabranch::detail::scalar_info;
using anabranch::detail::ScalarInfo;
using anabranch::detail::ScalarKind;

inline bool is_float(ScalarType t) { return scalar_info(t).kind == ScalarKind::floating; }
inline bool is_signed(ScalarType t) { return scalar_info(t).kind == ScalarKind::signed_integer; }
inline bool is_integer(ScalarType t) {
  return is_signed(t) || scalar_info(t).kind == ScalarKind::unsigned_integer;
}
/// The value of an integer or bool, as bits: sign-extended where it has a sign, else zero-extended.
inline std::int64_t integer_of(ScalarType type, std::uint64_t bits) {
  const int unused = 64 - scalar_info(type).bits;
  return is_signed(type) ? static_cast<std::int64_t>(bits << unused) >> unused
                         : static_cast<std::int64_t>(bits << unused >> unused);
}

/// "(int32, double)", "double", "()".
std::string to_string(const Scalars& scalars);
/// "double", "Vector (int32, double)", "Array<2> float", "(Vector int32, Scalar double)", "Seq (...)".
std::string to_string(const Type& type);

}  // namespace anabranch::ir
