// seed 116175, size 8; CPU, scheduler fixed:1000000, 4 threads, off: "avx512", contracted, memory 1048576
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("the total of a scan whose items come from nothing") {
  const Ref n0 = ir::parameter(array_type(1, {"int64"}));
  const Ref n1 = ir::parameter(array_type(0, {"int64", "uint64"}));
  const Ref n2 = ir::parameter(array_type(3, {"bool", "int32", "int64"}));
  const Ref n3 = ir::parameter(array_type(1, {"int64"}));
  const Ref n4 = ir::parameter(element_type({"int64"}));
  const Ref n5 = ir::parameter(element_type({"int64"}));
  const Ref n6 = ir::shape(n3);
  const Ref n7 = ir::constant(type_named("int64"), 0x0);
  const Ref n8 = ir::lambda({n4, n5}, {n7});
  const Ref n9 = ir::scan(n8, n3, n6, {ir::Prefixes::exclusive});
  const Ref n10 = ir::project_array(n9, 1);
  const Ref n11 = ir::lambda({n2, n3}, {n10});
  const Ref n12 = stream_of({component({"int64"}, {std::nullopt}, 0, 64)}, {});
  const Ref n13 = ir::use(host_array({"bool", "int32", "int64"}, {0, 1, 1}, {{}, {}, {}}));
  const Ref n14 = ir::lambda({n0, n1}, {n13});
  const Ref n15 = stream_of({component({"int64", "uint64"}, {}, 0, 64)}, {});
  const Ref n16 = ir::map_seq(n14, {n12, n15});
  const Ref n17 = ir::map_seq(n11, {n16, n12});
  const Ref n18 = ir::tabulate(n17);
  const Ref n19 = ir::consume(n18);
  check_everywhere({n19});
}
