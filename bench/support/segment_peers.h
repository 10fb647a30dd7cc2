#pragma once

#include <cstdint>

/// Sums of rows that lie one after the other, row i from offsets[i] to offsets[i + 1].
namespace anabranch::bench {

/// One row after the other, as -Ofast makes it.
void segments_in_loops(const float* values, const std::int64_t* offsets, std::int64_t rows, float* out);

/// 16 rows at a time by hand: a masked vector of each, further ones of those that are longer, one transposed reduction
/// for all. False where the processor has no AVX-512.
bool has_segments_in_vectors();
void segments_in_vectors(const float* values, const std::int64_t* offsets, std::int64_t rows, float* out);

}  // namespace anabranch::bench
