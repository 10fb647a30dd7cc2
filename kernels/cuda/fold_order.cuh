#pragma once

/// The numbers of the canonical order of reduction, as in src/ir/fold_order.h (a test compares them).
namespace anabranch::fold_order {

constexpr long long narrow_lanes = 16;
constexpr long long wide_lanes = 32;
constexpr long long wide_from = 256;  ///< shortest block in wide lanes
constexpr long long block = 4096;

}  // namespace anabranch::fold_order
