#include "smvm.h"

#include <vector>

#include "example.h"

/// smvm [ROWS]
int main(int argc, char** argv) try {
  using namespace anabranch;
  using namespace anabranch::examples;
  const std::int64_t n = size_from(argc, argv, 1'000);
  Numbers numbers;
  // Rows of 0 to 50 elements in a square matrix.
  std::vector<std::int32_t> begins{0}, columns;
  std::vector<double> values, x, expected;
  for (std::int64_t j = 0; j < n; ++j) x.push_back(numbers.next());
  for (std::int64_t i = 0; i < n; ++i) {
    expected.push_back(0);
    for (std::uint32_t k = numbers.bits() % 51; k > 0; --k) {
      columns.push_back(static_cast<std::int32_t>(numbers.bits() % static_cast<std::uint64_t>(n)));
      values.push_back(numbers.next());
      expected.back() += values.back() * x[static_cast<std::size_t>(columns.back())];
    }
    begins.push_back(static_cast<std::int32_t>(values.size()));
  }
  const Vector<double> y = run(smvm(use(begins), use(columns), use(values), use(x)));

  bool right = y.size() == n;
  double total = 0;
  for (std::int64_t i = 0; right && i < n; ++i) {
    right = close(y[i], expected[static_cast<std::size_t>(i)], 1e-13);
    total += y[i];
  }
  std::printf("%lld rows, %zu elements; the sum of all results: %.6f\n", static_cast<long long>(n),
              values.size(), total);
  return verdict(right);
} catch (const anabranch::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
