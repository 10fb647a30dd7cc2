// Maps that overwrite what they read.

#include "support/catch.h"
#include "tests/cpu/support/in_place_kernels.h"
#include "tests/cpu/support/oracle.h"

using namespace anabranch;
using namespace anabranch::test;

TEST_CASE("maps in place read an element before they store it, and once") {
  for (const auto n : lengths)
    each_kernel_in_place(n, [&](const char* what, KernelBuilder& k) {
      INFO(what << ", " << n << " elements");
      CHECK(disagreement(k, {0, 7, 1000}) == "");
    });
}
