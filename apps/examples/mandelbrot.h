#pragma once

#include <anabranch/anabranch.h>

#include <cstdint>
#include <tuple>

namespace anabranch::examples {

/// The part of the plane that is drawn.
struct View {
  float left = -2, right = 1, low = -1, high = 1;
};

/// How many rounds of z = z^2 + c, `limit` at most, each point c of the view stays within 2.
inline Acc<Matrix<std::int32_t>> mandelbrot(std::int64_t height, std::int64_t width, std::int32_t limit,
                                            const View& view = {}) {
  const float dx = (view.right - view.left) / static_cast<float>(width);
  const float dy = (view.high - view.low) / static_cast<float>(height);
  return generate(Index{height, width}, [=](auto at) {
    const Exp<float> cx = cast<float>(at[1]) * dx + view.left;
    const Exp<float> cy = cast<float>(at[0]) * dy + view.low;
    const auto inside = [=](auto state) {
      auto [x, y, rounds] = state;
      return y * y + x * x <= 4.0F && rounds < limit;
    };
    const auto step = [=](auto state) {
      auto [x, y, rounds] = state;
      return pack(x * x - y * y + cx, 2.0F * x * y + cy, rounds + 1);
    };
    return get<2>(while_loop(inside, step, pack(Exp<float>(0.0F), Exp<float>(0.0F), Exp<std::int32_t>(0))));
  });
}

}  // namespace anabranch::examples
