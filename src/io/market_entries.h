#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "matrix_market.h"

/// The entry lines of a Matrix Market file, in blocks that can be parsed apart from each other.
namespace anabranch::io::detail {

/// One matrix entry, counted from 0. 16 bytes with 32-bit indices.
template <class I>
struct Entry {
  I row;
  I col;
  double value;
};

struct TextBlock {
  std::string text;  ///< whole lines; every line, also the last, ends with '\n'
};

/// Cuts the text after the header into blocks of whole lines, about `bytes` long.
class TextBlocks {
 public:
  TextBlocks(const ReadFile& file, std::int64_t begin, std::int64_t bytes)
      : file_(file), at_(begin), bytes_(bytes) {}
  /// False at the end of the file. DataError if a line is longer than a block.
  bool next(TextBlock& block);

 private:
  const ReadFile& file_;
  std::int64_t at_;
  std::int64_t bytes_;
  std::string carry_;
};

template <class I>
struct ParsedBlock {
  struct Fault {
    std::int64_t line;  ///< from 0 within the block
    std::string why;
  };
  std::vector<Entry<I>> entries;  ///< in file order; the mirrored half directly after its entry
  std::int64_t lines = 0;
  std::int64_t lines_with_entry = 0;
  std::optional<Fault> fault;  ///< the first; entries before it are given
};

/// Never throws on bad text: the fault's line number is only known once the blocks before are counted.
template <class I>
void parse_entries(const TextBlock& block, const MatrixMarketHeader& header, ParsedBlock<I>& out);

}  // namespace anabranch::io::detail
