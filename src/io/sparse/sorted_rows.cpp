#include "io/sparse/sorted_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/counted.h"
#include "io/ragged/ragged_stream.h"
#include "io/ragged/ragged_view.h"

namespace anabranch::io::detail {

WrittenArray::WrittenArray(const std::string* folder, std::string name, ScalarType type, std::int64_t most)
    : name_(std::move(name)), type_(type), width_(static_cast<std::int64_t>(size_of(type))) {
  if (folder)
    file_.emplace(File::spool(*folder, name_), 0, 128 << 10);
  else
    memory_ = std::make_shared_for_overwrite<unsigned char[]>(static_cast<std::size_t>(most * width_));
}

void WrittenArray::append(const void* elements, std::int64_t count) {
  if (file_)
    file_->append(elements, count * width_);
  else
    std::memcpy(memory_.get() + count_ * width_, elements, static_cast<std::size_t>(count * width_));
  count_ += count;
}

StoredArray WrittenArray::stored() {
  file_->flush();
  StoredArray a;
  a.name = name_;
  a.cursor = std::make_unique<StoredCursor>(file_->file(), 0, count_ * width_);
  a.type = type_;
  a.count = count_;
  return a;
}

void check_spool_space(const File& spool, const std::string& folder, const std::string& name,
                       std::int64_t rows, std::int64_t entries, std::size_t entry_bytes,
                       const RowTypes& types) {
  const std::int64_t free = spool.free_space();
  const std::size_t sorted_bytes = size_of(types.column) + (types.value ? size_of(*types.value) : 0);
  const __int128 needed = __int128{rows} * static_cast<std::int64_t>(size_of(types.offset)) +
                          __int128{entries} * static_cast<std::int64_t>(entry_bytes + sorted_bytes);
  if (needed > free)
    throw IoError(
        fmt::format("{}: sorting {} and {} needs about {:.1f} MB in the folder {}, where {:.1f} MB "
                    "are free (TMPDIR can name another one)",
                    name, counted(rows, "row"), counted(entries, "entry"), static_cast<double>(needed) * 1e-6,
                    File::spool_folder(folder), static_cast<double>(free) * 1e-6));
}

SortedRows::SortedRows(const std::string* folder, std::string name, const RowTypes& types, std::int64_t rows,
                       std::int64_t most)
    : name_(std::move(name)),
      in_memory_(!folder),
      rows_(rows),
      offsets_(folder, name_ + " (sorted indptr)", types.offset, rows + 1),
      columns_(folder, name_ + " (sorted indices)", types.column, most) {
  if (types.value) values_.emplace(folder, name_ + " (sorted values)", *types.value, most);
  const std::int64_t zero = 0;
  offsets_.append(&zero, 1);
}

/// They end where `entries` do.
void SortedRows::end_rows_before(std::int64_t row, std::int64_t entries) {
  const auto narrow = static_cast<std::int32_t>(entries);
  const void* const offset =
      offsets_.type() == ScalarType::int64 ? static_cast<const void*>(&entries) : &narrow;
  for (; row_ < row; ++row_) offsets_.append(offset, 1);
}

template <class E>
void SortedRows::append(std::span<const E> entries) {
  constexpr std::size_t block = 256;
  using Index = typename E::Index;
  using Other = std::conditional_t<std::same_as<Index, std::int32_t>, std::int64_t, std::int32_t>;
  std::array<Index, block> columns;
  std::array<Other, block> others;  // the same numbers in the other type: where they are of 32 bits, all fit
  const bool as_others = size_of(columns_.type()) == sizeof(Other);
  while (!entries.empty()) {
    const auto part = entries.first(std::min(block, entries.size()));
    const std::int64_t before = this->entries();
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (row_ < part[i].row) end_rows_before(part[i].row, before + static_cast<std::int64_t>(i));
      columns[i] = part[i].col;
    }
    const auto count = static_cast<std::int64_t>(part.size());
    if constexpr (requires(E e) { e.value; })
      if (values_) {
        const std::size_t width = size_of(values_->type());
        std::array<unsigned char, block * sizeof(part[0].value)> values;
        for (std::size_t i = 0; i < part.size(); ++i)
          std::memcpy(values.data() + i * width, &part[i].value, width);
        values_->append(values.data(), count);
      }
    if (as_others) {
      std::transform(columns.begin(), columns.begin() + count, others.begin(),
                     [](Index column) { return static_cast<Other>(column); });
      columns_.append(others.data(), count);
    } else {
      columns_.append(columns.data(), count);
    }
    entries = entries.subspan(part.size());
  }
}

void SortedRows::finish() { end_rows_before(rows_, entries()); }

CsrLayout SortedRows::layout(const CsrHeader& header) {
  CsrLayout layout;
  layout.name = name_;
  layout.header = header;
  layout.header.nnz = entries();
  layout.indptr = offsets_.stored();
  layout.indices = columns_.stored();
  layout.values = values_->stored();
  return layout;
}

std::shared_ptr<SourceBase> SortedRows::source(std::int64_t memory) {
  if (in_memory_) {
    RaggedArrays arrays{
        name_, rows_, OffsetType::int64, offsets_.memory(), {columns_.type()}, {columns_.memory()}};
    if (offsets_.type() == ScalarType::int32) arrays.offset_type = OffsetType::int32;
    if (values_) {
      arrays.scalars.push_back(values_->type());
      arrays.components.push_back(values_->memory());
    }
    return ragged_view(std::move(arrays));
  }
  RaggedLayout layout{name_, "row", "entries", offsets_.stored(), {}, {}};
  layout.arrays.push_back(std::make_unique<StoredElements>(columns_.stored(), columns_.type()));
  if (values_) layout.arrays.push_back(std::make_unique<StoredElements>(values_->stored(), values_->type()));
  return std::make_shared<RaggedStream>(std::move(layout), memory);
}

template void SortedRows::append(std::span<const Entry<std::int32_t>>);
template void SortedRows::append(std::span<const Entry<std::int64_t>>);
template void SortedRows::append(std::span<const Entry<std::int32_t, std::uint64_t>>);
template void SortedRows::append(std::span<const Entry<std::int64_t, std::uint64_t>>);
template void SortedRows::append(std::span<const Link<std::int32_t>>);
template void SortedRows::append(std::span<const Link<std::int64_t>>);

}  // namespace anabranch::io::detail
