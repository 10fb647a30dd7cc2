#include <anabranch/io/matrix.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "io/base/csr_check.h"
#include "io/base/file.h"
#include "io/base/lower_case.h"
#include "io/base/path_claim.h"
#include "io/base/zip_writer.h"
#include "io/npy/npy_format.h"

/// Writing sparse matrices row by row.
namespace anabranch::io {

namespace detail {

/// One output format. The checks common to all are CsrWriter's.
class CsrSink {
 public:
  CsrSink(const std::string& path, std::int64_t columns, ScalarType index_type, ScalarType value_type)
      : claim(path), file(path), cols(columns), index(index_type), value(value_type) {}
  virtual ~CsrSink() = default;
  virtual void append(std::span<const std::int64_t> lengths, const void* indices, const void* values,
                      std::int64_t n) = 0;
  /// Nothing more comes. Throws Cancelled.
  virtual void complete(const std::stop_token& stop) = 0;

  PathClaim claim;
  AtomicFile file;
  const std::int64_t cols;
  const ScalarType index;
  const ScalarType value;
  std::int64_t rows = 0;
  std::int64_t nnz = 0;
  bool is_complete = false;
};

namespace {

/// SciPy's save_npz. The values, the largest part, go into the output at once; the other two arrays wait in
/// spool files, since members of a zip file follow one another.
class NpzSink final : public CsrSink {
 public:
  NpzSink(const std::string& path, std::int64_t columns, ScalarType index_type, ScalarType value_type)
      : CsrSink(path, columns, index_type, value_type),
        zip_(file.file()),
        indices_(spool_beside(file.path(), "indices"), 0, 1 << 20),
        indptr_(spool_beside(file.path(), "indptr"), 0, 1 << 20) {
    zip_.begin("data.npy", npy_header_bytes);
    append_offset();
  }

  void append(std::span<const std::int64_t> lengths, const void* indices, const void* values,
              std::int64_t n) override {
    for (std::int64_t length : lengths) {
      nnz += length;
      append_offset();
    }
    rows += static_cast<std::int64_t>(lengths.size());
    indices_.append(indices, n * width(index));
    zip_.append(values, n * width(value));
  }

  void complete(const std::stop_token& stop) override {
    zip_.end(npy_header(npy_dtype(value), std::vector{nnz}));
    add("indices.npy", indices_, nnz, stop);
    add("indptr.npy", indptr_, rows + 1, stop);
    const std::int64_t shape[] = {rows, cols};
    zip_.member("shape.npy", npy_header("<i8", std::vector<std::int64_t>{2}) +
                                 std::string(reinterpret_cast<const char*>(shape), sizeof shape));
    zip_.member("format.npy", npy_header("|S3", {}) + "csr");
    zip_.finish();
  }

 private:
  static std::int64_t width(ScalarType type) { return static_cast<std::int64_t>(size_of(type)); }
  static std::shared_ptr<File> spool_beside(const std::string& path, const char* what) {
    const auto parent = std::filesystem::path(path).parent_path().string();
    return File::spool(parent.empty() ? "." : parent, fmt::format("{} ({} being written)", path, what));
  }
  void append_offset() {
    if (index == ScalarType::int64) {
      indptr_.append(&nnz, 8);
    } else {
      const auto narrow = static_cast<std::int32_t>(nnz);
      indptr_.append(&narrow, 4);
    }
  }
  void add(const char* name, BufferedWriter& spool, std::int64_t count, const std::stop_token& stop) {
    spool.flush();
    zip_.begin(name, npy_header_bytes);
    std::vector<unsigned char> buffer(1 << 20);
    for (std::int64_t at = 0, n = 0; at < spool.position(); at += n) {
      if (stop.stop_requested()) throw Cancelled(file.path() + ": writing was cancelled");
      n = std::min(static_cast<std::int64_t>(buffer.size()), spool.position() - at);
      spool.file()->read(at, buffer.data(), n);
      zip_.append(buffer.data(), n);
    }
    zip_.end(npy_header(npy_dtype(index), std::vector{count}));
  }

  ZipWriter zip_;
  BufferedWriter indices_, indptr_;
};

/// Matrix Market text. The size line is written last, over a comment line of padding kept free for it.
class MarketSink final : public CsrSink {
 public:
  MarketSink(const std::string& path, std::int64_t columns, ScalarType index_type, ScalarType value_type)
      : CsrSink(path, columns, index_type, value_type), out_(file.file()) {
    using anabranch::detail::ScalarKind;
    const bool integer = anabranch::detail::scalar_info(value).kind != ScalarKind::floating;
    banner_ = fmt::format("%%MatrixMarket matrix coordinate {} general\n", integer ? "integer" : "real");
    const std::string space(banner_.size() + size_bytes, ' ');
    out_.append(space.data(), static_cast<std::int64_t>(space.size()));
  }

  void append(std::span<const std::int64_t> lengths, const void* indices, const void* values,
              std::int64_t) override {
    std::int64_t at = 0;
    for (std::int64_t length : lengths) {
      ++rows;
      for (const std::int64_t end = at + length; at < end; ++at) entry(column(indices, at), values, at);
      nnz += length;
    }
  }

  void complete(const std::stop_token&) override {
    out_.flush();
    const std::string sizes = fmt::format("{} {} {}\n", rows, cols, nnz);
    const std::string comment = fmt::format("%{:{}}\n", "", size_bytes - 2 - sizes.size());
    const std::string header = banner_ + comment + sizes;
    file.file()->write(0, header.data(), static_cast<std::int64_t>(header.size()));
  }

