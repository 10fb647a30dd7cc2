// A sequence inside of an item whose items are the rows of what a branch gives: rows of one array, made twice by lifting.
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("the rows of what a branch gives for each item") {
  const Ref n0 = stream_of({component({"int64", "float"}, {std::nullopt}, 0, 64)}, {});
  const Ref n1 = ir::parameter(array_type(1, {"int64", "float"}));
  const Ref n2 = ir::shape(n1);
  const Ref n3 = ir::parameter(array_type(0, {"int64", "float"}));
  const Ref n4 = ir::index(n1, n2, {}, false);
  const Ref n5 = ir::project(n4, 0, 1);
  const Ref n6 = ir::cast(type_named("bool"), n5);
  const Ref n7 = ir::use(host_array({"int64", "float"}, {0}, {{}, {}}));
  const Ref n8 = ir::lambda({}, {n7});
  const Ref n9 = ir::use(host_array({"int64", "float"}, {0}, {{}, {}}));
  const Ref n10 = ir::lambda({}, {n9});
  const Ref n11 = ir::acond(n6, n10, n8);
  const Ref n12 = ir::project_array(n11, 0);
  const Ref n13 = ir::rows(n12);
  const Ref n14 = ir::use(host_array({"int64", "float"}, {0}, {{}, {}}));
  const Ref n15 = ir::lambda({n3}, {n14});
  const Ref n16 = ir::map_seq(n15, {n13});
  const Ref n17 = ir::elements(n16);
  const Ref n18 = ir::consume(n17);
  const Ref n19 = ir::lambda({n1}, {n18});
  const Ref n20 = ir::map_seq(n19, {n0});
  const Ref n21 = ir::elements(n20);
  const Ref n22 = ir::consume(n21);
  check_everywhere({n22}, {.backend = Backend::cpu,
                           .scheduler = "fixed:2",
                           .threads = 2,
                           .off = "",
                           .contract = false,
                           .memory = 0});
}
