#include <anabranch/io/npy.h>

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "io/base/counted.h"
#include "io/base/file.h"
#include "io/npy/fortran_rows.h"
#include "io/npy/npy_file.h"
#include "io/npy/npy_output.h"

/// Dense arrays in NumPy's .npy files.
namespace anabranch::io {

namespace detail {

namespace {

PartBytes parts_of(const anabranch::detail::ArrayData& array) {
  PartBytes parts;
  for (const auto& buffer : array.buffers) parts.push_back(static_cast<unsigned char*>(buffer.get()));
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
    throw ResourceError(fmt::format("{}: {} of type {} do not fit into {} bytes of memory", npy.name(),
                                    counted(count, "element"), npy_type_name(element.type, element.parts),
                                    memory));
  const std::vector<ScalarType> scalars(static_cast<std::size_t>(element.parts), element.type);
  auto out = anabranch::detail::allocate_array(scalars, npy.format.shape);
  const PartBytes to = parts_of(*out);
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

void write_npy(const std::string& path, const anabranch::detail::ArrayData& array) {
  NpyOutput out(path, {array.scalars.at(0), static_cast<int>(array.scalars.size())});
  out.append(parts_of(array), array.size());
  out.complete(array.extents);
  out.commit();
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
    : out_(std::make_unique<detail::NpyOutput>(path, detail::NpyElement{type, 1})) {}
NpyWriter::~NpyWriter() = default;
NpyWriter::NpyWriter(NpyWriter&&) noexcept = default;
NpyWriter& NpyWriter::operator=(NpyWriter&&) noexcept = default;

void NpyWriter::append(ScalarType type, const void* elements, std::int64_t count) {
  if (type != out_->element.type)
    throw RunError(
        fmt::format("NpyWriter: {} elements for a file of {}", name_of(type), name_of(out_->element.type)));
  out_->append(elements, count);
}

void NpyWriter::commit() {
  const std::int64_t shape[] = {out_->count()};
  out_->complete(shape);
  out_->commit();
}

std::int64_t NpyWriter::size() const { return out_->count(); }

}  // namespace anabranch::io
