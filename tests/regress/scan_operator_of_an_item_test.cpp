// The operator of a scan took the extent of the first of several short rows that are scanned together for that of all.
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("the operator of a scan of short rows depends on the item") {
  const Ref n0 = stream_of(
      {component({"int32"}, {std::nullopt}, 0, 32), component({"double"}, {std::nullopt}, 0, 32)},
      {Item{host_array({"int32"}, {0}, {{}}), host_array({"double"}, {0}, {{}})},
       Item{host_array({"int32"}, {16},
                       {{0x5, 0xfffffff7, 0xfffffff4, 0xfffffff5, 0x7fffffff, 0xb, 0x7fffffff, 0xfffffff1,
                         0xa, 0x80000000, 0xfffffffa, 0xf, 0x13, 0x14, 0xffffffed, 0xc}}),
            host_array({"double"}, {16},
                       {{0x4011555555555555, 0x3ffc000000000000, 0xbffc000000000000, 0xc005555555555555,
                         0x4002000000000000, 0xc002000000000000, 0xbfd0000000000000, 0x3fec000000000000,
                         0x3ff4000000000000, 0x0, 0xc019555555555555, 0x3ffaaaaaaaaaaaaa, 0xbff0000000000000,
                         0x3ff6000000000000, 0x4018000000000000, 0x3fd5555555555555}})}});
  const Ref n1 = ir::parameter(array_type(1, {"int32"}));
  const Ref n2 = ir::parameter(array_type(1, {"double"}));
  const Ref n3 = ir::parameter(element_type({"double"}));
  const Ref n4 = ir::parameter(element_type({"double"}));
  const Ref n5 = ir::shape(n1);
  const Ref n6 = ir::cast(type_named("double"), n5);
  const Ref n7 = ir::constant(type_named("int64"), 0x3f);
  const Ref n8 = ir::parameter(element_type({"int64", "int64"}));
  const Ref n9 = ir::parameter(element_type({"double"}));
  const Ref n10 = ir::cast(type_named("int32"), n9);
  const Ref n11 = ir::lambda({n9}, {n10});
  const Ref n12 = ir::constant(type_named("int64"), 0x0);
  const Ref n13 = ir::lambda({n8}, {n12});
  const Ref n14 = ir::lambda({n3, n4}, {n6});
  const Ref n15 = ir::scan(n14, n2, Ref(), {ir::Prefixes(0), true}, 0);
  const Ref n16 = ir::project_array(n15, 0);
  const Ref n17 = ir::shape(n16);
  const Ref n18 = ir::tuple({n7, n17});
  const Ref n19 = ir::backpermute(n18, n13, n16, {false, false});
  const Ref n20 = ir::map(n11, {n19});
  const Ref n21 = ir::lambda({n1, n2}, {n20});
  const Ref n22 = ir::map_seq(n21, {n0});
  const Ref n23 = ir::elements(n22);
  const Ref n24 = ir::consume(n23);
  check_everywhere({n24}, {.backend = Backend::cpu,
                           .scheduler = "fixed:64",
                           .threads = 4,
                           .off = "",
                           .contract = false,
                           .memory = 0});
}
