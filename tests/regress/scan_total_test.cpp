// The total of a row, alone, of operators that are not associative and do not look at the right operand: LLVM 19
// exchanged the operands of theirs.
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("the total of a scan whose operator ignores the right operand") {
  for (const std::int64_t length : {33, 65, 1033, 5000, 8300}) {
    const HostArray array = host_array({"int16"}, {length}, {std::vector<std::uint64_t>(length, 3)});
    const Ref row = ir::use(array);
    const Ref x = ir::parameter(element_type({"int16"})), y = ir::parameter(element_type({"int16"}));
    const Ref seed = ir::constant(type_named("int16"), 6), number = ir::constant(type_named("int16"), 5);
    const Ref combine = ir::lambda({x, y}, {ir::primitive(primitive_named("subtract"), {number, x})});
    check_everywhere({ir::project_array(ir::scan(combine, row, seed, {ir::Prefixes::exclusive}), 1)});
  }
}
