#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <stop_token>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <anabranch/array.h>
#include <anabranch/error.h>
#include <anabranch/export.h>
#include <anabranch/sink.h>
#include <anabranch/source.h>

#include <anabranch/detail/io_erased.h>

/// Sparse matrices row by row: SciPy's .npz and Matrix Market, in and out, and CSR arrays in memory.
namespace anabranch::io {

enum class MatrixFormat : std::uint8_t {
  npz_stored,     ///< scipy.sparse.save_npz(compressed=False): streams straight from disk
  npz_deflated,   ///< save_npz(compressed=True): decompressed as it is read
  matrix_market,  ///< coordinate text
};

/// "npz (stored)", "npz (deflate)", "Matrix Market".
ANABRANCH_API const char* name_of(MatrixFormat format);

/// What a sparse matrix file says of itself.
struct CsrHeader {
  MatrixFormat format = MatrixFormat::npz_stored;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t entries = 0;         ///< as stored in the file
  std::optional<std::int64_t> nnz;  ///< entries of the stream; unknown for Matrix Market before conversion
                                    ///< (symmetry adds entries, duplicates are summed)
  ScalarType index = ScalarType::int32;    ///< of the column numbers
  ScalarType value = ScalarType::float64;  ///< Matrix Market: double
};

struct OpenOptions {
  /// Accept a file of other types than asked for: indices are widened or narrowed (checked), values converted
  /// to float or double, rounded to the nearest (beyond the range of a float: infinity). Without it another
  /// type is refused.
  bool convert = false;
  /// The rows of the transposed matrix: item j is the vector of (row, value) of column j, by row. What `inspect_matrix` says
  /// of rows and columns is then the other way round. Opening sorts the entries on disk, as those of a Matrix Market file,
  /// which takes no longer for it; entries at the same place of an .npz stay several.
  bool transpose = false;
  /// Where entries are sorted; empty: $TMPDIR,
  /// else /var/tmp. Needs about 30 bytes an entry while opening, and 4 or 8 for each row that a file says it has.
  std::string spool_dir = {};
  /// Bytes the source may hold while opening, and the largest chunk it gives. A row that needs more is
  /// refused (ResourceError) before it is allocated.
  std::int64_t memory = std::int64_t{256} << 20;
  /// Threads that parse and sort while it is opened; 0: as many as the process may use. More than 8, and up to 32, only
  /// where each has 32 MiB of `memory`.
  int threads = 0;
};

/// Reads the headers only. Throws DataError (malformed, or not a CSR matrix: says what it is) and IoError.
ANABRANCH_API CsrHeader inspect_matrix(const std::string& path);

/// The rows of a sparse matrix as a stream: item i is the vector of (column, value) of row i, in file order
/// (Matrix Market: by column). The file kind is found from its first bytes.
///
/// Chunks are buffers of their own, 64-byte aligned, used again when their last owner outside is gone. Column
/// numbers are known to be in [0, cols) when a chunk is handed out. May be rewound. The offsets have the
/// width of the file's own `indptr`. A stored .npz is read at page-cache speed.
///
/// The CRC-32 of each member of an .npz is taken as its bytes stream by, in every pass, and compared where
/// the member ends: a damaged file, or one that changes while it is read, gives a DataError with the last
/// chunk at the latest. Chunks handed out before may hold wrong values; what has a result (`run`, a Program)
/// then gives none, but `stream_out` may have given items. A pass that ends before the stream does compares
/// nothing of what it has not read to its end. Matrix Market and .npy files carry no checksum; if they
/// are written to while they are read, the time of their change tells.
///
/// Matrix Market: `coordinate` with real, integer or pattern (value 1) entries, general, symmetric or
/// skew-symmetric; opening sorts the entries by row and column on disk within `memory`. Entries at the same
/// place are summed in file order, as SciPy does. Real numbers are decimal, with an exponent if need be,
/// rounded to the nearest double; inf, infinity and nan in any case; one too large for a double is refused.
/// Integers, and their sums at one place, are held exactly or refused.
///
/// Throws DataError, IoError, ResourceError.
template <IsScalar I, IsScalar T>
  requires(std::is_same_v<I, std::int32_t> || std::is_same_v<I, std::int64_t>)
Source<Vector<std::tuple<I, T>>> open_csr(const std::string& path, const OpenOptions& options = {}) {
  return Source<Vector<std::tuple<I, T>>>(
      detail::open_csr(path, anabranch::detail::scalar_type<I>, anabranch::detail::scalar_type<T>, options));
}

namespace detail {
/// A contiguous range of scalars which is no Array.
template <class R>
concept PlainArray = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                     IsScalar<std::ranges::range_value_t<R>> && !requires { std::remove_cvref_t<R>::rank; };
}  // namespace detail

/// A contiguous range over memory that outlives the call (an lvalue, or a span).
template <class R>
concept BorrowedArray = detail::PlainArray<R> && std::ranges::borrowed_range<R>;

/// The same stream over CSR arrays in memory: `indptr` (rows + 1 integers), `indices` and `values`. Chunks
/// are views, `next` costs microseconds. The arrays must outlive the source and all its chunks (or be kept by
/// `owner`) and must not change. They are checked here, once, in one pass over indptr and indices: RunError
/// names the first fault.
template <BorrowedArray P, BorrowedArray I, BorrowedArray V>
auto csr_view(std::int64_t rows, std::int64_t cols, P&& indptr, I&& indices, V&& values,
              std::shared_ptr<const void> owner = {}) {
  using Offset = std::ranges::range_value_t<P>;
  using Column = std::ranges::range_value_t<I>;
  using Value = std::ranges::range_value_t<V>;
  static_assert(std::is_same_v<Offset, std::int32_t> || std::is_same_v<Offset, std::int64_t>,
                "anabranch: csr_view: indptr must hold int32 or int64");
  static_assert(std::is_same_v<Column, std::int32_t> || std::is_same_v<Column, std::int64_t>,
                "anabranch: csr_view: indices must hold int32 or int64");
  const detail::CsrArrays arrays{rows,
                                 cols,
                                 {anabranch::detail::scalar_type<Offset>, std::ranges::data(indptr),
                                  static_cast<std::int64_t>(std::ranges::size(indptr))},
                                 {anabranch::detail::scalar_type<Column>, std::ranges::data(indices),
                                  static_cast<std::int64_t>(std::ranges::size(indices))},
                                 {anabranch::detail::scalar_type<Value>, std::ranges::data(values),
                                  static_cast<std::int64_t>(std::ranges::size(values))},
                                 std::move(owner)};
  return Source<Vector<std::tuple<Column, Value>>>(detail::csr_view(arrays));
}

/// Of temporaries: a sentence.
template <detail::PlainArray P, detail::PlainArray I, detail::PlainArray V>
  requires(!BorrowedArray<P> || !BorrowedArray<I> || !BorrowedArray<V>)
// NOLINTNEXTLINE(performance-unnecessary-value-param): never called
auto csr_view(std::int64_t, std::int64_t, P&&, I&&, V&&, std::shared_ptr<const void> = {}) {
  static_assert(anabranch::detail::always_false<P>,
                "anabranch: csr_view keeps no copy of its arrays, and a temporary ends with the call; give "
                "variables that outlive the source, or Vectors, which are kept");
  return Source<Vector<std::tuple<std::ranges::range_value_t<I>, std::ranges::range_value_t<V>>>>(nullptr);
}

/// As above over arrays, which are kept alive.
template <class P, class I, class T>
Source<Vector<std::tuple<I, T>>> csr_view(std::int64_t rows, std::int64_t cols, const Vector<P>& indptr,
                                          const Vector<I>& indices, const Vector<T>& values) {
  auto owner = std::make_shared<std::tuple<Vector<P>, Vector<I>, Vector<T>>>(indptr, indices, values);
  return csr_view(rows, cols, indptr.values(), indices.values(), values.values(), std::move(owner));
}

/// Writes a sparse matrix row by row, of any size in little memory: SciPy's .npz (uncompressed, beyond 4 GiB
/// too) or Matrix Market, by the ending of the path. Nothing is seen at `path` before `commit`; without it
/// nothing remains. Once writing has failed with an IoError, every later call does.
class ANABRANCH_API CsrWriter {
 public:
  /// index: int32 or int64. For .npz the parts that cannot
  /// be written in place yet are spooled beside the output.
  CsrWriter(const std::string& path, std::int64_t cols, ScalarType index, ScalarType value);
  ~CsrWriter();
  CsrWriter(CsrWriter&&) noexcept;
  CsrWriter& operator=(CsrWriter&&) noexcept;

