// A side of a branch that no item takes must not fail, either, where what it computes is the same for all items. (Seed 300075.)
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("a side that no item takes, of which a part is the same for all items") {
  const Ref n0 = ir::constant(type_named("int64"), 0x0);
  const Ref n1 = ir::parameter(element_type({"int64"}));
  const Ref n2 = ir::parameter(element_type({"int64"}));
  const Ref n3 = ir::primitive(primitive_named("add"), {n1, n2});
  const Ref n4 = ir::lambda({n1, n2}, {n3});
  const Ref n5 = ir::parameter(array_type(0, {"int64"}));
  const Ref n6 = ir::tuple({});
  const Ref n7 = ir::index(n5, n6, {}, false);
  const Ref n8 = ir::parameter(array_type(1, {"int16", "int32"}));
  const Ref n9 = ir::parameter(array_type(2, {"bool"}));
  const Ref n10 = ir::parameter(array_type(1, {"int16", "int32"}));
  const Ref n11 = ir::constant(type_named("int64"), 0x11);
  const Ref n12 = ir::parameter(element_type({"int64", "int64"}));
  const Ref n13 = ir::parameter(element_type({"bool"}));
  const Ref n14 = ir::parameter(element_type({"int64", "bool"}));
  const Ref n15 = ir::parameter(element_type({"int64", "bool"}));
  const Ref n16 = ir::constant(type_named("int64"), 0x0);
  const Ref n17 = ir::constant(type_named("int64"), 0x0);
  const Ref n18 = ir::tuple({n16, n17});
  const Ref n19 = ir::constant(type_named("int64"), 0x0);
  const Ref n20 = ir::constant(type_named("int64"), 0x0);
  const Ref n21 = ir::constant(type_named("int64"), 0x0);
  const Ref n22 = ir::constant(type_named("bool"), 0x0);
  const Ref n23 = ir::tuple({n21, n22});
  const Ref n24 = ir::constant(type_named("int64"), 0x0);
  const Ref n25 = ir::index(n10, n24, {}, false);
  const Ref n26 = ir::project(n25, 1, 1);
  const Ref n27 = ir::cast(type_named("int64"), n26);
  const Ref n28 = ir::primitive(primitive_named("less"), {n20, n27});
  const Ref n29 = ir::lambda({n14}, {n28});
  const Ref n30 = ir::constant(type_named("bool"), 0x0);
  const Ref n31 = ir::use(host_array({"int64"}, {1}, {{0x0}}));
  const Ref n32 = ir::scan(n4, n31, n0, {ir::Prefixes(1), false}, 0);
  const Ref n33 = ir::project_array(n32, 0);
  const Ref n34 = ir::index(n33, n7, {}, false);
  const Ref n35 = ir::index(n31, n7, {}, false);
  const Ref n36 = ir::shape(n31);
  const Ref n37 = ir::use(host_array({"bool"}, {1, 0}, {{}}));
  const Ref n38 = ir::shape(n37);
  const Ref n39 = ir::project(n38, 0, 1);
  const Ref n40 = ir::tuple({n11, n39});
  const Ref n41 = ir::lambda({n8}, {n37});
  const Ref n42 = ir::use(host_array({"int16", "int32"}, {0, 1}, {{}, {}}));
  const Ref n43 = ir::part(n35, n42, n34, {}, {}, true);
  const Ref n44 = ir::lambda({n5}, {n43});
  const Ref n45 = ir::produce(n36, n44);
  const Ref n46 = ir::map_seq(n41, {n45});
  const Ref n47 = ir::use(host_array({"bool"}, {0, 1}, {{}}));
  const Ref n48 = ir::lambda({}, {n47});
  const Ref n49 = ir::constant(type_named("int64"), 0x0);
  const Ref n50 = ir::constant(type_named("int64"), 0x0);
  const Ref n51 = ir::tuple({n49, n50});
  const Ref n52 = ir::lambda({n12}, {n51});
  const Ref n53 = ir::backpermute(n40, n52, n9, {false, false});
  const Ref n54 = ir::index(n53, n18, {}, false);
  const Ref n55 = ir::tuple({n19, n54});
  const Ref n56 = ir::lambda({n15}, {n55});
  const Ref n57 = ir::while_loop(n29, n56, n23);
  const Ref n58 = ir::project(n57, 1, 1);
  const Ref n59 = ir::lambda({n13}, {n58});
  const Ref n60 = ir::map(n59, {n9});
  const Ref n61 = ir::lambda({}, {n60});
  const Ref n62 = ir::acond(n30, n61, n48);
  const Ref n63 = ir::project_array(n62, 0);
  const Ref n64 = ir::lambda({n9, n10}, {n63});
  const Ref n65 = ir::map_seq(n64, {n46, n45});
  const Ref n66 = ir::tabulate(n65);
  const Ref n67 = ir::consume(n66);
  check_everywhere({n67}, {.backend = Backend::cpu,
                           .scheduler = "fixed:7",
                           .threads = 2,
                           .off = "avx512",
                           .contract = true,
                           .memory = 32,
                           .pieces = false});
}
