#include "support/catch.h"
#include "tests/cpu/support/oracle.h"
#include "tests/cpu/support/random_kernel.h"

using namespace anabranch;
using namespace anabranch::test;

namespace {

std::string fuzz(unsigned seed) {
  auto k = random_kernel(seed);
  return disagreement(k, {0, 13});
}

}  // namespace

TEST_CASE("random expressions: vector code, scalar code and interpreter agree") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    REQUIRE(fuzz(seed) == "");
  }
}

TEST_CASE("random expressions, many", "[.long]") {
  for (unsigned seed = 1000; seed < 3000; ++seed) {
    INFO("seed " << seed);
    REQUIRE(fuzz(seed) == "");
  }
}
