#include "radix_sort.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "example.h"

/// radix_sort [N]
int main(int argc, char** argv) try {
  using namespace anabranch;
  using namespace anabranch::examples;
  const std::int64_t n = size_from(argc, argv, 10'000);
  Numbers numbers;
  std::vector<std::int32_t> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(std::bit_cast<std::int32_t>(numbers.bits()));
  const Vector<std::int32_t> sorted = run(radix_sort(use(v)));

  std::sort(v.begin(), v.end());
  if (n > 0) std::printf("%lld numbers from %d to %d\n", static_cast<long long>(n), sorted[0], sorted[n - 1]);
  return verdict(sorted.size() == n && std::equal(v.begin(), v.end(), sorted.begin()));
} catch (const anabranch::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
