#include "support/catch.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "io/base/csr_check.h"

using namespace anabranch::io::detail;

TEMPLATE_TEST_CASE("csr_check: a fault is found at every position of every length", "", std::int32_t,
                   std::int64_t) {
  using I = TestType;
  for (std::size_t n = 0; n < 140; ++n) {
    std::vector<I> columns(n, 9), offsets(n, 4);
    const auto count = static_cast<std::int64_t>(n);
    CHECK(first_outside(columns.data(), count, 10) == count);
    CHECK(first_decrease(offsets.data(), count, I{4}) == count);
    for (std::size_t at = 0; at < n; ++at) {
      for (I wrong : {I{10}, I{-1}, std::numeric_limits<I>::max(), std::numeric_limits<I>::min()}) {
        columns[at] = wrong;
        CHECK(first_outside(columns.data(), count, 10) == static_cast<std::int64_t>(at));
        columns[at] = 0;
      }
      offsets[at] = 3;
      CHECK(first_decrease(offsets.data(), count, I{4}) == static_cast<std::int64_t>(at));
      offsets[at] = 4;
    }
  }
  const std::vector<I> one{0};
  CHECK(first_outside(one.data(), 1, 0) == 0);
  CHECK(first_outside(one.data(), 1, INT64_MAX) == 1);
  const std::vector<I> negative{-5};
  CHECK(first_outside(negative.data(), 1, INT64_MAX) == 0);
}
