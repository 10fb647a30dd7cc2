#include "ir/primitive.h"

#include <array>

namespace anabranch::ir {

// The costs are rough reciprocal throughputs on a vector unit, in additions. What may be computed twice, what
// is evaluated ahead of a branch and how work is cut depend on them (ir/cost.h); results do not.
const PrimitiveInfo& info(Primitive primitive) {
  using enum Operands;
  using Identities = anabranch::detail::ScalarIdentities;
  static constexpr std::array<PrimitiveInfo, primitive_count> table{{
      //  name           arity operands  boolean can_fail transcendental cost, identity
      {"add", 2, numbers, false, false, false, 1, &Identities::add},
      {"subtract", 2, numbers, false, false, false, 1},
      {"multiply", 2, numbers, false, false, false, 1, &Identities::multiply},
      {"divide", 2, numbers, false, true, false, 8},
      {"remainder", 2, numbers, false, true, false, 12},
      {"negate", 1, numbers, false, false, false, 1},
      {"absolute", 1, numbers, false, false, false, 1},
      {"minimum", 2, numbers, false, false, false, 2, &Identities::minimum},
      {"maximum", 2, numbers, false, false, false, 2, &Identities::maximum},
      {"fma", 3, floats, false, false, false, 1},
      {"equal", 2, any, true, false, false, 1},
      {"not_equal", 2, any, true, false, false, 1},
      {"less", 2, any, true, false, false, 1},
      {"less_equal", 2, any, true, false, false, 1},
      {"logical_not", 1, boolean, true, false, false, 1},
      {"bit_and", 2, bits, false, false, false, 1, &Identities::bit_and},
      {"bit_or", 2, bits, false, false, false, 1, &Identities::bit_or},
      {"bit_xor", 2, bits, false, false, false, 1, &Identities::bit_xor},
      {"sqrt", 1, floats, false, false, false, 12},
      {"exp", 1, floats, false, false, true, 16},
      {"log", 1, floats, false, false, true, 20},
      {"sin", 1, floats, false, false, true, 24},
      {"cos", 1, floats, false, false, true, 24},
      {"cast", 1, any, false, false, false, 1},
  }};
  static_assert(table[static_cast<std::size_t>(Primitive::minimum)].name == "minimum");
  static_assert(table[static_cast<std::size_t>(Primitive::logical_not)].name == "logical_not");
  static_assert(table[static_cast<std::size_t>(Primitive::cosine)].name == "cos");
  static_assert(table[static_cast<std::size_t>(Primitive::cast)].name == "cast");
  return table[static_cast<std::size_t>(primitive)];
}

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

}  // namespace anabranch::ir
