#include "run/sinks/tabulate_sink.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

namespace anabranch::runtime {

// Memory that is given for items which are trimmed at the end need only hold the trimmed ones.
TabulateSink::TabulateSink(const SinkWork& work)
    : Collector(work, work.into && work.array.form == ir::Form::regular),
      extents_(work.array.extents.size()) {}

void TabulateSink::commit(std::int64_t items, const PartShape::Result& part) {
  keep(part.elements);
  if (items > 0) add_extents(items, part.extents);
  items_ += items;
}

void TabulateSink::add_extents(std::int64_t items, const std::vector<std::vector<std::int64_t>>& extents) {
  for (std::size_t d = 0; d < extents_.size(); ++d) {
    auto& mine = extents_[d];
    const auto& theirs = extents[d];
    const bool one =
        std::all_of(theirs.begin(), theirs.end(), [&](std::int64_t e) { return e == theirs[0]; });
    if (items_ == 0 && one) {
      mine = {theirs[0]};
      continue;
    }
    if (one && mine.size() == 1 && mine[0] == theirs[0]) continue;
    if (mine.size() == 1 && items_ != 1) mine.assign(static_cast<std::size_t>(items_), mine[0]);
    if (theirs.size() == 1)
      mine.insert(mine.end(), static_cast<std::size_t>(items), theirs[0]);
    else
      mine.insert(mine.end(), theirs.begin(), theirs.end());
  }
}

// Items were stored compactly, each in its own shape. If all shapes agree that is already the answer.
HostArray TabulateSink::finish() {
  std::vector<std::int64_t> extents{items_};
  bool same = true;
  for (const auto& e : extents_) {
    extents.push_back(items_ == 0 ? 0 : *std::min_element(e.begin(), e.end()));
    same =
        same && (items_ == 0 || std::all_of(e.begin(), e.end(), [&](std::int64_t v) { return v == e[0]; }));
  }
  return same && (!into_ || directly_) ? array_of(std::move(extents)) : finish_trimmed(std::move(extents));
}

HostArray TabulateSink::finish_trimmed(std::vector<std::int64_t> extents) {
  const std::vector<std::int64_t> trimmed(extents.begin() + 1, extents.end());
  const std::int64_t size =
      std::accumulate(trimmed.begin(), trimmed.end(), std::int64_t{1}, std::multiplies<>());
  const std::int64_t bytes = items_ * size * width_of(array_.type);
  if (into_) {
    check_capacity(*into_, items_ * size, *array_.node);
    reservation_.resize(reservation_.bytes() + bytes);
  }
  trim_items(trimmed, size);
  if (!into_) {
    for (std::size_t c = 0; c < buffers_.size(); ++c)
      buffers_[c].cut(static_cast<std::size_t>(items_ * size) * size_of(array_.type.scalars[c]));
    reservation_.resize(bytes);
  }
  return array_of(std::move(extents));
}

// Into the memory given for the result, or in place: no element moves to a higher address, and each is read
// before its place is written.
void TabulateSink::trim_items(std::span<const std::int64_t> trimmed, std::int64_t size) {
  const std::size_t rank = trimmed.size();
  const auto extent = [&](std::size_t d, std::int64_t item) {
    return extents_[d].size() == 1 ? extents_[d][0] : extents_[d][static_cast<std::size_t>(item)];
  };
  const std::int64_t row = trimmed.back();
  const std::int64_t rows = row == 0 ? 0 : size / row;
  std::vector<std::int64_t> ix(rank, 0);
  for (std::size_t c = 0; c < buffers_.size(); ++c) {
    const std::size_t width = size_of(array_.type.scalars[c]);
    const auto* from = static_cast<const unsigned char*>(buffers_[c].data());
    auto* to = static_cast<unsigned char*>(into_ ? into_->buffers[c].get() : buffers_[c].data());
    for (std::int64_t item = 0; item < items_; ++item) {
      std::int64_t elements = 1;
      for (std::size_t d = 0; d < rank; ++d) elements *= extent(d, item);
      for (std::int64_t r = 0; r < rows; ++r) {
        std::int64_t position = 0, rest = r;
        for (std::size_t d = rank - 1; d-- > 0;) {
          ix[d] = rest % trimmed[d];
          rest /= trimmed[d];
        }
        for (std::size_t d = 0; d < rank; ++d) position = position * extent(d, item) + ix[d];
        std::memmove(to, from + static_cast<std::size_t>(position) * width,
                     static_cast<std::size_t>(row) * width);
        to += static_cast<std::size_t>(row) * width;
      }
      from += static_cast<std::size_t>(elements) * width;
    }
  }
}

}  // namespace anabranch::runtime
