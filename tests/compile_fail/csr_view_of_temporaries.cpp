// expect: anabranch: csr_view keeps no copy of its arrays
// expect: anabranch: csr_view keeps no copy of its arrays
#include <anabranch/anabranch.h>
#include <anabranch/io.h>

using namespace anabranch;

int main() {
  const std::vector<int64_t> offsets{0, 1};
  const std::vector<int32_t> columns{0};
  const std::vector<double> values{1.0};
#if MUST_FAIL == 1
  io::csr_view(1, 1, std::vector<int64_t>{0, 1}, std::vector<int32_t>{0}, std::vector<double>{1.0});
#elif MUST_FAIL == 2
  io::csr_view(1, 1, offsets, columns, std::vector<double>{1.0});
#else
  io::csr_view(1, 1, offsets, columns, values);
  io::csr_view(1, 1, std::span(offsets), columns, values);
  io::csr_view(1, 1, Vector<int64_t>{0, 1}, Vector<int32_t>{0}, Vector<double>{1.0});
#endif
}
