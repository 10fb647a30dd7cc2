#include <algorithm>
#include <memory>
#include <span>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/ordered_workers.h"
#include "io/sparse/entry_sorter.h"
#include "io/sparse/market_entries.h"
#include "io/sparse/matrix_market.h"
#include "io/sparse/sorted_rows.h"

/// Matrix Market to CSR: the entries come in any order, and the file may be larger than memory, so they are
/// sorted through a spool file. Text is parsed in blocks on several threads, and the entries are added to the
/// sorter in file order.
namespace anabranch::io::detail {

namespace {

template <class I>
class MarketSorter {
 public:
  MarketSorter(const ReadFile& file, const MatrixMarketHeader& header, const OpenOptions& options)
      : file_(file), header_(header), options_(options), swapped_(options.transpose) {}

  CsrLayout run() {
    const CsrHeader header = header_.csr_header();
    const std::int64_t rows = swapped_ ? header_.cols : header_.rows;
    const std::int64_t cols = swapped_ ? header_.rows : header_.cols;
    const auto file = File::spool(options_.spool_dir, file_.name() + " (spool file)");
    BlockStore store(file);
    const RowTypes types{header.index, header.index, ScalarType::float64};
    check_spool_space(*file, options_.spool_dir, file_.name(), rows, header_.most_stream_entries(),
                      sizeof(Entry<I>), types);
    SortedRows out(&options_.spool_dir, file_.name(), types, rows, header_.most_stream_entries());
    EntrySorter<Entry<I>> sorter(
        store, {0, std::max<std::int64_t>(rows, 1), 0, std::max<std::int64_t>(cols, 1)},
        header_.most_stream_entries(), SortMemory(options_.memory, options_.threads));
    read_market_entries<I>(file_, header_, {options_.memory, options_.threads},
                           [&] { return std::make_unique<Taker>(*this, sorter); });
    sorter.finish([&](std::span<const Entry<I>> entries) { out.append(entries); },
                  [&](const Entry<I>& e) { check_exact(in_place(e)); });
    out.finish();
    CsrHeader sorted = header;
    sorted.rows = rows;
    sorted.cols = cols;
    return out.layout(sorted);
  }

 private:
  /// Puts entries where they belong into the sorter.
  class Taker final : public PartTaker<Entry<I>> {
   public:
    Taker(const MarketSorter& market, EntrySorter<Entry<I>>& sorter) : market_(market), part_(sorter) {}
    void prepare(std::span<const Entry<I>> entries) override { part_.prepare(each_of(entries)); }
    void take(std::span<const Entry<I>> entries) override { part_.add(each_of(entries)); }

   private:
    auto each_of(std::span<const Entry<I>> entries) const {
      return [this, entries](auto&& f) {
        for (const Entry<I>& e : entries) f(market_.in_place(e));
      };
    }
    const MarketSorter& market_;
    EntryPart<Entry<I>> part_;
  };

  /// Of the matrix in the file, in the one that is wanted; and the other way round.
  Entry<I> in_place(const Entry<I>& e) const { return swapped_ ? Entry<I>{e.col, e.row, e.value} : e; }
  /// Called for an entry whose sum was rounded: integers are held exactly or refused.
  void check_exact(const Entry<I>& entry) const {
    if (header_.integers())
      throw DataError(
          fmt::format("{}: the entries at row {}, column {} have a sum that a double does not hold exactly",
                      file_.name(), std::int64_t{entry.row} + 1, std::int64_t{entry.col} + 1));
  }

  const ReadFile& file_;
  const MatrixMarketHeader& header_;
  const OpenOptions& options_;
  bool swapped_;
};

}  // namespace

CsrLayout spool_matrix_market(const ReadFile& file, const MatrixMarketHeader& header,
                              const OpenOptions& options) {
  if (header.csr_header().index == ScalarType::int32)
    return MarketSorter<std::int32_t>(file, header, options).run();
  return MarketSorter<std::int64_t>(file, header, options).run();
}

}  // namespace anabranch::io::detail
