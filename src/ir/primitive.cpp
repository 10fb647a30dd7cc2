#include "ir/primitive.h"

#include <iterator>
#include <string>

#include <anabranch/error.h>

namespace anabranch::ir {

namespace {

struct Row {
  Primitive primitive;
  PrimitiveInfo info;
};

using enum Operands;
using Identities = anabranch::detail::ScalarIdentities;

// The costs are rough reciprocal throughputs on a vector unit, in additions. What may be computed twice, what
// is evaluated ahead of a branch and how work is cut depend on them (ir/cost.h); results do not.
constexpr Row table[] = {
    // name, arity, operands, boolean, can_fail, mathematical, cost, identity
    {Primitive::add, {"add", 2, numbers, false, false, false, 1, &Identities::add}},
    {Primitive::subtract, {"subtract", 2, numbers, false, false, false, 1}},
    {Primitive::multiply, {"multiply", 2, numbers, false, false, false, 1, &Identities::multiply}},
    {Primitive::divide, {"divide", 2, numbers, false, true, false, 8}},
    {Primitive::remainder, {"remainder", 2, numbers, false, true, false, 12}},
    {Primitive::negate, {"negate", 1, numbers, false, false, false, 1}},
    {Primitive::absolute, {"absolute", 1, numbers, false, false, false, 1}},
    {Primitive::minimum, {"minimum", 2, numbers, false, false, false, 2, &Identities::minimum}},
    {Primitive::maximum, {"maximum", 2, numbers, false, false, false, 2, &Identities::maximum}},
    {Primitive::fma, {"fma", 3, floats, false, false, false, 1}},
    {Primitive::equal, {"equal", 2, any, true, false, false, 1}},
    {Primitive::not_equal, {"not_equal", 2, any, true, false, false, 1}},
    {Primitive::less, {"less", 2, any, true, false, false, 1}},
    {Primitive::less_equal, {"less_equal", 2, any, true, false, false, 1}},
    {Primitive::logical_not, {"logical_not", 1, boolean, true, false, false, 1}},
    {Primitive::bit_and, {"bit_and", 2, bits, false, false, false, 1, &Identities::bit_and}},
    {Primitive::bit_or, {"bit_or", 2, bits, false, false, false, 1, &Identities::bit_or}},
    {Primitive::bit_xor, {"bit_xor", 2, bits, false, false, false, 1, &Identities::bit_xor}},
    {Primitive::shift_left, {"shift_left", 2, integers, false, false, false, 1}},
    {Primitive::shift_right, {"shift_right", 2, integers, false, false, false, 1}},
    {Primitive::rotate_left, {"rotate_left", 2, integers, false, false, false, 3}},
    {Primitive::count_ones, {"count_ones", 1, integers, false, false, false, 4}},
    {Primitive::leading_zeros, {"leading_zeros", 1, integers, false, false, false, 4}},
    {Primitive::trailing_zeros, {"trailing_zeros", 1, integers, false, false, false, 4}},
    {Primitive::floor, {"floor", 1, floats, false, false, false, 2}},
    {Primitive::ceiling, {"ceil", 1, floats, false, false, false, 2}},
    {Primitive::round, {"round", 1, floats, false, false, false, 4}},
    {Primitive::truncate, {"trunc", 1, floats, false, false, false, 2}},
    {Primitive::copy_sign, {"copysign", 2, floats, false, false, false, 3}},
    {Primitive::bitcast, {"bitcast", 1, numbers, false, false, false, 1}},
    {Primitive::square_root, {"sqrt", 1, floats, false, false, false, 12}},
    {Primitive::exp, {"exp", 1, floats, false, false, true, 16}},
    {Primitive::exp2, {"exp2", 1, floats, false, false, true, 16}},
    {Primitive::log, {"log", 1, floats, false, false, true, 20}},
    {Primitive::log2, {"log2", 1, floats, false, false, true, 20}},
    {Primitive::log10, {"log10", 1, floats, false, false, true, 20}},
    {Primitive::sin, {"sin", 1, floats, false, false, true, 24}},
    {Primitive::cos, {"cos", 1, floats, false, false, true, 24}},
    {Primitive::tan, {"tan", 1, floats, false, false, true, 36}},
    {Primitive::asin, {"asin", 1, floats, false, false, true, 30}},
    {Primitive::acos, {"acos", 1, floats, false, false, true, 30}},
    {Primitive::atan, {"atan", 1, floats, false, false, true, 30}},
    {Primitive::sinh, {"sinh", 1, floats, false, false, true, 36}},
    {Primitive::cosh, {"cosh", 1, floats, false, false, true, 36}},
    {Primitive::tanh, {"tanh", 1, floats, false, false, true, 24}},
    {Primitive::asinh, {"asinh", 1, floats, false, false, true, 40}},
    {Primitive::acosh, {"acosh", 1, floats, false, false, true, 40}},
    {Primitive::atanh, {"atanh", 1, floats, false, false, true, 36}},
    {Primitive::erf, {"erf", 1, floats, false, false, true, 40}},
    {Primitive::cbrt, {"cbrt", 1, floats, false, false, true, 30}},
    {Primitive::rsqrt, {"rsqrt", 1, floats, false, false, true, 20}},
    {Primitive::pow, {"pow", 2, floats, false, false, true, 48}},
    {Primitive::atan2, {"atan2", 2, floats, false, false, true, 40}},
    {Primitive::hypot, {"hypot", 2, floats, false, false, true, 40}},
    {Primitive::cast, {"cast", 1, any, false, false, false, 1}},
};

/// Is the row of each primitive where its number says?
constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(table); ++i)
    if (table[i].primitive != static_cast<Primitive>(i)) return false;
  return true;
}
static_assert(std::size(table) == primitive_count && in_order());

}  // namespace

const PrimitiveInfo& info(Primitive primitive) { return table[static_cast<std::size_t>(primitive)].info; }

bool accepts(Operands operands, ScalarType type) {
  switch (operands) {
    case Operands::numbers:
      return type != ScalarType::boolean;
    case Operands::integers:
      return is_integer(type);
    case Operands::floats:
      return is_float(type);
    case Operands::bits:
      return is_integer(type) || type == ScalarType::boolean;
    case Operands::boolean:
      return type == ScalarType::boolean;
    case Operands::any:
      return true;
  }
  return false;
}

bool joins_in_any_order(Primitive primitive, ScalarType type) {
  return info(primitive).identity && accepts(info(primitive).operands, type) && !is_float(type);
}

std::uint64_t neutral_element(Primitive primitive, ScalarType type) {
  const auto identity = info(primitive).identity;
  if (!identity) throw InternalError(std::string(info(primitive).name) + " has no neutral element");
  return scalar_info(type).identities.*identity;
}

}  // namespace anabranch::ir
