#include "io/ragged/ragged_files.h"

#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/counted.h"
#include "io/base/little_endian.h"
#include "io/npy/npy_file.h"
#include "io/ragged/ragged_stream.h"

/// A ragged pair of .npy files.
namespace anabranch::io::detail {

namespace {

/// Offset number `at`.
std::int64_t offset_at(const NpyFile& offsets, std::int64_t at) {
  unsigned char bytes[8];
  offsets.file->read(offsets.format.header_bytes + at * offsets.format.item_bytes, bytes,
                     offsets.format.item_bytes);
  return offsets.format.item_bytes == 8 ? load<std::int64_t>(bytes) : std::int64_t{load<std::int32_t>(bytes)};
}

void check_offsets(const NpyFile& offsets, const NpyFile& values) {
  const ScalarType type = offsets.type;
  if (offsets.format.parts != 1 || (type != ScalarType::int32 && type != ScalarType::int64))
    throw DataError(fmt::format("{}: {} cannot be an offset (int32 and int64 can)", offsets.name(),
                                npy_type_name(type, offsets.format.parts)));
  const std::int64_t count = offsets.format.count;
  if (count == 0)
    throw DataError(
        fmt::format("{}: there is no offset; even of no vectors there is one, 0", offsets.name()));
  if (const auto first = offset_at(offsets, 0); first != 0)
    throw DataError(fmt::format("{}: begins with {}, not 0", offsets.name(), first));
  if (const auto last = offset_at(offsets, count - 1); last != values.format.count)
    throw DataError(fmt::format("{}: ends with {}, but {} has {}", offsets.name(), last, values.name(),
                                counted(values.format.count, "element")));
}

}  // namespace

std::shared_ptr<SourceBase> open_ragged(const std::string& name, std::shared_ptr<const ReadFile> offsets_file,
                                        std::shared_ptr<const ReadFile> values_file,
                                        const NpyElement& element, const RaggedOptions& options) {
  const NpyFile offsets = open_npy(std::move(offsets_file)), values = open_npy(std::move(values_file));
  check_rank(offsets, 1);
  check_rank(values, 1);
  check_element(values, element, options.convert);
  check_offsets(offsets, values);
  RaggedLayout layout;
  layout.name = name;
  layout.offsets = offsets.elements();
  layout.arrays.push_back(std::make_unique<StoredElements>(values.elements(), element.type));
  layout.files = {offsets.file, values.file};
  return std::make_shared<RaggedStream>(std::move(layout), options.memory);
}

std::shared_ptr<SourceBase> open_ragged(const std::string& prefix, const NpyElement& element,
                                        const RaggedOptions& options) {
  auto offsets = File::open(prefix + ".offsets.npy"), values = File::open(prefix + ".values.npy");
  return open_ragged(prefix, std::move(offsets), std::move(values), element, options);
}

}  // namespace anabranch::io::detail
