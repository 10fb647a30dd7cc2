// Segments of a generated vector, each in a shape of rank 2: computed where they are read, at row-major positions.
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("segments of rank 2 of a generated vector") {
  const Ref n0 = ir::constant(type_named("int64"), 0x0);
  const Ref n1 = ir::parameter(element_type({"int64"}));
  const Ref n2 = ir::parameter(element_type({"int64"}));
  const Ref n3 = ir::primitive(primitive_named("add"), {n1, n2});
  const Ref n4 = ir::lambda({n1, n2}, {n3});
  const Ref n5 = ir::parameter(element_type({"int64"}));
  const Ref n6 = ir::lambda({n5}, {n5});
  const Ref n7 = ir::constant(type_named("int64"), 0xc);
  const Ref n8 = ir::generate(n7, n6);
  const Ref n9 = ir::reshape(n7, n8);
  const Ref n10 = ir::use(host_array({"int64"}, {4}, {{2, 0, 3, 1}}));
  const Ref n11 = ir::scan(n4, n10, n0, {ir::Prefixes(1), false}, 0);
  const Ref n12 = ir::project_array(n11, 0);
  const Ref n13 = ir::parameter(array_type(0, {"int64"}));
  const Ref n14 = ir::index(n13, ir::tuple({}), {}, false);
  const Ref n15 = ir::constant(type_named("int64"), 0x2);
  const Ref n16 = ir::index(n10, n14, {}, false);
  const Ref n17 = ir::primitive(primitive_named("multiply"), {ir::index(n12, n14, {}, false), n15});
  for (const bool by_rows : {false, true}) {
    const Ref shape = by_rows ? ir::tuple({n16, n15}) : ir::tuple({n15, n16});
    const Ref segment = ir::part(shape, n9, n17, {}, {}, true);
    const Ref segments = ir::produce(ir::int64(4), ir::lambda({n13}, {segment}));
    check_everywhere({ir::consume(ir::elements(segments)), ir::consume(ir::tabulate(segments))});
  }
}
