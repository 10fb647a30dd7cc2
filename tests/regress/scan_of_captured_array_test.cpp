// Seed 209, size 5, made small and readable: scans of an array that all items share, with a seed of each item.

#include "oracle/check.h"
#include "oracle/literals.h"

using namespace anabranch;
using namespace anabranch::testing;
using ir::Ref;

TEST_CASE("scans of a captured array with a seed that depends on the item") {
  const ArrayInfo rows = component({"int32"}, {std::nullopt}, 0, 64);
  const std::vector<Item> items{{host_array({"int32"}, {0}, {{}})},
                                {host_array({"int32"}, {3}, {{4, 5, 6}})},
                                {host_array({"int32"}, {1}, {{7}})}};
  for (const std::vector<std::int64_t>& extents : {std::vector<std::int64_t>{1, 0}, {2, 2}, {4}}) {
    const auto size = static_cast<std::size_t>(extents.size() == 2 ? extents[0] * extents[1] : extents[0]);
    const Ref shared = ir::use(host_array({"int64"}, extents, {std::vector<std::uint64_t>(size, 3)}));
    for (const auto prefixes : {ir::Prefixes::inclusive, ir::Prefixes::exclusive}) {
      const Ref item = ir::parameter(array_type(1, {"int32"}));
      const Ref x = ir::parameter(element_type({"int64"})), y = ir::parameter(element_type({"int64"}));
      const Ref sum = ir::lambda({x, y}, {ir::primitive(primitive_named("add"), {x, y})});
      const Ref both = ir::scan(sum, shared, ir::extent(item, 0), {prefixes});
      const Ref scanned = ir::lambda({item}, {ir::project_array(both, 0), ir::project_array(both, 1)});
      const Ref sequence = ir::map_seq(scanned, {stream_of({rows}, items)});
      check_everywhere({ir::consume(ir::tabulate(ir::project_seq(sequence, 0, 1))),
                        ir::consume(ir::elements(ir::project_seq(sequence, 1, 1)))});
    }
  }
}
