#include "dot_product.h"

#include "example.h"

/// dot_product [N]
int main(int argc, char** argv) try {
  using namespace anabranch;
  using namespace anabranch::examples;
  const std::int64_t n = size_from(argc, argv, 100'000);
  Numbers numbers;
  const Vector<float> xs = numbers.vector(n, -1, 1), ys = numbers.vector(n, -1, 1);
  const float dot = run(dot_product(use(xs), use(ys)))[0];

  double expected = 0;
  for (std::int64_t i = 0; i < n; ++i) expected += static_cast<double>(xs[i]) * static_cast<double>(ys[i]);
  std::printf("the dot product of two vectors of %lld numbers: %g\n", static_cast<long long>(n), dot);
  return verdict(close(dot, expected, 1e-3));
} catch (const anabranch::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
