#include "mandelbrot.h"

#include "example.h"

namespace {

std::int32_t rounds_at(double cx, double cy, std::int32_t limit) {
  double x = 0, y = 0;
  std::int32_t rounds = 0;
  for (; rounds < limit && x * x + y * y <= 4; ++rounds) {
    const double next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
  }
  return rounds;
}

}  // namespace

/// mandelbrot [ROWS]
int main(int argc, char** argv) try {
  using namespace anabranch;
  using namespace anabranch::examples;
  const std::int64_t height = size_from(argc, argv, 24), width = 3 * height;
  constexpr std::int32_t limit = 100;
  const View view;
  const Matrix<std::int32_t> rounds = run(mandelbrot(height, width, limit, view));

  std::int64_t different = 0;
  for (std::int64_t i = 0; i < height; ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      const double cx = view.left + static_cast<double>(j) * (view.right - view.left) / width;
      const double cy = view.low + static_cast<double>(i) * (view.high - view.low) / height;
      const std::int32_t here = rounds[Index{i, j}];
      different += here != rounds_at(cx, cy, limit) ? 1 : 0;
      if (height <= 50) std::putchar(here == limit ? '#' : here > 10 ? '+' : here > 4 ? '.' : ' ');
    }
    if (height <= 50) std::putchar('\n');
  }
  // On the border of the set the rounding decides.
  return verdict(different <= height * width / 50);
} catch (const anabranch::Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
