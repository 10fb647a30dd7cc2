#include <anabranch/io.h>

#include <algorithm>
#include <cstring>
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

constexpr std::int64_t staged_bytes = 128 << 10;

/// Throws DataError unless the file holds such an array, or one that is to be converted into it.
void check_format(const NpyFormat& format, const std::string& name, int rank, const NpyElement& element,
                  bool convert) {
  if (format.shape.size() != static_cast<std::size_t>(rank))
    throw DataError(fmt::format("{}: an array of rank {} (shape {}), but rank {} was asked for", name,
                                format.shape.size(), fmt::join(format.shape, " x "), rank));
  if (format.fortran && rank > 1)
    throw DataError(name + ": stored in Fortran order; only C order is read (numpy.ascontiguousarray)");
  const ScalarType from = *format.scalar, type = element.type;
  const std::string stored = npy_type_name(from, format.parts), wanted = npy_type_name(type, element.parts);
  if ((from != type && !convert) || format.parts != element.parts)
    throw DataError(fmt::format("{}: elements of type {}, but {} was asked for", name, stored, wanted));
  if (from != type && anabranch::detail::scalar_info(type).kind != anabranch::detail::ScalarKind::floating)
    throw DataError(fmt::format("{}: {} cannot be converted to {}", name, stored, wanted));
}

void check_bools(const unsigned char* values, std::int64_t count, const std::string& name) {
  for (std::int64_t i = 0; i < count; ++i)
    if (values[i] > 1)
      throw DataError(fmt::format("{}: element {} is the byte {}, not a bool", name, i, values[i]));
}

/// Where each part of the first element is; that of the next one is behind it. In a file the parts of an
/// element lie side by side.
using PartBytes = std::vector<unsigned char*>;
template <class Word>
void split_words(const unsigned char* elements, std::int64_t count, const PartBytes& parts) {
  for (std::int64_t i = 0; i < count; ++i)
    for (unsigned char* part : parts) {
      std::memcpy(part + i * static_cast<std::int64_t>(sizeof(Word)), elements, sizeof(Word));
      elements += sizeof(Word);
    }
}
template <class Word>
void join_words(const PartBytes& parts, std::int64_t count, unsigned char* elements) {
  for (std::int64_t i = 0; i < count; ++i)
    for (const unsigned char* part : parts) {
      std::memcpy(elements, part + i * static_cast<std::int64_t>(sizeof(Word)), sizeof(Word));
      elements += sizeof(Word);
    }
}

PartBytes parts_of(const anabranch::detail::ArrayData& array, std::int64_t first_byte) {
  PartBytes parts;
  for (const auto& buffer : array.buffers)
    parts.push_back(static_cast<unsigned char*>(buffer.get()) + first_byte);
  return parts;
}

/// Reads elements whose scalars are of another type, or which have several parts.
void read_in_pieces(Cursor& cursor, const NpyFormat& format, ScalarType type,
                    const anabranch::detail::ArrayData& out) {
  const auto width = static_cast<std::int64_t>(size_of(type));
  const std::int64_t step = staged_bytes / std::max(format.item_bytes, width * format.parts);
  std::vector<unsigned char> staging(staged_bytes), converted(staged_bytes);
  for (std::int64_t i = 0; i < format.count; i += step) {
    const std::int64_t n = std::min(step, format.count - i);
    const PartBytes parts = parts_of(out, i * width);
    cursor.read(staging.data(), n * format.item_bytes);
    unsigned char* scalars = staging.data();
    if (*format.scalar != type) {
      scalars = format.parts == 1 ? parts[0] : converted.data();
      detail::convert(*format.scalar, staging.data(), type, scalars, n * format.parts);
    }
    if (format.parts == 1) continue;
    if (width == 4)
      split_words<std::uint32_t>(scalars, n, parts);
    else
      split_words<std::uint64_t>(scalars, n, parts);
  }
}

}  // namespace

