#include "io/arrow/arrow_batch.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <anabranch/array.h>
#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/csr_check.h"
#include "io/base/little_endian.h"

namespace anabranch::io::detail {

namespace {

bool bit(const void* bits, std::int64_t at) {
  return (static_cast<const unsigned char*>(bits)[at / 8] >> (at % 8) & 1) != 0;
}

/// No product of lengths overflows below these.
constexpr std::int64_t most_elements = std::int64_t{1} << 56;

}  // namespace

std::int64_t first_null(const ArrowArray& array, std::int64_t first, std::int64_t count) {
  const void* const valid = array.n_buffers > 0 && array.buffers ? array.buffers[0] : nullptr;
  const std::int64_t end = first + count;
  if (array.null_count == 0 || !valid) return end;
  while (first < end && bit(valid, first)) ++first;
  return first;
}

ArrowRows::ArrowRows(const std::string& stream, const ArrowColumn& column, const ArrowArray& array,
                     std::int64_t first, std::int64_t count, std::int64_t row,
                     std::shared_ptr<const void> owner)
    : stream_(stream), column_(column), count_(count), row_(row), owner_(std::move(owner)) {
  for (const ScalarType s : column.info.scalars) element_bytes_ += static_cast<std::int64_t>(size_of(s));
  const ArrowArray* at = &array;
  // Positions [first, last) of `at` are what the rows have; `per_row` of them each, or 0 where offsets tell, which count
  // from position `zero`.
  std::int64_t last = first + count, zero = first, per_row = 1;
  for (const ArrowList& list : column.lists) {
    const bool fixed = list.kind == ArrowList::Kind::fixed;
    check_shape(*at, fixed ? 1 : column.bytes ? 3 : 2, column.bytes ? 0 : 1);
    if (last > at->length) fail("a child array is too short");
    first += at->offset;
    last += at->offset;
    zero += at->offset;
    check_nulls(*at, first, last - first, per_row);
    if (fixed) {
      bool overflow = __builtin_mul_overflow(zero, list.size, &zero);
      overflow |= __builtin_mul_overflow(first, list.size, &first);
      overflow |= __builtin_mul_overflow(last, list.size, &last);
      overflow |= __builtin_mul_overflow(inner_, list.size, &inner_);
      if (overflow) fail("the number of elements overflows");
      per_row *= list.size;
    } else {
      wide_ = list.kind == ArrowList::Kind::offsets64;
      const auto* offsets = static_cast<const unsigned char*>(at->buffers[1]);
      if (!offsets && count > 0) fail("there are no offsets");
      offsets_ = offsets ? offsets + first * offset_bytes() : nullptr;
      if (count > 0) check_offsets();
      zero = 0;
      first = count <= 0 ? 0 : offset(0);
      last = count <= 0 ? 0 : offset(count);
      per_row = 0;
    }
    if (!column.bytes) at = at->children[0];
  }
  find_components(*at, first, last, zero, per_row);
}

void ArrowRows::fail(const std::string& why) const {
  throw DataError(fmt::format("{}: {}, rows {} to {}: {}", stream_,
                              column_.name.empty() ? "the column" : fmt::format("column '{}'", column_.name),
                              row_, row_ + count_ - 1, why));
}

void ArrowRows::check_shape(const ArrowArray& array, std::int64_t buffers, std::int64_t children) const {
  if (array.length < 0 || array.offset < 0 || array.n_buffers != buffers || array.n_children != children ||
      array.dictionary || (buffers > 0 && !array.buffers) || array.offset > most_elements - array.length)
    fail(fmt::format(
        "an array of length {}, offset {}, {} buffers and {} children is none of the type that the schema "
        "says",
        array.length, array.offset, array.n_buffers, array.n_children));
}

/// `first`: with the array's offset.
void ArrowRows::check_nulls(const ArrowArray& array, std::int64_t first, std::int64_t count,
                            std::int64_t per_row) const {
  if (const std::int64_t null = first_null(array, first, count); null < first + count)
    throw DataError(
        fmt::format("{}: {}, row {}: a null{}", stream_,
                    column_.name.empty() ? "the column" : fmt::format("column '{}'", column_.name),
                    row_ + row_of(null - first, per_row), per_row == 1 ? "" : " in it"));
}

/// Which row a position belongs to, of those that all rows have.
std::int64_t ArrowRows::row_of(std::int64_t position, std::int64_t per_row) const {
  if (per_row > 0) return position / per_row;
  const std::int64_t list = position / std::max<std::int64_t>(inner_, 1);
  std::int64_t row = 0;
  while (offset(row + 1) - offset(0) <= list) ++row;
  return row;
}

std::int64_t ArrowRows::offset(std::int64_t row) const {
  const unsigned char* const at = offsets_ + row * offset_bytes();
  return wide_ ? load<std::int64_t>(at) : load<std::int32_t>(at);
}

bool ArrowRows::offsets_are_aligned() const {
  return reinterpret_cast<std::uintptr_t>(offsets_) % static_cast<std::uintptr_t>(offset_bytes()) == 0;
}

/// The first that is negative, or smaller than the one before it; behind the last where none is.
std::int64_t ArrowRows::first_wrong_offset() const {
  const auto first = [&]<class I>(I) {
    return first_decrease(reinterpret_cast<const I*>(offsets_), count_ + 1, I{0});
  };
  if (offsets_are_aligned()) return wide_ ? first(std::int64_t{}) : first(std::int32_t{});
  std::int64_t row = 0;
  while (row <= count_ && offset(row) >= (row == 0 ? 0 : offset(row - 1))) ++row;
  return row;
}

void ArrowRows::check_offsets() const {
  const std::int64_t wrong = first_wrong_offset();
  if (wrong != count_ + 1)
    fail(fmt::format("the offset of row {} is {}: negative, or smaller than the one before it", row_ + wrong,
                     offset(wrong)));
}

void ArrowRows::find_components(const ArrowArray& array, std::int64_t first, std::int64_t last,
                                std::int64_t zero, std::int64_t per_row) {
  for (std::size_t c = 0; c < column_.paths.size(); ++c) {
    const ArrowArray* at = &array;
    std::int64_t skipped = 0;  // children of structs begin where these do
    for (const std::int64_t child : column_.paths[c]) {
      check_shape(*at, 1, std::max(at->n_children, child + 1));
      if (last + skipped > at->length)
        fail(fmt::format("{} structs are there, {} are needed", at->length, last));
      skipped += at->offset;
      check_nulls(*at, first + skipped, last - first, per_row);
      at = at->children[child];
    }
    if (!column_.bytes) {  // the bytes of strings have no length of their own
      check_shape(*at, 2, 0);
      if (last + skipped > at->length)
        fail(fmt::format("{} elements are there, {} are needed", at->length, last + skipped));
      skipped += at->offset;
      check_nulls(*at, first + skipped, last - first, per_row);
    }
    if (!at->buffers[column_.bytes ? 2 : 1] && last > first) fail("there are no elements");
    components_.push_back({at, zero + (column_.bytes ? 0 : skipped), column_.info.scalars[c]});
  }
}

std::int64_t ArrowRows::elements(std::int64_t begin, std::int64_t rows) const {
  return offsets_ ? (offset(begin + rows) - offset(begin)) * inner_ : rows * inner_;
}

std::int64_t ArrowRows::bytes(std::int64_t begin, std::int64_t rows) const {
  if (!offsets_) return elements(begin, rows) * element_bytes_;
  const std::int64_t extents = column_.info.ragged() ? 0 : rows * 8;
  return elements(begin, rows) * element_bytes_ + (rows + 1) * offset_bytes() + extents;
}

std::int64_t ArrowRows::to_copy(std::int64_t begin, std::int64_t rows) const {
  std::int64_t bytes = 0;
  if (offsets_ && column_.lists.size() > 1)
    bytes = (rows + 1) * 8;
  else if (offsets_ && !offsets_are_aligned())
    bytes = (rows + 1) * offset_bytes();
  for (const Component& c : components_)
    if (is_copied(c)) bytes += elements(begin, rows) * static_cast<std::int64_t>(size_of(c.type));
  return bytes;
}

const unsigned char* ArrowRows::data_of(const Component& c) const {
  return static_cast<const unsigned char*>(c.array->buffers[column_.bytes ? 2 : 1]);
}
bool ArrowRows::is_copied(const Component& c) const {
  return c.type == ScalarType::boolean || reinterpret_cast<std::uintptr_t>(data_of(c)) % size_of(c.type) != 0;
}

ArrayChunk ArrowRows::chunk(std::int64_t begin, std::int64_t rows, std::int64_t& copied) const {
  ArrayChunk out;
  // Elements that the chunk has, counted as offsets count them.
  const std::int64_t from = offsets_ ? offset(begin) * inner_ : begin * inner_;
  const std::int64_t to = from + elements(begin, rows);
  for (const Component& c : components_) out.data.push_back(component(c, from, to, copied));
  if (!offsets_) return out;
  out.offsets = offsets(begin, rows, copied);
  if (column_.info.ragged()) return out;
  // Lists of lists of none.
  const auto lengths = std::make_shared<std::vector<std::int64_t>>();
  for (std::int64_t i = begin; i < begin + rows; ++i) lengths->push_back(offset(i + 1) - offset(i));
  out.extents.resize(column_.info.extents.size());
  out.extents[0] = {lengths, lengths->data()};
  return out;
}

/// Points at element 0: with offsets, those count from there; without, at the first of the chunk.
std::shared_ptr<const void> ArrowRows::component(const Component& c, std::int64_t begin, std::int64_t end,
                                                 std::int64_t& copied) const {
  const auto width = static_cast<std::int64_t>(size_of(c.type));
  const std::int64_t zero = offsets_ ? 0 : begin;
  const unsigned char* const data = data_of(c);
  if (!is_copied(c)) return {owner_, data ? data + (c.first + zero) * width : nullptr};
  const auto copy = anabranch::detail::allocate_aligned(static_cast<std::size_t>((end - begin) * width));
  auto* bytes = static_cast<unsigned char*>(copy.get());
  if (c.type == ScalarType::boolean)
    for (std::int64_t i = begin; i < end; ++i) bytes[i - begin] = bit(data, c.first + i) ? 1 : 0;
  else if (end > begin)
    std::memcpy(bytes, data + (c.first + begin) * width, static_cast<std::size_t>((end - begin) * width));
  copied += (end - begin) * width;
  return {copy, bytes - (begin - zero) * width};
}

std::shared_ptr<const void> ArrowRows::offsets(std::int64_t begin, std::int64_t rows,
                                               std::int64_t& copied) const {
  if (column_.lists.size() == 1) {
    const unsigned char* const first = offsets_ + begin * offset_bytes();
    if (offsets_are_aligned()) return {owner_, first};
    const std::int64_t bytes = (rows + 1) * offset_bytes();
    const auto copy = anabranch::detail::allocate_aligned(static_cast<std::size_t>(bytes));
    std::memcpy(copy.get(), first, static_cast<std::size_t>(bytes));
    copied += bytes;
    return copy;
  }
  // They count lists, and those of a chunk elements.
  const auto copy = anabranch::detail::allocate_aligned(static_cast<std::size_t>((rows + 1) * 8));
  for (std::int64_t i = 0; i <= rows; ++i)
    static_cast<std::int64_t*>(copy.get())[i] = offset(begin + i) * inner_;
  copied += (rows + 1) * 8;
  return copy;
}

}  // namespace anabranch::io::detail
