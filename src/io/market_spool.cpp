#include <algorithm>
#include <span>
#include <thread>
#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "entry_buckets.h"
#include "entry_sort.h"
#include "market_entries.h"
#include "matrix_market.h"
#include "ordered_workers.h"

/// Matrix Market to CSR: the entries come in any order, and the file may be larger than memory, so they are
/// sorted through a spool file. First pass: text is parsed in blocks on several threads and the entries put,
/// in file order, into buckets of consecutive rows. Second pass: bucket after bucket is read, sorted and
/// summed in memory (again on several threads) and written to the CSR arrays in order. A bucket too large for
/// its share of memory is first split into smaller ones: by row, within one row by column, and what then
/// remains is a single place to be summed.
namespace anabranch::io::detail {

namespace {

/// Memory shares. Both passes together never hold more than `total`.
struct Shares {
  int threads;
  std::int64_t text;     ///< of a text block, per thread; its entries need up to 8 times as much
  std::int64_t buffers;  ///< write buffers of the buckets
  std::int64_t sorting;  ///< entries and scratch of one bucket, per thread

  explicit Shares(std::int64_t total) {
    threads = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 8u));
    text = std::clamp<std::int64_t>(total / (32 * threads), 4 << 10, 1 << 20);
    buffers = total / 4;
    sorting = total / 2 / threads;
  }
};

/// The three CSR arrays, written in step.
template <class I>
class CsrSpool {
 public:
  CsrSpool(const std::string& directory, const std::string& name)
      : name_(name),
        indptr_(File::spool(directory, name + " (sorted indptr)"), 0, 128 << 10),
        indices_(File::spool(directory, name + " (sorted indices)"), 0, 128 << 10),
        values_(File::spool(directory, name + " (sorted values)"), 0, 128 << 10) {
    end_row();
  }

  /// Rows must not fall.
  void append(const Entry<I>* entries, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      while (row_ < entries[i].row) end_row();
      indices_.append(&entries[i].col, sizeof(I));
      values_.append(&entries[i].value, sizeof(double));
      ++entries_;
    }
  }
  CsrLayout finish(CsrHeader header) {
    while (row_ < header.rows) end_row();
    for (BufferedWriter* out : {&indptr_, &indices_, &values_}) out->flush();
    CsrLayout layout;
    layout.name = name_;
    layout.header = header;
    layout.header.nnz = entries_;
    layout.indptr = array(indptr_, header.index, header.rows + 1);
    layout.indices = array(indices_, header.index, entries_);
    layout.values = array(values_, ScalarType::float64, entries_);
    return layout;
  }

 private:
  void end_row() {
    const auto offset = static_cast<I>(entries_);
    indptr_.append(&offset, sizeof offset);
    ++row_;
  }
  StoredArray array(BufferedWriter& out, ScalarType type, std::int64_t count) {
    StoredArray a;
    a.name = out.file()->name();
    a.cursor =
        std::make_unique<StoredCursor>(out.file(), 0, count * static_cast<std::int64_t>(size_of(type)));
    a.type = type;
    a.count = count;
    return a;
  }

  std::string name_;
  BufferedWriter indptr_, indices_, values_;
  std::int64_t row_ = -1;  ///< whose entries are being written
  std::int64_t entries_ = 0;
};

template <class I>
class MarketSorter {
 public:
  MarketSorter(const ReadFile& file, const MatrixMarketHeader& header, const OpenOptions& options)
      : file_(file),
        header_(header),
        shares_(options.memory),
        store_{File::spool(options.spool_dir, file.name() + " (spool file)")},
        out_(options.spool_dir, file.name()) {
    check_space(File::spool_folder(options.spool_dir));
  }

  CsrLayout run() {
    Buckets buckets = distribute();
    sort(buckets, shares_.threads);
    return out_.finish(header_.csr_header());
  }

 private:
  using E = Entry<I>;
  static constexpr auto entry_bytes = static_cast<std::int64_t>(sizeof(E));

  struct Buckets {
    std::vector<Bucket> list;
    std::int64_t block_entries = 0;
  };

  std::int64_t most_stream_entries() const {
    return header_.symmetry == MarketSymmetry::general ? header_.entries : 2 * header_.entries;
  }

  /// The rows of a header are not bounded by the file's size; their offsets need disk space.
  void check_space(const std::string& folder) const {
    const std::int64_t free = store_.file->free_space();
    const __int128 needed = __int128{header_.rows} * std::int64_t{sizeof(I)} +
                            __int128{most_stream_entries()} * (entry_bytes + std::int64_t{sizeof(I)} + 8);
    if (needed > free)
      throw IoError(fmt::format(
          "{}: sorting {} rows and {} entries needs about {:.1f} MB in the folder {}, where {:.1f} MB "
          "are free (TMPDIR can name another one)",
          file_.name(), header_.rows, most_stream_entries(), static_cast<double>(needed) * 1e-6, folder,
          static_cast<double>(free) * 1e-6));
  }

