// An element that no item reads, at one index of arrays that are of one extent in all items: nothing is out of range.
#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

namespace {

/// Of 40 items, each a vector of `extent` elements, element `at` where the item's number is above `least`, else -1.
std::vector<Ref> program(std::int64_t extent, std::int64_t at, std::int64_t least) {
  const Ref item = ir::parameter(array_type(0, {"int64"}));
  const Ref number = ir::index(item, ir::tuple({}));
  const Ref i = ir::parameter(element_type({"int64"})), x = ir::parameter(element_type({"int64"}));
  const Ref sizes = ir::generate(ir::tuple({ir::int64(40)}), ir::lambda({i}, {ir::int64(extent)}));
  const Ref size = ir::index(sizes, number);
  const Ref made = ir::compute(ir::generate(ir::tuple({size}), ir::lambda({x}, {x})));
  const Ref asked = ir::primitive(ir::Primitive::less, {ir::int64(least), number});
  const Ref value = ir::cond(asked, ir::index(made, ir::tuple({ir::int64(at)})), ir::int64(-1));
  const Ref items = ir::produce(ir::int64(40), ir::lambda({item}, {ir::unit(value)}));
  return {ir::consume(ir::elements(items))};
}

}  // namespace

TEST_CASE("an element out of range that no item reads") {
  check_everywhere(program(0, 0, 40));
  check_everywhere(program(3, 3, 40));
  check_everywhere(program(3, 2, 20));
  CHECK(wrong_with(program(3, 3, 20), {}) == "");  // fails, here as there
}
