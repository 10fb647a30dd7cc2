#pragma once

#include <anabranch/anabranch.h>

namespace anabranch::examples {

/// The sum of the products of the elements at equal positions.
inline Acc<Scalar<float>> dot_product(const Acc<Vector<float>>& xs, const Acc<Vector<float>>& ys) {
  return fold(plus, 0.0F, zip_with(times, xs, ys));
}

}  // namespace anabranch::examples
