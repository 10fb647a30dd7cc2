// A component of a loop that a body sets to a constant. (Seed 317982, size 12.)
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("a component that a loop sets to a constant") {
  const Ref n0 = ir::constant(type_named("bool"), 0x1);
  const Ref n1 = ir::parameter(element_type({"uint8", "double"}));
  const Ref n2 = ir::constant(type_named("int64"), 0x7);
  const Ref n3 = ir::constant(type_named("int64"), 0x0);
  const Ref n4 = ir::project(n1, 1, 1);
  const Ref n5 = ir::tuple({n3, n4});
  const Ref n6 = ir::parameter(element_type({"int64", "double"}));
  const Ref n7 = ir::project(n6, 0, 1);
  const Ref n8 = ir::parameter(element_type({"int64", "double"}));
  const Ref n9 = ir::project(n8, 0, 1);
  const Ref n10 = ir::constant(type_named("int64"), 0x1);
  const Ref n11 = ir::primitive(primitive_named("add"), {n9, n10});
  const Ref n12 = ir::constant(type_named("double"), 0xc00aaaaaaaaaaaaa);
  const Ref n13 = ir::tuple({n11, n12});
  const Ref n14 = ir::lambda({n8}, {n13});
  const Ref n15 = ir::constant(type_named("double"), 0x0);
  const Ref n16 = ir::primitive(primitive_named("less"), {n7, n2});
  const Ref n17 = ir::lambda({n6}, {n16});
  const Ref n18 = ir::while_loop(n17, n14, n5);
  const Ref n19 = ir::project(n18, 1, 1);
  const Ref n20 = ir::primitive(primitive_named("absolute"), {n19});
  const Ref n21 = ir::primitive(primitive_named("maximum"), {n20, n15});
  const Ref n22 = ir::constant(type_named("uint8"), 0x0);
  const Ref n23 = ir::tuple({n22, n21});
  const Ref n24 = ir::lambda({n1}, {n23});
  const Ref n25 = ir::use(host_array({"uint8", "double"}, {1}, {{0x0}, {0x0}}));
  const Ref n26 = ir::map(n24, {n25});
  const Ref n27 = ir::lambda({}, {n26});
  const Ref n28 = ir::use(host_array({"uint8", "double"}, {0}, {{}, {}}));
  const Ref n29 = ir::lambda({}, {n28});
  const Ref n30 = ir::acond(n0, n27, n29);
  const Ref n31 = ir::project_array(n30, 0);
  check_everywhere({n31}, {.backend = Backend::cpu,
                           .scheduler = "adaptive",
                           .threads = 4,
                           .off = "caches",
                           .contract = true,
                           .memory = 0});
}
