#pragma once

#include <anabranch/anabranch.h>

#include <cstdint>

namespace anabranch::examples {

/// A matrix times the vector x. The matrix as rows of different lengths, one after the other: where each row
/// begins (and, at the end, how many elements there are), and of each element its column and its value.
inline Acc<Vector<double>> smvm(const Acc<Vector<std::int32_t>>& begins,
                                const Acc<Vector<std::int32_t>>& columns, const Acc<Vector<double>>& values,
                                const Acc<Vector<double>>& x) {
  return fold_seg(plus, 0.0, zip_with(times, values, gather(columns, x)), segments_of_offsets(begins));
}

}  // namespace anabranch::examples
