#include "io/sparse/market_entries.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/counted.h"
#include "io/base/ordered_workers.h"
#include "io/text/text_blocks.h"

namespace anabranch::io::detail {

namespace {

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
void parse_entries(const TextBlock& block, const MatrixMarketHeader& header, ParsedBlock<I>& out) {
  out.entries.clear();
  out.lines = out.lines_with_entry = 0;
  out.fault.reset();
  const bool pattern = header.field == MarketField::pattern;
  const bool general = header.symmetry == MarketSymmetry::general;
  const double mirror = header.symmetry == MarketSymmetry::skew_symmetric ? -1.0 : 1.0;
  const auto fail = [&](std::string why) { out.fault = {out.lines, std::move(why)}; };
  for (LineParser in(block); !in.done(); ++out.lines) {
    if (in.end_of_line()) continue;
    const std::int64_t row = in.index();
    const bool first = in.separated();
    const std::int64_t col = in.index();
    if (row < 0 || col < 0 || !first)
      return fail("an entry 'ROW COLUMN" + std::string(pattern ? "'" : " VALUE'") + " expected");
    if (row < 1 || row > header.rows) return fail(fmt::format("row {} is outside 1..{}", row, header.rows));
    if (col < 1 || col > header.cols)
      return fail(fmt::format("column {} is outside 1..{}", col, header.cols));
    double value = 1.0;
    if (!pattern) {
      const bool apart = in.separated();
      if (in.end_of_line()) return fail("the entry has no value: 'ROW COLUMN VALUE' expected");
      if (!apart) return fail("neither a blank nor a number behind the column");
      const char* why =
          header.integers() ? in.integer(value, header.field == MarketField::integer) : in.real(value);
      if (why) return fail(why);
    }
    if (!in.end_of_line()) return fail("text after the entry");
    ++out.lines_with_entry;
    const auto r = static_cast<I>(row - 1);
    const auto c = static_cast<I>(col - 1);
    out.entries.push_back({r, c, value});
    if (general) continue;
    if (r != c)
      out.entries.push_back({c, r, mirror * value});
    else if (mirror < 0 && value != 0)
      return fail("a skew-symmetric matrix has a zero diagonal");
  }
}

}  // namespace

template <class I>
void read_market_entries(const ReadFile& file, const MatrixMarketHeader& header, const ReadingShare& share,
                         const MakeTaker<Entry<I>>& make_taker) {
  struct State {
    TextBlock text;
    ParsedBlock<I> parsed;
    std::unique_ptr<PartTaker<Entry<I>>> taker;
  };
  const int threads = reading_threads(share.threads, share.memory);
  const std::int64_t block = text_block_bytes(share.memory, threads);
  TextBlocks text(file, header.begin, block);
  std::int64_t lines = header.line;
  std::int64_t entries = 0;
  run_ordered<State>(
      threads_for(threads, file.size() / block + 1), [&](State& s) { return text.next(s.text); },
      [&](State& s) {
        parse_entries(s.text, header, s.parsed);
        if (s.parsed.fault) return;
        if (!s.taker) s.taker = make_taker();
        s.taker->prepare(s.parsed.entries);
      },
      [&](State& s) {
        if (s.parsed.fault)
          throw DataError(
              fmt::format("{}:{}: {}", file.name(), lines + s.parsed.fault->line, s.parsed.fault->why));
        s.taker->take(s.parsed.entries);
        lines += s.parsed.lines;
        entries += s.parsed.lines_with_entry;
        if (entries > header.entries)
          throw DataError(fmt::format("{}: the header promises {}, but there are more before line {}",
                                      file.name(), counted(header.entries, "entry"), lines));
      });
  file.check_unchanged();
  if (entries != header.entries)
    throw DataError(fmt::format("{}:{}: the file ends after {} of {}", file.name(), lines, entries,
                                counted(header.entries, "entry")));
}

template void read_market_entries(const ReadFile&, const MatrixMarketHeader&, const ReadingShare&,
                                  const MakeTaker<Entry<std::int32_t>>&);
template void read_market_entries(const ReadFile&, const MatrixMarketHeader&, const ReadingShare&,
                                  const MakeTaker<Entry<std::int64_t>>&);

}  // namespace anabranch::io::detail
