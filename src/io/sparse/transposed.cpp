#include "io/sparse/transposed.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/sparse/chunk_entries.h"
#include "io/sparse/entry_sorter.h"
#include "io/sparse/sorted_rows.h"

namespace anabranch::io::detail {

namespace {

/// I: holds the numbers of rows and columns. Values are taken as bits: nothing is computed with them.
template <class I>
CsrLayout transposed_by(CsrLayout matrix, ScalarType index, const OpenOptions& options) {
  using E = Entry<I, std::uint64_t>;
  const CsrHeader header = matrix.header;
  const std::string name = matrix.name;
  const auto file = File::spool(options.spool_dir, name + " (spool file)");
  BlockStore store(file);
  const ScalarType narrowest = header.entries > INT32_MAX ? ScalarType::int64 : ScalarType::int32;
  const RowTypes types{narrowest, index, header.value};
  check_spool_space(*file, options.spool_dir, name, header.cols, header.entries, sizeof(E), types);

  // Half for reading, half for sorting.
  RaggedStream rows(rows_of(std::move(matrix), anabranch::detail::scalar_type<I>, header.value),
                    options.memory / 2);
  SortedRows out(&options.spool_dir, name, types, header.cols, header.entries);
  EntrySorter<E> sorter(
      store, {0, std::max<std::int64_t>(header.cols, 1), 0, std::max<std::int64_t>(header.rows, 1)},
      header.entries, SortMemory(options.memory / 2, options.threads));
  const std::size_t width = size_of(header.value);
  SourceChunk chunk;
  for (std::int64_t first = 0; rows.next({.bytes = 4 << 20}, chunk); first += chunk.items) {
    const auto* columns = static_cast<const I*>(chunk.arrays[0].data[0].get());
    const auto* values = static_cast<const unsigned char*>(chunk.arrays[0].data[1].get());
    each_element(chunk, rows.info().arrays[0], first, [&](std::int64_t row, std::int64_t e) {
      E entry{columns[e], static_cast<I>(row), 0};
      std::memcpy(&entry.value, values + static_cast<std::size_t>(e) * width, width);
      sorter.add(entry);
    });
  }
  sorter.finish([&](std::span<const E> entries) { out.append(entries); });
  out.finish();
  CsrHeader turned = header;
  std::swap(turned.rows, turned.cols);
  return out.layout(turned);
}

}  // namespace

CsrLayout transposed(CsrLayout matrix, ScalarType index, const OpenOptions& options) {
  if (std::max(matrix.header.rows, matrix.header.cols) > INT32_MAX)
    return transposed_by<std::int64_t>(std::move(matrix), index, options);
  return transposed_by<std::int32_t>(std::move(matrix), index, options);
}

}  // namespace anabranch::io::detail
