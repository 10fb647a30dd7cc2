// A loop whose condition is a choice by a condition of all lanes: the code generator took that one for a vector and crashed.
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("a loop's condition that is a choice by a condition of all lanes") {
  // Elements of 16 bits: the lanes are those of several registers.
  std::vector<std::uint64_t> elements(150);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = i * 7 % 50;
  const Ref row = ir::use(host_array({"int16"}, {150}, {elements}));
  for (const std::uint64_t limit : {0, 5, 40}) {
    const Ref n = ir::index(ir::use(host_array({"int16"}, {}, {{limit}})), ir::tuple({}), {}, true);
    const auto less = [](const Ref& x, const Ref& y) {
      return ir::primitive(primitive_named("less"), {x, y});
    };
    const auto number = [](std::uint64_t value) { return ir::constant(type_named("int16"), value); };
    const Ref y = ir::parameter(element_type({"int16"})), z = ir::parameter(element_type({"int16"})),
              x = ir::parameter(element_type({"int16"}));
    const Ref goes_on =
        ir::cond(less(number(4), n), less(y, number(45)), ir::constant(type_named("bool"), 0));
    const Ref predicate =
        ir::lambda({y}, {ir::primitive(primitive_named("bit_and"), {less(n, number(40)), goes_on})});
    const Ref body = ir::lambda({z}, {ir::primitive(primitive_named("add"), {z, number(10)})});
    check_everywhere({ir::map(ir::lambda({x}, {ir::while_loop(predicate, body, x)}), {row})});
  }
}
