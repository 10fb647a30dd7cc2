// Of the shape of what an inner sequence gives, only the extent that is mentioned was known, and all were asked for.
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("one extent of what an inner sequence gives, in scalar code") {
  const Ref n0 = ir::parameter(array_type(2, {"float", "double", "int16"}));
  const Ref n1 = ir::parameter(array_type(1, {"float", "double", "int16"}));
  const Ref n2 = ir::parameter(element_type({"int64", "int64"}));
  const Ref n3 = ir::rows(n0);
  const Ref n4 = ir::parameter(element_type({"int64", "int64"}));
  const Ref n5 = ir::constant(type_named("float"), 0x0);
  const Ref n6 = ir::constant(type_named("double"), 0x0);
  const Ref n7 = ir::constant(type_named("int16"), 0x0);
  const Ref n8 = ir::tuple({n5, n6, n7});
  const Ref n9 = ir::use(host_array({"uint8"}, {0}, {{}}));
  const Ref n10 = ir::constant(type_named("float"), 0x0);
  const Ref n11 = ir::constant(type_named("double"), 0x0);
  const Ref n12 = ir::constant(type_named("int16"), 0x0);
  const Ref n13 = ir::tuple({n10, n11, n12});
  const Ref n14 = ir::constant(type_named("int64"), 0x0);
  const Ref n15 = ir::constant(type_named("int64"), 0x0);
  const Ref n16 = ir::constant(type_named("int64"), 0x0);
  const Ref n17 = ir::tuple({n15, n16});
  const Ref n18 = ir::constant(type_named("int64"), 0x0);
  const Ref n19 = ir::constant(type_named("int64"), 0x0);
  const Ref n20 = ir::tuple({n18, n19});
  const Ref n21 = ir::lambda({n2}, {n20});
  const Ref n22 = ir::constant(type_named("int64"), 0x0);
  const Ref n23 = ir::constant(type_named("int64"), 0x0);
  const Ref n24 = ir::index(n1, n23, {}, false);
  const Ref n25 = ir::project(n24, 0, 1);
  const Ref n26 = ir::cast(type_named("int64"), n25);
  const Ref n27 = ir::tuple({n26, n22});
  const Ref n28 = ir::backpermute(n27, n21, n0, {true, true});
  const Ref n29 = ir::lambda({n1}, {n28});
  const Ref n30 = ir::map_seq(n29, {n3});
  const Ref n31 = ir::tabulate(n30);
  const Ref n32 = ir::consume(n31);
  const Ref n33 = ir::shape(n32);
  const Ref n34 = ir::project(n33, 1, 1);
  const Ref n35 = ir::primitive(primitive_named("less"), {n14, n34});
  const Ref n36 = ir::cond(n35, n13, n8);
  const Ref n37 = ir::project(n36, 2, 1);
  const Ref n38 = ir::cast(type_named("bool"), n37);
  const Ref n39 = ir::cast(type_named("float"), n38);
  const Ref n40 = ir::lambda({n4}, {n39});
  const Ref n41 = ir::generate(n17, n40);
  const Ref n42 = ir::lambda({n0}, {n9, n41});
  const Ref n43 =
      stream_of({component({"float", "double", "int16"}, {std::int64_t{2}, std::int64_t{1}}, 0, 64)}, {});
  const Ref n44 = ir::map_seq(n42, {n43});
  const Ref n45 = ir::project_seq(n44, 1, 1);
  const Ref n46 = ir::tabulate(n45);
  const Ref n47 = ir::consume(n46);
  check_everywhere({n47}, {.backend = Backend::cpu,
                           .scheduler = "fixed:7",
                           .threads = 1,
                           .off = "share",
                           .contract = false,
                           .memory = 0});
}
