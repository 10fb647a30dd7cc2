// The signature table.

#include "ir/primitive.h"

#include <set>
#include <string_view>

#include "support/catch.h"

using namespace anabranch;
using ir::Primitive;

TEST_CASE("the table names every primitive once") {
  std::set<std::string_view> names;
  for (int i = 0; i < ir::primitive_count; ++i) {
    const ir::PrimitiveInfo& info = ir::info(static_cast<Primitive>(i));
    names.insert(info.name);
    CHECK(info.arity >= 1);
    CHECK(info.arity <= 3);
    CHECK(info.cost >= 1);
    CHECK(info.can_fail == (info.name == "divide" || info.name == "remainder"));
  }
  CHECK(names.size() == static_cast<std::size_t>(ir::primitive_count));
}

TEST_CASE("operand classes") {
  using enum ScalarType;
  using ir::Operands;
  CHECK_FALSE(ir::accepts(Operands::numbers, boolean));
  CHECK(ir::accepts(Operands::numbers, float32));
  CHECK_FALSE(ir::accepts(Operands::integers, float64));
  CHECK(ir::accepts(Operands::bits, boolean));
  CHECK_FALSE(ir::accepts(Operands::bits, float32));
  CHECK_FALSE(ir::accepts(Operands::floats, int64));
  CHECK(ir::accepts(Operands::boolean, boolean));
  CHECK_FALSE(ir::accepts(Operands::boolean, uint8));
  CHECK(ir::accepts(Operands::any, boolean));
}
