// Items that a state passes through, of which there is memory for some only: the others were lost. (Seed 1293 of the states.)
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("a state and results that do not depend on the items, of which there are many") {
  const Ref n0 = ir::parameter(array_type(0, {"int64"}));
  const Ref n1 = ir::lambda({n0}, {n0});
  const Ref n2 = ir::constant(type_named("int64"), 0x2328);
  const Ref n3 = ir::produce(n2, n1);
  const Ref n4 = ir::parameter(array_type(0, {"int64"}));
  const Ref n5 = ir::parameter(array_type(0, {"uint16", "uint32"}));
  const Ref n6 = ir::parameter(array_type(0, {"uint16", "int64"}));
  const Ref n7 = ir::tuple({});
  const Ref n8 = ir::index(n6, n7, {}, false);
  const Ref n9 = ir::project(n8, 0, 1);
  const Ref n10 = ir::parameter(array_type(0, {"double"}));
  const Ref n11 = ir::parameter(array_type(0, {"int32"}));
  const Ref n12 = ir::parameter(array_type(0, {"uint64", "uint8", "int64"}));
  const Ref n13 = ir::parameter(element_type({"int64", "uint32"}));
  const Ref n14 = ir::parameter(element_type({"int64", "uint32"}));
  const Ref n15 = ir::use(host_array({"double"}, {}, {{0x0}}));
  const Ref n16 = ir::use(host_array({"uint16", "int64"}, {}, {{0x0}, {0x0}}));
  const Ref n17 = ir::constant(type_named("bool"), 0x0);
  const Ref n18 = ir::lambda({n13}, {n17});
  const Ref n19 = ir::constant(type_named("int64"), 0x0);
  const Ref n20 = ir::constant(type_named("uint32"), 0x0);
  const Ref n21 = ir::tuple({n19, n20});
  const Ref n22 = ir::use(host_array({"double"}, {}, {{0x0}}));
  const Ref n23 = ir::use(host_array({"uint16", "int64"}, {}, {{0x0}, {0x0}}));
  const Ref n24 = ir::use(host_array({"uint16", "uint32"}, {}, {{0x0}, {0x0}}));
  const Ref n25 = ir::use(host_array({"uint64", "uint8", "int64"}, {}, {{0x0}, {0x0}, {0x0}}));
  const Ref n26 = ir::use(host_array({"int32"}, {}, {{0x0}}));
  const Ref n27 = ir::lambda({n4}, {n26, n25});
  const Ref n28 = ir::map_seq(n27, {n3});
  const Ref n29 = ir::constant(type_named("int64"), 0x0);
  const Ref n30 = ir::constant(type_named("uint32"), 0x0);
  const Ref n31 = ir::tuple({n29, n30});
  const Ref n32 = ir::lambda({n14}, {n31});
  const Ref n33 = ir::while_loop(n18, n32, n21);
  const Ref n34 = ir::project(n33, 1, 1);
  const Ref n35 = ir::tuple({n9, n34});
  const Ref n36 = ir::unit(n35);
  const Ref n37 = ir::lambda({n5, n6, n10, n11, n12}, {n36, n16, n15, n36, n16, n15});
  const Ref n38 = ir::map_accum_seq(n28, n37, {n24, n23, n22});
  const Ref n39 = ir::project_seq(n38, 1, 1);
  const Ref n40 = ir::elements(n39);
  const Ref n41 = ir::consume(n40);
  const Ref n42 = ir::project_seq(n38, 2, 1);
  const Ref n43 = ir::elements(n42);
  const Ref n44 = ir::consume(n43);
  check_everywhere({n41, n44}, {.backend = Backend::cpu,
                                .scheduler = "fixed:1000000",
                                .threads = 4,
                                .off = "ranges",
                                .contract = true,
                                .memory = 1048576,
                                .pieces = false});
}
