#include <anabranch/io.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "convert.h"
#include "cursor.h"
#include "file.h"
#include "npy_format.h"

/// Dense arrays in NumPy's .npy files.
namespace anabranch::io {

namespace detail {

namespace {

struct OpenNpy {
  std::unique_ptr<Cursor> cursor;
  NpyFormat format;
};

OpenNpy open_npy(std::shared_ptr<const ReadFile> file) {
  OpenNpy out;
  const std::string& name = file->name();
  out.cursor = std::make_unique<StoredCursor>(file, 0, file->size());
  out.format = read_npy_format(*out.cursor, file->size(), name);
  if (!out.format.scalar)
    throw DataError(fmt::format("{}: dtype '{}' is text, not numbers", name, out.format.dtype));
  return out;
}

}  // namespace

std::shared_ptr<anabranch::detail::ArrayData> read_npy(std::shared_ptr<const ReadFile> file, int rank,
                                                       ScalarType type, bool convert, std::int64_t memory) {
  const std::string& name = file->name();
  auto [cursor, format] = open_npy(file);
  if (format.shape.size() != static_cast<std::size_t>(rank))
    throw DataError(fmt::format("{}: an array of rank {} (shape {}), but rank {} was asked for", name,
                                format.shape.size(), fmt::join(format.shape, " x "), rank));
  if (format.fortran && rank > 1)
    throw DataError(name + ": stored in Fortran order; only C order is read (numpy.ascontiguousarray)");
  const ScalarType from = *format.scalar;
  if (from != type && !convert)
    throw DataError(
        fmt::format("{}: elements of type {}, but {} was asked for", name, name_of(from), name_of(type)));
  if (from != type && anabranch::detail::scalar_info(type).kind != anabranch::detail::ScalarKind::floating)
    throw DataError(fmt::format("{}: {} cannot be converted to {}", name, name_of(from), name_of(type)));
  const auto width = static_cast<std::int64_t>(size_of(type));
  if (format.count > memory / width)
    throw ResourceError(fmt::format("{}: {} elements of type {} do not fit into {} bytes of memory", name,
                                    format.count, name_of(type), memory));
  const ScalarType scalars[] = {type};
  auto out = anabranch::detail::allocate_array(scalars, format.shape);
  auto* to = static_cast<unsigned char*>(out->buffers[0].get());
  if (from == type) {
    cursor->read(to, format.data_bytes());
    file->check_unchanged();
    if (type == ScalarType::boolean)
      for (std::int64_t i = 0; i < format.count; ++i)
        if (to[i] > 1)
          throw DataError(fmt::format("{}: element {} is the byte {}, not a bool", name, i, to[i]));
    return out;
  }
  const std::int64_t step = (128 << 10) / format.item_bytes;
  std::vector<unsigned char> staging(128 << 10);
  for (std::int64_t i = 0; i < format.count; i += step) {
    const std::int64_t n = std::min(step, format.count - i);
    cursor->read(staging.data(), n * format.item_bytes);
    detail::convert(from, staging.data(), type, to + i * width, n);
  }
  file->check_unchanged();
  return out;
}

std::shared_ptr<anabranch::detail::ArrayData> read_npy(const std::string& path, int rank, ScalarType type,
                                                       bool convert, std::int64_t memory) {
  return read_npy(File::open(path), rank, type, convert, memory);
}

/// A file being written: elements follow a header whose shape is filled in at the end.
class NpySink {
 public:
  NpySink(const std::string& path, ScalarType scalar)
      : type(scalar), file_(path), out_(file_.file(), npy_header_bytes) {}

  void append(const void* elements, std::int64_t n) {
    file_.guarded([&] { out_.append(elements, n * static_cast<std::int64_t>(size_of(type))); });
    count += n;
  }
  void commit(std::span<const std::int64_t> shape) {
    file_.guarded([&] {
      out_.flush();
      const std::string header = npy_header(npy_dtype(type), shape);
      file_.file()->write(0, header.data(), static_cast<std::int64_t>(header.size()));
      file_.commit();
    });
  }

  const ScalarType type;
  std::int64_t count = 0;

 private:
  AtomicFile file_;
  BufferedWriter out_;
};

void write_npy(const std::string& path, const anabranch::detail::ArrayData& array) {
  NpySink sink(path, array.scalars.at(0));
  sink.append(array.buffers[0].get(), array.size());
  sink.commit(array.extents);
}

}  // namespace detail

std::int64_t NpyHeader::bytes() const {
  auto n = static_cast<std::int64_t>(size_of(type));
  for (std::int64_t e : extents) n *= e;
  return n;
}

NpyHeader inspect_npy(const std::string& path) {
  const auto format = detail::open_npy(detail::File::open(path)).format;
  return {*format.scalar, format.shape, format.fortran};
}

NpyWriter::NpyWriter(const std::string& path, ScalarType type)
    : sink_(std::make_unique<detail::NpySink>(path, type)) {}
NpyWriter::~NpyWriter() = default;
NpyWriter::NpyWriter(NpyWriter&&) noexcept = default;
NpyWriter& NpyWriter::operator=(NpyWriter&&) noexcept = default;

void NpyWriter::append(ScalarType type, const void* elements, std::int64_t count) {
  if (type != sink_->type)
    throw RunError(
        fmt::format("NpyWriter: {} elements for a file of {}", name_of(type), name_of(sink_->type)));
  sink_->append(elements, count);
}

void NpyWriter::commit() {
  const std::int64_t shape[] = {sink_->count};
  sink_->commit(shape);
}

std::int64_t NpyWriter::size() const { return sink_->count; }

}  // namespace anabranch::io
