#include "support/catch.h"
#include "tests/cpu/support/random_kernel.h"
#include "tests/cuda/support/run.h"

using namespace anabranch;
using namespace anabranch::test;

namespace {

bool can_compile() {
  if (nvrtc()) return true;
  WARN("NVRTC is not installed: nothing was compiled");
  return false;
}

}  // namespace

TEST_CASE("cuda: texts compile for a GPU, without warnings and spills") {
  if (!can_compile()) return;
  auto narrow = spmv<float, std::int32_t>({0, 1}, {0}, {1.0f}, {1.0f});
  auto wide = spmv<double, std::int64_t>({0, 1}, {0}, {1.0}, {1.0});
  auto kernel = wide.kernel();
  CHECK(nvrtc_complaint(cuda::generate(narrow.kernel())) == "");
  CHECK(nvrtc_complaint(cuda::generate(kernel)) == "");
  reduction_in(kernel).seed.clear();
  kernel.checks.push_back({kernel::Check::Kind::empty_fold, nullptr, "fold", {}});
  reduce_in(kernel).order = ir::fold_order::OperatorClass::ordered;
  CHECK(nvrtc_complaint(cuda::generate(kernel)) == "");
}

TEST_CASE("cuda: random texts compile for a GPU") {
  if (!can_compile()) return;
  for (unsigned seed = 0; seed < (compiles_all() ? 32 : 2); ++seed) {
    auto k = random_kernel(seed);
    k.find_checks();
    INFO("seed " << seed);
    CHECK(nvrtc_complaint(cuda::generate(k.kernel())) == "");
  }
}
