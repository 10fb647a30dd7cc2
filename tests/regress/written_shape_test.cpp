// Items without elements, whose outermost extent alone differs: it was lost. (Seed 390741.)
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("written items of which only the shape is known") {
  const Ref n0 = ir::parameter(array_type(2, {"int32", "double", "int8"}));
  const Ref n1 = ir::parameter(array_type(2, {"int32", "double", "int8"}));
  const Ref n2 = ir::parameter(array_type(1, {"int64", "int64"}));
  const Ref n3 = ir::parameter(array_type(2, {"int32", "double", "int8"}));
  const Ref n4 = ir::parameter(array_type(1, {"int64", "int64"}));
  const Ref n5 = ir::parameter(element_type({"int64", "int64"}));
  const Ref n6 = ir::lambda({n5}, {n5});
  const Ref n7 = ir::parameter(element_type({"int32", "double", "int8"}));
  const Ref n8 = ir::parameter(element_type({"double", "uint32"}));
  const Ref n9 = ir::parameter(element_type({"int64", "half"}));
  const Ref n10 = ir::parameter(element_type({"int32"}));
  const Ref n11 = ir::constant(type_named("int16"), 0x0);
  const Ref n12 = ir::lambda({n9, n10}, {n11});
  const Ref n13 = ir::constant(type_named("int32"), 0x0);
  const Ref n14 = ir::lambda({n8}, {n13});
  const Ref n15 = ir::constant(type_named("double"), 0x0);
  const Ref n16 = ir::constant(type_named("uint32"), 0x0);
  const Ref n17 = ir::tuple({n15, n16});
  const Ref n18 = ir::lambda({n7}, {n17});
  const Ref n19 = ir::use(host_array({"bool"}, {}, {{0x0}}));
  const Ref n20 = ir::lambda({n1, n2}, {n19});
  const Ref n21 = ir::constant(type_named("int64"), 0x0);
  const Ref n22 = ir::shape(n3);
  const Ref n23 = ir::project(n22, 1, 1);
  const Ref n24 = ir::tuple({n21, n23});
  const Ref n25 = ir::backpermute(n24, n6, n3, {true, true});
  const Ref n26 = ir::use(host_array({"int64", "int64"}, {0}, {{}, {}}));
  const Ref n27 = ir::use(host_array({"int64", "int64"}, {0}, {{}, {}}));
  const Ref n28 = ir::lambda({n3, n4}, {n25, n27});
  const Ref n29 = ir::awhile(n20, n28, {n0, n26});
  const Ref n30 = ir::project_array(n29, 0);
  const Ref n31 = ir::map(n18, {n30});
  const Ref n32 = ir::map(n14, {n31});
  const Ref n33 = ir::use(host_array({"int64", "half"}, {1, 0}, {{}, {}}));
  const Ref n34 = ir::map(n12, {n33, n32});
  const Ref n35 = ir::lambda({n0}, {n34});
  const Ref n36 =
      stream_of({component({"int32", "double", "int8"}, {std::int64_t{8}, std::int64_t{0}}, 0, 64)},
                {Item{host_array({"int32", "double", "int8"}, {8, 0}, {{}, {}, {}})}});
  const Ref n37 = ir::map_seq(n35, {n36});
  const Ref n38 = written(n37);
  const Ref n39 = ir::consume(n38);
  check_everywhere({n39}, {.backend = Backend::cpu,
                           .scheduler = "adaptive",
                           .threads = 1,
                           .off = "fusion",
                           .contract = true,
                           .memory = 0,
                           .pieces = true,
                           .item_by_item = false});
}
