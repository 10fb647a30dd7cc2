#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <anabranch/array.h>
#include <anabranch/error.h>
#include <anabranch/export.h>
#include <anabranch/sink.h>
#include <anabranch/source.h>

#include <anabranch/detail/complex_element.h>
#include <anabranch/detail/io_erased.h>

/// Dense arrays in NumPy's .npy files: whole, and row by row.
namespace anabranch::io {

/// What an .npy file says of itself.
struct NpyHeader {
  ScalarType type = ScalarType::float64;
  std::vector<std::int64_t> extents;
  bool fortran_order = false;
  bool complex = false;  ///< complex numbers, whose parts are of that type

  ANABRANCH_API std::int64_t bytes() const;  ///< of the elements
};
ANABRANCH_API NpyHeader inspect_npy(const std::string& path);

struct NpyOptions {
  bool convert = false;             ///< accept another element type and convert (float, double only)
  std::int64_t memory = INT64_MAX;  ///< ResourceError, before allocating, if the array needs more
};

/// What an .npy array may hold: a scalar or a complex number.
template <class T>
concept NpyValue = IsScalar<T> || anabranch::detail::is_complex<T>;

namespace detail {
template <NpyValue T>
inline constexpr NpyElement npy_element{anabranch::detail::Element<T>::scalars[0],
                                        anabranch::detail::components<T>};
}  // namespace detail

/// Reads a whole .npy array, in C or Fortran order. DataError on another rank or type than asked for (say so
/// with `convert`), big-endian numbers, or a header that does not fit the file's size.
template <int N, NpyValue T>
Array<N, T> read_npy(const std::string& path, const NpyOptions& options = {}) {
  return Array<N, T>(detail::read_npy(path, N, detail::npy_element<T>, options.convert, options.memory));
}

struct NpyRowsOptions {
  bool convert = false;  ///< accept another element type and convert (float, double only)
  /// Bytes the source may hold, and the largest chunk it gives. A row that needs more is refused
  /// (ResourceError) before it is allocated.
  std::int64_t memory = std::int64_t{256} << 20;
};

/// The sub-arrays of an .npy array of rank N (1 to 5) along its first dimension as a regular stream: the rows
/// of a matrix. The file may be larger than memory. Checked when it is opened as by `read_npy`; elements that
/// are no bools are refused where they are read. May be rewound. A file that is written to while it is read
/// gives a DataError with the last chunk.
///
/// In C order rows are read where they lie, at page-cache speed, also by several threads at once. In Fortran
/// order the elements of a row lie apart: the source reads blocks of rows, of half of `memory` at most, and
/// turns them around. That costs little as long as a block has some hundred rows or more.
///
/// Throws DataError, IoError, ResourceError.
template <int N, NpyValue T>
Source<Array<N - 1, T>> open_npy_rows(const std::string& path, const NpyRowsOptions& options = {}) {
  static_assert(N >= 1 && N <= 5, "anabranch: open_npy_rows: the array in the file has a rank from 1 to 5");
  return Source<Array<N - 1, T>>(detail::open_npy_rows(path, N, detail::npy_element<T>, options));
}

/// Writes an .npy array, whole or not at all. Throws IoError.
template <int N, NpyValue T>
void write_npy(const std::string& path, const Array<N, T>& array) {
  detail::write_npy(path, *array.erased());
}

/// Writes a vector whose length is not known beforehand to an .npy file. Nothing is seen at `path` before
/// `commit`; a writer destroyed without it leaves nothing. Once writing has failed with an IoError, every later
/// call does.
class ANABRANCH_API NpyWriter {
 public:
  NpyWriter(const std::string& path, ScalarType type);
  ~NpyWriter();
  NpyWriter(NpyWriter&&) noexcept;
  NpyWriter& operator=(NpyWriter&&) noexcept;

  template <IsScalar T>
  void append(std::span<const T> elements) {
    append(anabranch::detail::scalar_type<T>, elements.data(), static_cast<std::int64_t>(elements.size()));
  }
  /// The untyped form; throws RunError if the type is not the file's.
  void append(ScalarType type, const void* elements, std::int64_t count);
  void commit();

  std::int64_t size() const;  ///< elements so far

 private:
  std::unique_ptr<detail::NpyOutput> out_;
};

/// What `write_npy_rows` gives: a sink for arrays of rank 0 to 4 of whichever type an .npy file may hold.
class NpyRowsFile {
 public:
  explicit NpyRowsFile(std::string path) : path_(std::move(path)) {}

  template <int N, NpyValue T>
  operator Sink<Array<N, T>>() const {  // NOLINT(google-explicit-constructor): of whichever items are written
    return Sink<Array<N, T>>(detail::npy_rows_sink(path_, N, detail::npy_element<T>));
  }

 private:
  std::string path_;
};

/// Where `write` stacks the items of a stream as the rows of an .npy array, one rank more than theirs, whose shape is
/// filled in at the end: write(s, io::write_npy_rows("y.npy")). All items have one shape, else RunError naming the
/// item. Of no items all extents are 0, as with `tabulate`. `open_npy_rows` reads them again. Throws IoError.
inline NpyRowsFile write_npy_rows(std::string path) { return NpyRowsFile(std::move(path)); }

}  // namespace anabranch::io