std::shared_ptr<anabranch::detail::ArrayData> read_npy(std::shared_ptr<const ReadFile> file, int rank,
                                                       const NpyElement& element, bool convert,
                                                       std::int64_t memory) {
  const std::string& name = file->name();
  auto [cursor, format] = open_npy(file);
  check_format(format, name, rank, element, convert);
  const ScalarType type = element.type;
  if (format.count > memory / (static_cast<std::int64_t>(size_of(type)) * element.parts))
    throw ResourceError(fmt::format("{}: {} elements of type {} do not fit into {} bytes of memory", name,
                                    format.count, npy_type_name(type, element.parts), memory));
  const std::vector<ScalarType> scalars(static_cast<std::size_t>(element.parts), type);
  auto out = anabranch::detail::allocate_array(scalars, format.shape);
  if (*format.scalar == type && element.parts == 1) {
    auto* to = static_cast<unsigned char*>(out->buffers[0].get());
    cursor->read(to, format.data_bytes());
    file->check_unchanged();
    if (type == ScalarType::boolean) check_bools(to, format.count, name);
    return out;
  }
  read_in_pieces(*cursor, format, type, *out);
  file->check_unchanged();
  return out;
}

std::shared_ptr<anabranch::detail::ArrayData> read_npy(const std::string& path, int rank,
                                                       const NpyElement& element, bool convert,
                                                       std::int64_t memory) {
  return read_npy(File::open(path), rank, element, convert, memory);
}

/// A file being written: elements follow a header whose shape is filled in at the end.
class NpySink {
 public:
  NpySink(const std::string& path, NpyElement what)
      : element(what), file_(path), out_(file_.file(), npy_header_bytes) {}

  /// Elements as they lie in the file.
  void append(const void* elements, std::int64_t n) {
    file_.guarded([&] { out_.append(elements, n * element_bytes()); });
    count += n;
  }
  /// Of an array with as many buffers as an element has parts.
  void append(const anabranch::detail::ArrayData& array) {
    if (element.parts == 1) return append(array.buffers[0].get(), array.size());
    const auto width = static_cast<std::int64_t>(size_of(element.type));
    const std::int64_t step = staged_bytes / element_bytes();
    std::vector<unsigned char> staging(staged_bytes);
    for (std::int64_t i = 0; i < array.size(); i += step) {
      const std::int64_t n = std::min(step, array.size() - i);
      const PartBytes parts = parts_of(array, i * width);
      if (width == 4)
        join_words<std::uint32_t>(parts, n, staging.data());
      else
        join_words<std::uint64_t>(parts, n, staging.data());
      append(staging.data(), n);
    }
  }
  void commit(std::span<const std::int64_t> shape) {
    file_.guarded([&] {
      out_.flush();
      const std::string header = npy_header(npy_dtype(element.type, element.parts), shape);
      file_.file()->write(0, header.data(), static_cast<std::int64_t>(header.size()));
      file_.commit();
    });
  }

  const NpyElement element;
  std::int64_t count = 0;

 private:
  std::int64_t element_bytes() const {
    return static_cast<std::int64_t>(size_of(element.type)) * element.parts;
  }

  AtomicFile file_;
  BufferedWriter out_;
};

void write_npy(const std::string& path, const anabranch::detail::ArrayData& array) {
  NpySink sink(path, {array.scalars.at(0), static_cast<int>(array.scalars.size())});
  sink.append(array);
  sink.commit(array.extents);
}

}  // namespace detail

std::int64_t NpyHeader::bytes() const {
  auto n = static_cast<std::int64_t>(size_of(type)) * (complex ? 2 : 1);
  for (std::int64_t e : extents) n *= e;
  return n;
}

NpyHeader inspect_npy(const std::string& path) {
  const auto format = detail::open_npy(detail::File::open(path)).format;
  return {*format.scalar, format.shape, format.fortran, format.parts == 2};
}

NpyWriter::NpyWriter(const std::string& path, ScalarType type)
    : sink_(std::make_unique<detail::NpySink>(path, detail::NpyElement{type, 1})) {}
NpyWriter::~NpyWriter() = default;
NpyWriter::NpyWriter(NpyWriter&&) noexcept = default;
NpyWriter& NpyWriter::operator=(NpyWriter&&) noexcept = default;

void NpyWriter::append(ScalarType type, const void* elements, std::int64_t count) {
  if (type != sink_->element.type)
    throw RunError(
        fmt::format("NpyWriter: {} elements for a file of {}", name_of(type), name_of(sink_->element.type)));
  sink_->append(elements, count);
}

void NpyWriter::commit() {
  const std::int64_t shape[] = {sink_->count};
  sink_->commit(shape);
}

std::int64_t NpyWriter::size() const { return sink_->count; }

}  // namespace anabranch::io
