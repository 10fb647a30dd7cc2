#include "run/collector.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace anabranch {

using plan::PlanArray;

std::int64_t width_of(const ir::ArrayType& type) {
  std::int64_t width = 0;
  for (ScalarType s : type.scalars) width += static_cast<std::int64_t>(size_of(s));
  return width;
}

ResultCollector::ResultCollector(RunContext& context, const PlanArray& array, ir::Op terminal,
                                 std::int64_t expected_elements)
    : array_(array),
      terminal_(terminal),
      reservation_(context.budget.reserve("results", expected_elements * width_of(array.type))) {
  for (ScalarType s : array.type.scalars)
    buffers_.emplace_back(context.pages, static_cast<std::size_t>(expected_elements) * size_of(s) + 64);
  extents_.resize(array.extents.size());
}

std::vector<void*> ResultCollector::room(std::int64_t elements) {
  const std::int64_t bytes = (elements_ + elements) * width_of(array_.type);
  if (bytes > reservation_.bytes()) reservation_.resize(bytes);
  std::vector<void*> addresses;
  for (std::size_t c = 0; c < buffers_.size(); ++c)
    addresses.push_back(
        buffers_[c].room(static_cast<std::size_t>(elements) * size_of(array_.type.scalars[c])));
  return addresses;
}

void ResultCollector::commit(std::int64_t elements) {
  for (std::size_t c = 0; c < buffers_.size(); ++c)
    buffers_[c].commit(static_cast<std::size_t>(elements) * size_of(array_.type.scalars[c]));
  elements_ += elements;
}

void ResultCollector::add_items(std::int64_t items, const std::vector<std::vector<std::int64_t>>& extents) {
  if (terminal_ == ir::Op::tabulate && items > 0) {
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
  items_ += items;
}

HostArray ResultCollector::finish() {
  return terminal_ == ir::Op::tabulate ? finish_tabulate() : finish_elements();
}

HostArray ResultCollector::finish_elements() {
  auto array = std::make_shared<detail::ArrayData>();
  array->scalars = array_.type.scalars;
  array->extents = {elements_};
  for (GrowingBuffer& b : buffers_) array->buffers.push_back(b.finish());
  return array;
}

// Items were stored compactly, each in its own shape. If all shapes agree that is already the answer; else
// every item's rows are copied into the common, smallest shape, once, at the end.
HostArray ResultCollector::finish_tabulate() {
  const std::size_t rank = extents_.size();
  auto array = std::make_shared<detail::ArrayData>();
  array->scalars = array_.type.scalars;
  array->extents = {items_};
  bool same = true;
  for (const auto& e : extents_) {
    array->extents.push_back(items_ == 0 ? 0 : *std::min_element(e.begin(), e.end()));
    same =
        same && (items_ == 0 || std::all_of(e.begin(), e.end(), [&](std::int64_t v) { return v == e[0]; }));
  }
  if (same) {
    for (GrowingBuffer& b : buffers_) array->buffers.push_back(b.finish());
    return array;
  }
  const std::vector<std::int64_t> trimmed(array->extents.begin() + 1, array->extents.end());
  const std::int64_t size =
      std::accumulate(trimmed.begin(), trimmed.end(), std::int64_t{1}, std::multiplies<>());
  reservation_.resize(reservation_.bytes() + items_ * size * width_of(array_.type));
  const auto extent = [&](std::size_t d, std::int64_t item) {
    return extents_[d].size() == 1 ? extents_[d][0] : extents_[d][static_cast<std::size_t>(item)];
  };
  for (std::size_t c = 0; c < buffers_.size(); ++c) {
    const std::size_t width = size_of(array_.type.scalars[c]);
    auto memory = detail::allocate_aligned(static_cast<std::size_t>(items_ * size) * width);
    auto* to = static_cast<unsigned char*>(memory.get());
    const auto* from = static_cast<const unsigned char*>(buffers_[c].data());
    const std::int64_t row = trimmed.back();
    const std::int64_t rows = row == 0 ? 0 : size / row;
    for (std::int64_t item = 0; item < items_; ++item) {
      std::int64_t elements = 1;
      for (std::size_t d = 0; d < rank; ++d) elements *= extent(d, item);
      for (std::int64_t r = 0; r < rows; ++r) {
        std::int64_t position = 0, rest = r;
        std::vector<std::int64_t> ix(rank, 0);
        for (std::size_t d = rank - 1; d-- > 0;) {
          ix[d] = rest % trimmed[d];
          rest /= trimmed[d];
        }
        for (std::size_t d = 0; d < rank; ++d) position = position * extent(d, item) + ix[d];
        std::memcpy(to, from + static_cast<std::size_t>(position) * width,
                    static_cast<std::size_t>(row) * width);
        to += static_cast<std::size_t>(row) * width;
      }
      from += static_cast<std::size_t>(elements) * width;
    }
    array->buffers.push_back(std::move(memory));
  }
  return array;
}

}  // namespace anabranch