  /// Appends rows of the given lengths, whose entries follow each other in `indices` and `values`. Columns
  /// should rise within a row. Throws RunError if the numbers or types disagree, a column is out of range, or
  /// int32 is too narrow.
  template <IsScalar I, IsScalar T>
  void append(std::span<const std::int64_t> lengths, std::span<const I> indices, std::span<const T> values) {
    append(lengths,
           {anabranch::detail::scalar_type<I>, indices.data(), static_cast<std::int64_t>(indices.size())},
           {anabranch::detail::scalar_type<T>, values.data(), static_cast<std::int64_t>(values.size())});
  }
  /// The untyped form.
  void append(std::span<const std::int64_t> lengths, detail::ConstArray indices, detail::ConstArray values);
  /// Completes the file, on the disk, but does not put it in place yet: so that several files appear together, or
  /// none. What may fail has been done then. What waits in spool files is copied now, which takes a while: Cancelled where a
  /// stop is requested meanwhile.
  void finish(const std::stop_token& stop = {});
  /// Completes the file, unless that has been done, and puts it in place.
  void commit();
  /// The same, but a file that was there is kept beside it until this is destroyed, so that `undo` can put it back: where
  /// another file that belongs to this one cannot be put in place. Where the file system can neither exchange names nor make hard links, a file that was
  /// there is lost.
  void commit_for_now();
  /// Takes back what `commit_for_now` did; nothing if it has done nothing.
  void undo() noexcept;

  std::int64_t rows() const;
  std::int64_t nnz() const;

 private:
  std::unique_ptr<detail::CsrSink> sink_;
};

/// What `write_csr` gives: a sink for rows of (column, value).
class CsrFile {
 public:
  CsrFile(std::string path, std::int64_t cols) : path_(std::move(path)), cols_(cols) {}

  template <IsScalar I, IsScalar T>
    requires(std::is_same_v<I, std::int32_t> || std::is_same_v<I, std::int64_t>)
  operator Sink<Vector<std::tuple<I, T>>>()
      const {  // NOLINT(google-explicit-constructor): of whichever are written
    return Sink<Vector<std::tuple<I, T>>>(
        detail::csr_sink(path_, cols_, anabranch::detail::scalar_type<I>, anabranch::detail::scalar_type<T>));
  }

 private:
  std::string path_;
  std::int64_t cols_;
};

/// Where `write` puts rows of a sparse matrix with so many columns: an .npz or .mtx file, as CsrWriter writes it. Rows are
/// vectors of (int32 or int64 column, value).
inline CsrFile write_csr(std::string path, std::int64_t cols) { return {std::move(path), cols}; }

}  // namespace anabranch::io
