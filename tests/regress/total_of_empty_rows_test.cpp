// The total of rows without elements, of a product with a byte: a group in memory was longer than its place. (Seed 850976,
// size 9.)
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("the total of rows without elements, of a product with a byte") {
  const Ref n0 = ir::parameter(element_type({"double", "uint8"}));
  const Ref n1 = ir::parameter(element_type({"double", "uint8"}));
  const Ref n2 = ir::project(n0, 0, 1);
  const Ref n3 = ir::project(n1, 0, 1);
  const Ref n4 = ir::primitive(primitive_named("multiply"), {n2, n3});
  const Ref n5 = ir::project(n0, 1, 1);
  const Ref n6 = ir::project(n1, 1, 1);
  const Ref n7 = ir::primitive(primitive_named("add"), {n5, n6});
  const Ref n8 = ir::tuple({n4, n7});
  const Ref n9 = ir::lambda({n0, n1}, {n8});
  const Ref n10 = ir::constant(type_named("uint8"), 0x0);
  const Ref n11 = ir::constant(type_named("double"), 0x0);
  const Ref n12 = ir::constant(type_named("double"), 0x0);
  const Ref n13 = ir::primitive(primitive_named("hypot"), {n12, n11});
  const Ref n14 = ir::tuple({n13, n10});
  const Ref n15 = ir::use(host_array({"double", "uint8"}, {1, 1, 0}, {{}, {}}));
  const Ref n16 = ir::scan(n9, n15, n14, {});
  const Ref n17 = ir::project_array(n16, 1);
  check_everywhere({n17}, {.backend = Backend::cpu,
                           .scheduler = "fixed:64",
                           .threads = 4,
                           .off = "caches,avx512",
                           .contract = false,
                           .memory = 0});
}
