#include "io/npy/fortran_rows.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <anabranch/error.h>

#include <fmt/format.h>

#include "io/base/counted.h"

namespace anabranch::io::detail {

namespace {

// Of a disk, runs of this length cost little more than one long read; shorter ones are worth it up to the least block.
constexpr std::int64_t run_bytes = 64 << 10;
constexpr std::int64_t least_block = 1 << 20;
constexpr std::int64_t runs_ahead = 32;
constexpr double cached_bytes_per_second = 1e9;  // runs from the page cache are faster, from a disk slower

/// Where the run of each position in Fortran order belongs in a row in C order.
std::vector<std::int64_t> positions(const std::vector<std::int64_t>& shape, std::int64_t row_elements) {
  std::vector<std::int64_t> stride(shape.size(), 1), at(shape.size(), 0);
  for (std::size_t d = shape.size() - 1; d-- > 1;) stride[d] = stride[d + 1] * shape[d + 1];
  std::vector<std::int64_t> out(static_cast<std::size_t>(row_elements));
  std::int64_t position = 0;
  for (std::int64_t& place : out) {
    place = position;
    for (std::size_t d = 1; d < shape.size(); ++d) {  // the first of these is the fastest
      position += stride[d];
      if (++at[d] < shape[d]) break;
      position -= at[d] * stride[d];
      at[d] = 0;
    }
  }
  return out;
}

/// Elements of `width` bytes, `count` rows of `from`, in which a run has `run` elements.
template <std::size_t width>
void turn(const unsigned char* from, std::int64_t run, std::int64_t runs, std::int64_t count,
          const std::int64_t* position, unsigned char* to) {
  constexpr std::int64_t tile = 32;
  constexpr auto w = static_cast<std::int64_t>(width);
  for (std::int64_t r0 = 0; r0 < count; r0 += tile)
    for (std::int64_t c0 = 0; c0 < runs; c0 += tile)
      for (std::int64_t r = r0; r < std::min(r0 + tile, count); ++r)
        for (std::int64_t c = c0; c < std::min(c0 + tile, runs); ++c)
          std::memcpy(to + (r * runs + (position ? position[c] : c)) * w, from + (c * run + r) * w, width);
}

}  // namespace

FortranRows::FortranRows(const NpyFile& npy, ScalarType as, std::int64_t memory)
    : elements_(npy.elements(), as),
      file_(npy.file),
      rows_(npy.format.shape[0]),
      row_elements_(rows_ == 0 ? 0 : npy.format.count / rows_) {
  const std::int64_t row_bytes = std::max<std::int64_t>(row_elements_ * elements_.element_bytes(), 1);
  const bool has_positions = npy.format.shape.size() > 2 && row_elements_ > 0;
  constexpr auto position_bytes = static_cast<std::int64_t>(sizeof(position_[0]));
  const std::int64_t room = memory - elements_.resident_bytes();
  // More than there is, where the product would be no number.
  const std::int64_t left = !has_positions                          ? room
                            : row_elements_ > room / position_bytes ? 0
                                                                    : room - row_elements_ * position_bytes;
  most_rows_ = std::min(
      {std::max(run_bytes / elements_.element_bytes(), least_block / row_bytes), left / row_bytes, rows_});
  if (most_rows_ < 1 && rows_ > 0)
    throw ResourceError(fmt::format(
        "{}: a row of {}, which lie apart (Fortran order), needs {} bytes: more than "
        "the {} bytes of memory "
        "for them",
        npy.name(), counted(row_elements_, "element"), row_bytes, std::max<std::int64_t>(left, 0)));
  if (has_positions) position_ = positions(npy.format.shape, row_elements_);
  for (int part = 0; part < elements_.array().parts; ++part)
    block_.emplace_back(static_cast<std::size_t>(most_rows_ * row_elements_) * size_of(as));
}

std::int64_t FortranRows::resident_bytes() const {
  auto bytes = static_cast<std::int64_t>(position_.size() * sizeof(position_[0]));
  for (const auto& part : block_) bytes += static_cast<std::int64_t>(part.size());
  return bytes + elements_.resident_bytes();
}

void FortranRows::read(std::int64_t first, std::int64_t count, const PartBytes& to) {
  if (row_elements_ == 0) return;
  const auto row_bytes = row_elements_ * static_cast<std::int64_t>(size_of(elements_.type()));
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t row = first + done;
    if (row < block_begin_ || row >= block_begin_ + block_rows_) read_block(row);
    const std::int64_t n = std::min(count - done, block_begin_ + block_rows_ - row);
    PartBytes place;
    for (unsigned char* part : to) place.push_back(part + done * row_bytes);
    copy_rows(row, n, place);
    done += n;
  }
}

void FortranRows::read_block(std::int64_t first) {
  block_rows_ = 0;  // should a read fail
  block_begin_ = first;
  const std::int64_t rows = std::min(most_rows_, rows_ - first);
  PartBytes to;
  for (auto& part : block_) to.push_back(part.data());
  if (rows == rows_)
    elements_.read_at(0, rows * row_elements_, to);
  else
    read_runs(rows);
  block_rows_ = rows;
}

/// Runs are far from each other, so the system does not read ahead by itself; asking it to costs much where they are
/// in its cache.
void FortranRows::read_runs(std::int64_t rows) {
  using Clock = std::chrono::steady_clock;
  const auto width = static_cast<std::int64_t>(size_of(elements_.type()));
  const StoredArray& array = elements_.array();
  const std::int64_t bytes = rows * array.element_bytes();
  PartBytes to(block_.size());
  bool cached = true;
  for (std::int64_t run = 0; run < row_elements_; ++run) {
    const std::int64_t ahead = run + runs_ahead;
    if (!cached && ahead < row_elements_)
      file_->prefetch(array.begin + (ahead * rows_ + block_begin_) * array.element_bytes(), bytes);
    for (std::size_t part = 0; part < to.size(); ++part) to[part] = block_[part].data() + run * rows * width;
    const auto before = Clock::now();
    elements_.read_at(run * rows_ + block_begin_, rows, to);
    const std::chrono::duration<double> spent = Clock::now() - before;
    if (run % runs_ahead == 0) cached = static_cast<double>(bytes) > cached_bytes_per_second * spent.count();
  }
}

void FortranRows::copy_rows(std::int64_t first, std::int64_t count, const PartBytes& to) const {
  const std::size_t width = size_of(elements_.type());
  const std::int64_t* position = position_.empty() ? nullptr : position_.data();
  for (std::size_t part = 0; part < to.size(); ++part) {
    const unsigned char* from = block_[part].data() + static_cast<std::size_t>(first - block_begin_) * width;
    const auto rows = [&]<std::size_t bytes>(std::integral_constant<std::size_t, bytes>) {
      turn<bytes>(from, block_rows_, row_elements_, count, position, to[part]);
    };
    if (width == 1)
      rows(std::integral_constant<std::size_t, 1>{});
    else if (width == 2)
      rows(std::integral_constant<std::size_t, 2>{});
    else if (width == 4)
      rows(std::integral_constant<std::size_t, 4>{});
    else
      rows(std::integral_constant<std::size_t, 8>{});
  }
}

}  // namespace anabranch::io::detail
