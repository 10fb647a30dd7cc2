#include "support/catch.h"
#include "tests/cuda/support/run.h"
#include "tests/cuda/support/nvrtc.h"
#include <fstream>
using namespace anabranch;
using namespace anabranch::test;
TEST_CASE("first") {
  std::vector<std::int32_t> off{0}, col;
  for (int n : {0, 1, 5, 16, 17, 40, 300, 4096, 4097, 9000, 3}) { for (int i = 0; i < n; ++i) col.push_back((i * 37) % 100); off.push_back(int(col.size())); }
  std::vector<double> v(col.size()), x(100);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = 1.0 / double(i % 1001 + 3);
  for (std::size_t i = 0; i < 100; ++i) x[i] = 1.0 / double(i + 1);
  auto k = spmv(off, col, v, x);
  Nvrtc n; REQUIRE(n.found());
  for (const char* a : {"sm_75", "sm_90"}) {
  auto r = n.compile(cuda::generate(k.kernel()), a);
  printf("%s\n", r.log.c_str());
  std::ofstream(std::string("/tmp/h1_") + a + ".cubin") << r.image;
  }
}
