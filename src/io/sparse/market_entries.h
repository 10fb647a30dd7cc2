#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "io/sparse/entry.h"
#include "io/sparse/matrix_market.h"

/// The entry lines of a Matrix Market file.
namespace anabranch::io::detail {

/// Gives the entries in file order, part by part, counted from 0; in symmetric matrices the mirrored half directly after its entry.
/// Text is parsed on several threads in blocks that hold at most a quarter of `memory`. DataError with the line of what
/// is wrong.
template <class I>
void read_market_entries(const ReadFile& file, const MatrixMarketHeader& header, std::int64_t memory,
                         const std::function<void(std::span<const Entry<I>>)>& give);

}  // namespace anabranch::io::detail