  Buckets distribute() {
    // Buckets of some 2 MiB sort in the processor's cache.
    const std::int64_t wanted =
        std::min<std::int64_t>(most_stream_entries() * entry_bytes / (2 << 20) + 1, 1024);
    EntryBuckets<I> buckets(
        store_, {0, std::max<std::int64_t>(header_.rows, 1), 0, std::max<std::int64_t>(header_.cols, 1)},
        wanted, shares_.buffers);
    TextBlocks text(file_, header_.begin, shares_.text);
    struct State {
      TextBlock text;
      ParsedBlock<I> parsed;
    };
    std::int64_t lines = header_.line;
    std::int64_t entries = 0;
    run_ordered<State>(
        shares_.threads, [&](State& s) { return text.next(s.text); },
        [&](State& s) { parse_entries(s.text, header_, s.parsed); },
        [&](State& s) {
          if (s.parsed.fault)
            throw DataError(
                fmt::format("{}:{}: {}", file_.name(), lines + s.parsed.fault->line, s.parsed.fault->why));
          for (const E& e : s.parsed.entries) buckets.add(e);
          lines += s.parsed.lines;
          entries += s.parsed.lines_with_entry;
          if (entries > header_.entries)
            throw DataError(
                fmt::format("{}: the header promises {} entries, but there are more before line {}",
                            file_.name(), header_.entries, lines));
        });
    file_.check_unchanged();
    if (entries != header_.entries)
      throw DataError(fmt::format("{}:{}: the file ends after {} of {} entries", file_.name(), lines, entries,
                                  header_.entries));
    Buckets out{{}, buckets.block_entries()};
    out.list = buckets.finish();
    return out;
  }

  void sort(const Buckets& buckets, int threads) {
    struct State {
      const Bucket* bucket = nullptr;
      std::vector<E> entries, scratch;
      Sorted<I> sorted;
    };
    auto next = buckets.list.begin();
    run_ordered<State>(
        threads,
        [&](State& s) {
          if (next == buckets.list.end()) return false;
          s.bucket = &*next++;
          return true;
        },
        [&](State& s) {
          if (!fits(*s.bucket)) return;
          const auto n = static_cast<std::size_t>(s.bucket->count);
          if (s.entries.size() < n) {
            s.entries = std::vector<E>();
            s.scratch = std::vector<E>();
            s.entries.resize(n);
            s.scratch.resize(n);
          }
          E* to = s.entries.data();
          BucketReader<I> reader(store_, *s.bucket, buckets.block_entries);
          while (const std::int64_t got = reader.next(to)) to += got;
          s.sorted = sort_and_sum<I>({s.entries.data(), n}, {s.scratch.data(), n});
        },
        [&](State& s) {
          if (fits(*s.bucket)) {
            if (s.sorted.rounded) check_exact(*s.sorted.rounded);
            out_.append(s.entries.data(), s.sorted.kept);
            return;
          }
          s.entries = s.scratch = std::vector<E>();  // its share of memory goes to the parts
          split(*s.bucket, buckets.block_entries);
        });
  }

  /// Called for an entry whose sum was rounded: integers are held exactly or refused.
  void check_exact(const E& entry) const {
    if (header_.integers())
      throw DataError(
          fmt::format("{}: the entries at row {}, column {} have a sum that a double does not hold exactly",
                      file_.name(), std::int64_t{entry.row} + 1, std::int64_t{entry.col} + 1));
  }

  bool fits(const Bucket& bucket) const { return bucket.count <= shares_.sorting / (2 * entry_bytes); }

  void split(const Bucket& bucket, std::int64_t block_entries) {
    std::vector<E> block(static_cast<std::size_t>(block_entries));
    BucketReader<I> reader(store_, bucket, block_entries);
    if (bucket.range.rows == 1 && bucket.range.cols == 1) {
      E sum{};
      bool first = true;
      while (const std::int64_t n = reader.next(block.data()))
        for (const E& e : std::span(block.data(), static_cast<std::size_t>(n)))
          if (std::exchange(first, false))
            sum = e;
          else if (!add(sum.value, e.value))
            check_exact(e);
      out_.append(&sum, 1);
      return;
    }
    Buckets parts;
    {
      const std::int64_t wanted = 4 * bucket.count * entry_bytes / shares_.sorting + 2;
      EntryBuckets<I> buckets(store_, bucket.range, wanted, shares_.buffers);
      while (const std::int64_t n = reader.next(block.data()))
        for (const E& e : std::span(block.data(), static_cast<std::size_t>(n))) buckets.add(e);
      parts.block_entries = buckets.block_entries();
      parts.list = buckets.finish();
    }
    sort(parts, 1);
  }

  const ReadFile& file_;
  const MatrixMarketHeader& header_;
  Shares shares_;
  BlockStore store_;
  CsrSpool<I> out_;
};

}  // namespace

CsrLayout spool_matrix_market(const ReadFile& file, const MatrixMarketHeader& header,
                              const OpenOptions& options) {
  if (header.csr_header().index == ScalarType::int32)
    return MarketSorter<std::int32_t>(file, header, options).run();
  return MarketSorter<std::int64_t>(file, header, options).run();
}

}  // namespace anabranch::io::detail
