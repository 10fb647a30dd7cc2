#pragma once

#include <cstdint>

#include "io/sparse/entry.h"
#include "io/sparse/matrix_market.h"
#include "io/sparse/part_taker.h"

/// The entry lines of a Matrix Market file.
namespace anabranch::io::detail {

/// What reading may take.
struct ReadingShare {
  std::int64_t memory = 0;
  int threads = 0;  ///< as for reading_threads
};

/// Gives the entries in file order, part by part, counted from 0; in symmetric matrices the mirrored half directly after its entry.
/// Text is parsed on several threads in blocks that hold at most a quarter of the memory. DataError with the line of what
/// is wrong.
template <class I>
void read_market_entries(const ReadFile& file, const MatrixMarketHeader& header, const ReadingShare& share,
                         const MakeTaker<Entry<I>>& make_taker);

}  // namespace anabranch::io::detail
