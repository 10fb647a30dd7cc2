#include "io/npy/npy_file.h"

#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

namespace anabranch::io::detail {

StoredArray NpyFile::elements() const {
  StoredArray array;
  array.name = name();
  array.cursor = std::make_unique<StoredCursor>(file, 0, file->size());
  array.begin = format.header_bytes;
  array.type = type;
  array.parts = format.parts;
  array.count = format.count;
  array.cursor->rewind(array.begin);
  return array;
}

NpyFile open_npy(std::shared_ptr<const ReadFile> file) {
  StoredCursor cursor(file, 0, file->size());
  NpyFormat format = read_npy_format(cursor, file->size(), file->name());
  if (!format.scalar)
    throw DataError(fmt::format("{}: dtype '{}' is text, not numbers", file->name(), format.dtype));
  const ScalarType type = *format.scalar;
  return {std::move(file), std::move(format), type};
}

void check_element(const NpyFile& npy, const NpyElement& element, bool convert) {
  const ScalarType from = npy.type, type = element.type;
  const int parts = npy.format.parts;
  const std::string stored = npy_type_name(from, parts), wanted = npy_type_name(type, element.parts);
  if ((from != type && !convert) || parts != element.parts)
    throw DataError(fmt::format("{}: elements of type {}, but {} was asked for", npy.name(), stored, wanted));
  if (from != type && anabranch::detail::scalar_info(type).kind != anabranch::detail::ScalarKind::floating)
    throw DataError(fmt::format("{}: {} cannot be converted to {}", npy.name(), stored, wanted));
}

void check_rank(const NpyFile& npy, int rank) {
  const auto& shape = npy.format.shape;
  if (shape.size() != static_cast<std::size_t>(rank))
    throw DataError(fmt::format("{}: an array of rank {} (shape {}), but rank {} was asked for", npy.name(),
                                shape.size(), fmt::join(shape, " x "), rank));
}

}  // namespace anabranch::io::detail