 private:
  static constexpr std::size_t size_bytes = 80;

  std::int64_t column(const void* indices, std::int64_t at) const {
    return index == ScalarType::int64 ? static_cast<const std::int64_t*>(indices)[at]
                                      : static_cast<const std::int32_t*>(indices)[at];
  }
  /// The shortest text that reads back as the same number: at most 24 characters.
  template <class T>
  static char* write_number(char* to, T number) {
    return std::to_chars(to, to + 25, number).ptr;
  }
  void entry(std::int64_t col, const void* values, std::int64_t at) {
    char line[96];
    char* to = write_number(line, rows);
    *to++ = ' ';
    to = write_number(to, col + 1);
    *to++ = ' ';
    anabranch::detail::with_scalar(value, [&]<class T>(std::type_identity<T>) {
      if constexpr (std::same_as<T, half>)
        to = write_number(to, static_cast<float>(static_cast<const T*>(values)[at]));
      else if constexpr (!std::same_as<T, bool>)
        to = write_number(to, static_cast<const T*>(values)[at]);
    });
    *to++ = '\n';
    out_.append(line, to - line);
  }

  BufferedWriter out_;
  std::string banner_;
};

/// `lengths`: of the rows that these columns are of.
template <class I>
void check_columns(const CsrSink& sink, std::span<const std::int64_t> lengths, const I* columns,
                   std::int64_t n) {
  const std::int64_t at = first_outside(columns, n, sink.cols);
  if (at == n) return;
  std::int64_t row = sink.rows;
  for (std::int64_t end = 0; (end += lengths[static_cast<std::size_t>(row - sink.rows)]) <= at;) ++row;
  throw RunError(
      fmt::format("{}: row {}: column {} is outside [0, {})", sink.file.path(), row, columns[at], sink.cols));
}

}  // namespace
}  // namespace detail

CsrWriter::CsrWriter(const std::string& path, std::int64_t cols, ScalarType index, ScalarType value) {
  if (index != ScalarType::int32 && index != ScalarType::int64)
    throw RunError(fmt::format("CsrWriter: {} cannot be an index", anabranch::name_of(index)));
  if (cols < 0) throw RunError(fmt::format("CsrWriter: {} columns", cols));
  if (index == ScalarType::int32 && cols > std::int64_t{INT32_MAX} + 1)
    throw RunError(fmt::format("CsrWriter: {} columns cannot be numbered by int32", cols));
  const std::string ending = detail::lower_case(std::filesystem::path(path).extension().string());
  if (ending == ".npz") {
    sink_ = std::make_unique<detail::NpzSink>(path, cols, index, value);
  } else if (ending == ".mtx") {
    if (anabranch::size_of(value) == 1)
      throw RunError(
          fmt::format("CsrWriter: {} values are not written as Matrix Market", anabranch::name_of(value)));
    sink_ = std::make_unique<detail::MarketSink>(path, cols, index, value);
  } else {
    throw IoError(path + ": a matrix is written as .npz or .mtx");
  }
}
CsrWriter::~CsrWriter() = default;
CsrWriter::CsrWriter(CsrWriter&&) noexcept = default;
CsrWriter& CsrWriter::operator=(CsrWriter&&) noexcept = default;

void CsrWriter::append(std::span<const std::int64_t> lengths, detail::ConstArray indices,
                       detail::ConstArray values) {
  detail::CsrSink& sink = *sink_;
  sink.file.check_open();
  if (sink.is_complete) throw RunError(sink.file.path() + ": the file is complete: it was finished before");
  if (indices.type != sink.index || values.type != sink.value)
    throw RunError(fmt::format("{}: ({}, {}) for a file of ({}, {})", sink.file.path(),
                               anabranch::name_of(indices.type), anabranch::name_of(values.type),
                               anabranch::name_of(sink.index), anabranch::name_of(sink.value)));
  std::int64_t total = 0;
  bool bad = false;
  for (std::int64_t length : lengths) bad |= length < 0 || __builtin_add_overflow(total, length, &total);
  if (bad || total != indices.count || total != values.count)
    throw RunError(fmt::format("{}: rows of {} entries in all, {} indices, {} values", sink.file.path(),
                               total, indices.count, values.count));
  if (sink.index == ScalarType::int32 && total > INT32_MAX - sink.nnz)
    throw RunError(
        fmt::format("{}: more than {} entries: int32 is too narrow, use int64", sink.file.path(), INT32_MAX));
  if (indices.type == ScalarType::int32)
    detail::check_columns(sink, lengths, static_cast<const std::int32_t*>(indices.data), total);
  else
    detail::check_columns(sink, lengths, static_cast<const std::int64_t*>(indices.data), total);
  sink.file.guarded([&] { sink.append(lengths, indices.data, values.data, total); });
}

void CsrWriter::finish(const std::stop_token& stop) {
  if (sink_->is_complete) return sink_->file.check_open();
  sink_->file.guarded([&] {
    sink_->complete(stop);
    sink_->file.complete();
  });
  sink_->is_complete = true;
}

void CsrWriter::commit() {
  finish();
  sink_->file.guarded([&] { sink_->file.commit(); });
}
void CsrWriter::commit_for_now() {
  finish();
  sink_->file.guarded([&] { sink_->file.commit_for_now(); });
}
void CsrWriter::undo() noexcept { sink_->file.undo(); }
std::int64_t CsrWriter::rows() const { return sink_->rows; }
std::int64_t CsrWriter::nnz() const { return sink_->nnz; }

}  // namespace anabranch::io
