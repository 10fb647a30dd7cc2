#include "support/catch.h"
#include "tests/cpu/support/in_place_kernels.h"
#include "tests/cuda/support/run.h"

using namespace anabranch;
using namespace anabranch::test;

TEST_CASE("cuda: maps in place read an element before they store it, and once") {
  for (const std::int64_t n : {0, 1, 5, 257, 1030, 4097})
    each_kernel_in_place(n, [&](const char* what, KernelBuilder& k) {
      INFO(what << ", " << n << " elements");
      CHECK(cuda_disagreement(k) == "");
    });
}

TEST_CASE("cuda: what a map overwrites is no constant memory") {
  each_kernel_in_place(100, [&](const char* what, KernelBuilder& k) {
    INFO(what);
    const std::string text = cuda::generate(k.kernel()).source;
    CHECK(text.find("const double* in0;") == std::string::npos);
    CHECK(text.find("const i64* in0;") == std::string::npos);
  });
}
