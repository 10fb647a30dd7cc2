#include "ir/type.h"

namespace anabranch::ir {

namespace {
/// A new enumerator needs a case here, and then a row in anabranch/scalar.h.
constexpr bool has_row(ScalarType type) {
  switch (type) {
    case ScalarType::boolean:
    case ScalarType::int8:
    case ScalarType::uint8:
    case ScalarType::int16:
    case ScalarType::uint16:
    case ScalarType::int32:
    case ScalarType::uint32:
    case ScalarType::int64:
    case ScalarType::uint64:
    case ScalarType::float16:
    case ScalarType::float32:
    case ScalarType::float64:
      return static_cast<std::size_t>(type) < anabranch::detail::scalar_count;
  }
  return false;
}
static_assert(has_row(ScalarType::float64));
}  // namespace

std::string to_string(const Scalars& scalars) {
  if (scalars.size() == 1) return name_of(scalars[0]);
  std::string out = "(";
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    if (i > 0) out += ", ";
    out += name_of(scalars[i]);
  }
  return out + ")";
}

namespace {
std::string array_to_string(int rank, const Scalars& scalars) {
  switch (rank) {
    case 0:
      return "Scalar " + to_string(scalars);
    case 1:
      return "Vector " + to_string(scalars);
    case 2:
      return "Matrix " + to_string(scalars);
    default:
      return "Array<" + std::to_string(rank) + "> " + to_string(scalars);
  }
}
std::string arrays_to_string(const std::vector<ArrayType>& arrays) {
  std::string out = "(";
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (i > 0) out += ", ";
    out += array_to_string(arrays[i].rank, arrays[i].scalars);
  }
  return out + ")";
}
}  // namespace

std::string to_string(const Type& type) {
  switch (type.kind) {
    case Type::Kind::element:
      return to_string(type.scalars);
    case Type::Kind::array:
      return array_to_string(type.rank, type.scalars);
    case Type::Kind::arrays:
      return arrays_to_string(type.arrays);
    case Type::Kind::sequence:
      return "Seq " + arrays_to_string(type.arrays);
    case Type::Kind::function:
      return "function";
  }
  return "?";
}

}  // namespace anabranch::ir
