#include "support/catch.h"
#include "tests/cpu/support/oracle.h"
#include "tests/cpu/support/primitive_table.h"

using namespace anabranch;
using namespace anabranch::test;
using interp::Bits;
using ir::Primitive;

TEST_CASE("every primitive on every type, bit for bit") {
  for (int p = 0; p < ir::primitive_count; ++p) {
    const auto primitive = static_cast<Primitive>(p);
    for (const ScalarType type : all_types) {
      if (converts(primitive) || !ir::accepts(ir::info(primitive).operands, type)) continue;
      const ScalarType result = ir::info(primitive).boolean_result ? ScalarType::boolean : type;
      INFO(ir::info(primitive).name << " on " << name_of(type));
      auto k = table(primitive, type, result, [&](std::span<const Bits> row) {
        return interp::apply(primitive, type, result, row).has_value();
      });
      CHECK(disagreement(k, {0}) == "");
    }
  }
}

TEST_CASE("every conversion, bit for bit") {
  for (const Primitive primitive : {Primitive::cast, Primitive::bitcast})
    for (const ScalarType from : all_types)
      for (const ScalarType to : all_types) {
        if (from == to || !ir::accepts(ir::info(primitive).operands, from) || !gives(primitive, from, to))
          continue;
        INFO(ir::info(primitive).name << " from " << name_of(from) << " to " << name_of(to));
        auto k = table(primitive, from, to, [](auto) { return true; });
        CHECK(disagreement(k, {0}) == "");
      }
}

TEST_CASE("integer division without a result is an error in whatever lane it happens") {
  for (const Primitive primitive : {Primitive::divide, Primitive::remainder})
    for (const ScalarType type : all_types) {
      if (!ir::is_integer(type)) continue;
      int bad = 0;
      auto k = table(primitive, type, type, [&](std::span<const Bits> row) {
        if (interp::apply(primitive, type, type, row)) return true;
        return ++bad == 5;
      });
      CHECK(disagreement(k, {0}) == "");
      REQUIRE_THROWS_WITH(k.run(), Catch::Contains("division"));
    }
}
