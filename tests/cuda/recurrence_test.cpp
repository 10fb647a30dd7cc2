#include "support/catch.h"
#include "tests/cpu/support/recurrence_kernels.h"
#include "tests/cuda/support/run.h"

using namespace anabranch;
using namespace anabranch::test;

TEST_CASE("cuda: states of the items of a stream, and of the rows of matrices") {
  std::vector<std::int64_t> lengths{0, 1, 5, 300, 17, 0, 0, 33};
  for (std::int64_t i = 0; i < 300; ++i) lengths.push_back(i % 5);
  auto ragged = states_of_items<float>(lengths);
  CHECK(cuda_disagreement(ragged) == "");
  auto narrow = states_of_items<std::int8_t>(lengths);
  CHECK(cuda_disagreement(narrow) == "");
  for (const std::int64_t rows : {0, 1, 40}) {
    auto one = states_of_matrices<double>(rows, 9, false, 1);
    CHECK(cuda_disagreement(one) == "");
    auto several = states_of_matrices<std::int32_t>(rows, 9, true, 5, true);
    CHECK(cuda_disagreement(several) == "");
  }
}

TEST_CASE("cuda: texts of states compile for a GPU") {
  if (!nvrtc()) {
    WARN("NVRTC is not installed: nothing was compiled");
    return;
  }
  auto k = states_of_items<float>({3, 4});
  CHECK(nvrtc_complaint(cuda::generate(k.kernel())) == "");
}
