#include "tests/cuda/support/target.h"

#include <cstdlib>

#include "support/catch.h"
#include "support/gpu_host/fake_driver.h"
#include "tests/cpu/support/map_kernels.h"
#include "tests/cuda/support/run.h"
#include "tests/cuda/support/scan_kernels.h"

// On a machine with a GPU the tests of maps, folds and scans run there. Here that way is taken to a simulated one.
namespace {

using namespace anabranch;
using namespace anabranch::test;

class OnGpu {
 public:
  OnGpu() { ::setenv("ANABRANCH_TEST_GPU", "1", 1); }
  ~OnGpu() { ::unsetenv("ANABRANCH_TEST_GPU"); }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

 private:
  gpu_host::WithFakeGpu gpu_;
};

}  // namespace

TEST_CASE("kernels of the tests run on a GPU, too") {
  const OnGpu here;
  Ragged r({3, 0, 40, 5000, 1});
  r.segmented_output(ScalarType::float64);
  r.k.kernel().body = {times(ir::index(r.values, r.k.kernel().index[0], {}, true), ir::literal(3.0))};
  CHECK(cuda_disagreement(r.k) == "");
  CHECK(gpu_host::fake_gpu().calls("launch_kernel") > 0);
  CHECK(gpu_host::fake_gpu().violations().empty());

  r.k.kernel().body = {ir::index(r.x, r.k.kernel().index[0])};  // fails in the long row
  CHECK(cuda_disagreement(r.k) == "");

  const int launched = gpu_host::fake_gpu().calls("launch_kernel");
  auto scan = rows_scanned<double>({3, 0, 40, 5000, 1}, Primitive::add, true, ScanResult::inclusive);
  CHECK(scan_disagreement(scan) == "");
  CHECK(gpu_host::fake_gpu().calls("launch_kernel") > launched);
  CHECK(gpu_host::fake_gpu().violations().empty());
}
