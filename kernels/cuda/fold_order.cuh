#pragma once

/// The numbers of the canonical order of reduction, as in src/ir/fold_order.h (a test compares them).
namespace anabranch::fold_order {

constexpr long long sequential = 16;  ///< longest run taken left to right
constexpr long long narrow_lanes = 8;
constexpr long long wide_lanes = 32;
constexpr long long wide_from = 256;  ///< shortest run in wide lanes
constexpr long long block = 4096;

}  // namespace anabranch::fold_order
