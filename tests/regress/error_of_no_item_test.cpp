// seed 105243, size 2; CPU, scheduler adaptive, 2 threads, off: "fusion,share", memory 0
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("what no item asks for does not fail") {
  const Ref n0 = ir::parameter(array_type(0, {"int64"}));
  const Ref n1 = ir::constant(type_named("int64"), 0x0);
  const Ref n2 = ir::parameter(array_type(2, {"uint16", "uint32"}));
  const Ref n3 = ir::parameter(element_type({"int64", "int64"}));
  const Ref n4 = ir::parameter(element_type({"float", "int32"}));
  const Ref n5 = ir::parameter(element_type({"float", "int32"}));
  const Ref n6 = ir::constant(type_named("float"), 0x0);
  const Ref n7 = ir::constant(type_named("int32"), 0x0);
  const Ref n8 = ir::tuple({n6, n7});
  const Ref n9 = ir::lambda({n4, n5}, {n8});
  const Ref n10 = ir::constant(type_named("float"), 0x0);
  const Ref n11 = ir::constant(type_named("int64"), 0x0);
  const Ref n12 = ir::use(host_array({"uint16", "uint32"}, {0, 1}, {{}, {}}));
  const Ref n13 = ir::lambda({n0}, {n12});
  const Ref n14 = ir::produce(n1, n13);
  const Ref n15 = ir::use(host_array({"uint16", "uint32"}, {0, 1}, {{}, {}}));
  const Ref n16 = ir::shape(n15);
  const Ref n17 = ir::project(n16, 1, 1);
  const Ref n18 = ir::tuple({n17, n11});
  const Ref n19 = ir::constant(type_named("int64"), 0x0);
  const Ref n20 = ir::constant(type_named("int64"), 0x0);
  const Ref n21 = ir::tuple({n19, n20});
  const Ref n22 = ir::index(n2, n21, {}, false);
  const Ref n23 = ir::project(n22, 1, 1);
  const Ref n24 = ir::cast(type_named("int32"), n23);
  const Ref n25 = ir::tuple({n10, n24});
  const Ref n26 = ir::lambda({n3}, {n25});
  const Ref n27 = ir::generate(n18, n26);
  const Ref n28 = ir::fold(n9, n27, Ref());
  const Ref n29 = ir::lambda({n2}, {n28});
  const Ref n30 = ir::map_seq(n29, {n14});
  const Ref n31 = ir::tabulate(n30);
  const Ref n32 = ir::consume(n31);
  check_everywhere({n32});
}
