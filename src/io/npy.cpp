#include <anabranch/io/npy.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "file.h"
#include "fortran_rows.h"
#include "npy_file.h"

/// Dense arrays in NumPy's .npy files.
namespace anabranch::io {

namespace detail {

namespace {

PartBytes parts_of(const anabranch::detail::ArrayData& array, std::int64_t first_byte) {
  PartBytes parts;
  for (const auto& buffer : array.buffers)
    parts.push_back(static_cast<unsigned char*>(buffer.get()) + first_byte);
  return parts;
}

}  // namespace

std::shared_ptr<anabranch::detail::ArrayData> read_npy(std::shared_ptr<const ReadFile> file, int rank,
                                                       const NpyElement& element, bool convert,
                                                       std::int64_t memory) {
  const NpyFile npy = open_npy(std::move(file));
  check_rank(npy, rank);
  check_element(npy, element, convert);
  const std::int64_t count = npy.format.count;
  const std::int64_t width = static_cast<std::int64_t>(size_of(element.type)) * element.parts;
  if (count > memory / width)
    throw ResourceError(fmt::format("{}: {} elements of type {} do not fit into {} bytes of memory",
                                    npy.name(), count, npy_type_name(element.type, element.parts), memory));
  const std::vector<ScalarType> scalars(static_cast<std::size_t>(element.parts), element.type);
  auto out = anabranch::detail::allocate_array(scalars, npy.format.shape);
  const PartBytes to = parts_of(*out, 0);
  if (npy.format.fortran && rank > 1)
    FortranRows(npy, element.type, memory - count * width).read(0, npy.format.shape[0], to);
  else
    StoredElements(npy.elements(), element.type).read_at(0, count, to);
  npy.file->check_unchanged();
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
      join_parts(parts, n, element.type, staging.data());
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
  const detail::NpyFile npy = detail::open_npy(detail::File::open(path));
  return {npy.type, npy.format.shape, npy.format.fortran, npy.format.parts == 2};
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
