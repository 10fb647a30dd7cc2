#include <algorithm>
#include <limits>
#include <span>

#include "cpu/routines.h"
#include "support/catch.h"
#include "tests/cpu/support/map_kernels.h"

// Which item a position belongs to: kernels are told the item that a piece begins in, and go on from there.
using namespace anabranch;
using namespace anabranch::test;

TEST_CASE("the elements of a chunk do not search their items one by one") {
  constexpr std::size_t items = 1000;
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < items; ++i) lengths.push_back(static_cast<std::int64_t>(i * 7 % 60));
  Ragged r(lengths);
  r.segmented_output(ScalarType::float64);
  const ir::Ref i = r.k.kernel().index[0];
  const ir::Ref scale = ir::cast(ScalarType::float64, ir::index(r.item, ir::tuple({}), {}, true));
  r.k.kernel().body = {
      plus(times(ir::index(r.values, i, {}, true), scale), ir::cast(ScalarType::float64, i))};
  r.k.find_checks();
  const auto compiled = cpu::compile(r.k.kernel());
  const std::vector<std::byte> expected = r.k.run();

  // Of the offsets there are those of the piece's own items, and the first one, from which positions are counted. A
  // search would meet another one.
  const std::span offsets(static_cast<std::int64_t*>(r.k.data(r.off)), items + 1);
  const std::vector<std::int64_t> all(offsets.begin(), offsets.end());
  const auto output = r.k.output_component(0);
  for (const std::size_t first : {0, 1, 400, 500, 700, 990})
    for (const std::size_t last : {first, first + 1, first + 9}) {
      std::ranges::fill(offsets.subspan(1), std::numeric_limits<std::int64_t>::max());
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(first), last + 2 - first,
                  offsets.begin() + static_cast<std::ptrdiff_t>(first));
      std::ranges::fill(output, std::byte{0});
      const cpu::StopWord never = 0;
      cpu::ErrorRecord error;
      cpu::KernelArgs args{};
      args.buffers = r.k.buffers().data();
      args.scalars = r.k.scalars().data();
      args.functions = cpu::anabranch_routines;
      args.error = &error;
      args.items = items;
      args.stop = &never;
      cpu::Scratch scratch;
      scratch.first_item = static_cast<std::int64_t>(first);
      const std::int64_t begin = all[first] - all[0], end = all[last + 1] - all[0];
      compiled->image.entry(0)(&args, begin, end, &scratch);
      REQUIRE(error.failed == 0);
      INFO("items " << first << " to " << last);
      const auto from = static_cast<std::ptrdiff_t>(all[first]) * 8,
                 to = static_cast<std::ptrdiff_t>(all[last + 1]) * 8;
      CHECK(std::equal(output.begin() + from, output.begin() + to, expected.begin() + from));
    }
}
