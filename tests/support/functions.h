#pragma once

#include "ir/make.h"
#include "support/host_arrays.h"

/// Small functions of the core language, for white-box tests.
namespace anabranch::testing {

inline ir::Scalars int64s(int n) { return ir::Scalars(static_cast<std::size_t>(n), ScalarType::int64); }

inline ir::Ref shape_of(const std::vector<std::int64_t>& extents) {
  std::vector<ir::Ref> parts;
  for (std::int64_t e : extents) parts.push_back(ir::int64(e));
  return ir::tuple(std::move(parts));
}

/// A function of one element.
template <class F>
ir::Ref unary(const ir::Scalars& scalars, F&& body, Place place = {}) {
  const ir::Ref x = ir::parameter(ir::Type::element(scalars), place);
  return ir::lambda({x}, {body(x)}, place);
}

/// A function of two elements of one type.
template <class F>
ir::Ref binary(const ir::Scalars& scalars, F&& body, Place place = {}) {
  const ir::Ref x = ir::parameter(ir::Type::element(scalars), place);
  const ir::Ref y = ir::parameter(ir::Type::element(scalars), place);
  return ir::lambda({x, y}, {body(x, y)}, place);
}

/// A binary primitive as a function.
inline ir::Ref operation(ir::Primitive primitive, ScalarType type) {
  return binary({type}, [&](const ir::Ref& x, const ir::Ref& y) { return ir::primitive(primitive, {x, y}); });
}

/// A function of one array that gives one array.
template <class F>
ir::Ref on_array(const ir::ArrayType& type, F&& body, Place place = {}) {
  const ir::Ref a = ir::parameter(ir::Type::array(type), place);
  return ir::lambda({a}, {body(a)}, place);
}

/// The only element of a rank-0 array.
inline ir::Ref the(const ir::Ref& scalar_array) { return ir::index(scalar_array, ir::tuple({})); }

/// A place in a made-up file, to be found in messages.
inline Place at_line(std::uint32_t line) {
  Place place;
  place.file = "user.cpp";
  place.function = "main";
  place.line = line;
  return place;
}

}  // namespace anabranch::testing
