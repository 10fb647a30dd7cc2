// A loop in scalar code, on a side of a branch that is made for items of a sequence. (Seed 350635.)
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("a loop of numbers on the side of a branch for items") {
  const Ref n0 = ir::parameter(array_type(1, {"bool", "half"}));
  const Ref n1 = ir::parameter(array_type(2, {"double"}));
  const Ref n2 = ir::parameter(array_type(1, {"bool", "half"}));
  const Ref n3 = ir::parameter(element_type({"double", "int16"}));
  const Ref n4 = ir::shape(n2);
  const Ref n5 = ir::cast(type_named("int16"), n4);
  const Ref n6 = ir::parameter(element_type({"double", "int16"}));
  const Ref n7 = ir::parameter(element_type({"int64", "int16"}));
  const Ref n8 = ir::parameter(element_type({"int64", "int16"}));
  const Ref n9 = ir::use(host_array({"double"}, {0}, {{}}));
  const Ref n10 = ir::constant(type_named("int64"), 0x0);
  const Ref n11 = ir::constant(type_named("int16"), 0x0);
  const Ref n12 = ir::tuple({n10, n11});
  const Ref n13 = ir::lambda({n8}, {n12});
  const Ref n14 = ir::constant(type_named("bool"), 0x0);
  const Ref n15 = ir::lambda({n7}, {n14});
  const Ref n16 = ir::constant(type_named("int64"), 0x0);
  const Ref n17 = ir::constant(type_named("int16"), 0x0);
  const Ref n18 = ir::tuple({n16, n17});
  const Ref n19 = ir::while_loop(n15, n13, n18);
  const Ref n20 = ir::project(n19, 1, 1);
  const Ref n21 = ir::constant(type_named("double"), 0x0);
  const Ref n22 = ir::tuple({n21, n20});
  const Ref n23 = ir::lambda({n6}, {n22});
  const Ref n24 = ir::constant(type_named("double"), 0x0);
  const Ref n25 = ir::tuple({n24, n5});
  const Ref n26 = ir::lambda({n3}, {n25});
  const Ref n27 = ir::constant(type_named("bool"), 0x0);
  const Ref n28 = ir::use(host_array({"double", "int16"}, {0}, {{}, {}}));
  const Ref n29 = ir::map(n23, {n28});
  const Ref n30 = ir::lambda({}, {n29});
  const Ref n31 = ir::map(n26, {n28});
  const Ref n32 = ir::lambda({}, {n31});
  const Ref n33 = ir::acond(n27, n30, n32);
  const Ref n34 = ir::project_array(n33, 0);
  const Ref n35 = ir::use(host_array({"double"}, {0, 1}, {{}}));
  const Ref n36 = ir::lambda({n0}, {n35});
  const Ref n37 = ir::use(host_array({"uint8", "uint64", "half"}, {0}, {{}, {}, {}}));
  const Ref n38 = ir::lambda({n1, n2}, {n9, n34, n37});
  const Ref n39 = stream_of({component({"bool", "half"}, {std::int64_t{33}}, 0, 64)}, {});
  const Ref n40 = ir::map_seq(n36, {n39});
  const Ref n41 = ir::map_seq(n38, {n40, n39});
  const Ref n42 = ir::project_seq(n41, 2, 1);
  const Ref n43 = ir::tabulate(n42);
  const Ref n44 = ir::consume(n43);
  check_everywhere({n44}, {.backend = Backend::cpu,
                           .scheduler = "fixed:64",
                           .threads = 4,
                           .off = "share",
                           .contract = true,
                           .memory = 0,
                           .pieces = false,
                           .item_by_item = true});
}
