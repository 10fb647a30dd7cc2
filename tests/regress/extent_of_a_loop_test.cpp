// How long what a loop gives is, beside what a sequence before the loop needs: two numbers that one kernel cannot compute.
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("an extent of what a loop gives, and one that is known before it") {
  const Ref data = ir::use(host_array({"int32"}, {3}, {{1, 2, 3}}));
  const Ref matrix = ir::use(host_array({"int32"}, {2, 3}, {{1, 2, 3, 4, 5, 6}}));
  const Ref row = ir::parameter(array_type(1, {"int32"}));
  const Ref length = ir::unit(ir::extent(data, 0));
  const Ref lengths = ir::consume(ir::elements(ir::map_seq(ir::lambda({row}, {length}), {ir::rows(matrix)})));
  // A round appends an element, as long as there are fewer than there are lengths and three more.
  const Ref most = ir::primitive(ir::Primitive::add, {ir::extent(lengths, 0), ir::int64(3)});
  const Ref asked = ir::parameter(array_type(1, {"int32"})), state = ir::parameter(array_type(1, {"int32"}));
  const Ref i = ir::parameter(element_type({"int64"}));
  const Ref longer = ir::primitive(ir::Primitive::add, {ir::extent(state, 0), ir::int64(1)});
  const Ref round = ir::generate(ir::tuple({longer}), ir::lambda({i}, {ir::cast(type_named("int32"), i)}));
  const Ref more = ir::unit(ir::primitive(ir::Primitive::less, {ir::extent(asked, 0), most}));
  const Ref loop =
      ir::project_array(ir::awhile(ir::lambda({asked}, {more}), ir::lambda({state}, {round}), {data}), 0);
  const Ref of_loop = ir::unit(ir::extent(loop, 0));
  check_everywhere({lengths, of_loop});
  const Ref after = ir::map_seq(ir::lambda({row}, {of_loop}), {ir::rows(matrix)});
  check_everywhere({lengths, ir::consume(ir::elements(after))});
}
