#include "run/collector.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "run/result_sink.h"

namespace anabranch::runtime {

using plan::PlanArray;

ResultCollector::ResultCollector(RunContext& context, const PlanArray& array, ir::Op terminal,
                                 const ResultSize& size, HostArray into)
    : array_(array),
      terminal_(terminal),
      into_(std::move(into)),
      // Memory that is given for items which are trimmed at the end need only hold the trimmed ones.
      directly_(into_ && (terminal == ir::Op::elements || array.form == ir::Form::regular)),
      reservation_(context.budget.reserve("results", size.certain * width_of(array.type))) {
  extents_.resize(array.extents.size());
  if (directly_) {
    check_capacity(*into_, size.certain, *array.node);
    for (const auto& memory : into_->buffers) buffers_.emplace_back(memory);
    return;
  }
  const auto bytes = [](std::int64_t elements, ScalarType s) {
    return static_cast<std::size_t>(elements) * size_of(s) + 64;
  };
  for (ScalarType s : array.type.scalars) {
    try {
      buffers_.emplace_back(context.memory, bytes(std::max(size.certain, size.likely), s));
    } catch (const ResourceError&) {
      if (size.likely <= size.certain) throw;
      buffers_.emplace_back(context.memory, bytes(size.certain, s));
    }
  }
}

std::vector<void*> ResultCollector::room(std::int64_t elements) {
  if (directly_) check_capacity(*into_, elements_ + elements, *array_.node, true);
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
  return terminal_ == ir::Op::tabulate ? finish_tabulate() : array_of({elements_});
}

HostArray ResultCollector::array_of(std::vector<std::int64_t> extents) {
  if (into_) return in_memory_of(*into_, std::move(extents));
  auto array = std::make_shared<detail::ArrayData>();
  array->scalars = array_.type.scalars;
  array->extents = std::move(extents);
  for (GrowingBuffer& b : buffers_) array->buffers.push_back(b.finish());
  return array;
}

// Items were stored compactly, each in its own shape. If all shapes agree that is already the answer.
HostArray ResultCollector::finish_tabulate() {
  std::vector<std::int64_t> extents{items_};
  bool same = true;
  for (const auto& e : extents_) {
    extents.push_back(items_ == 0 ? 0 : *std::min_element(e.begin(), e.end()));
    same =
        same && (items_ == 0 || std::all_of(e.begin(), e.end(), [&](std::int64_t v) { return v == e[0]; }));
  }
  if (same && (!into_ || directly_)) return array_of(std::move(extents));
  const std::vector<std::int64_t> trimmed(extents.begin() + 1, extents.end());
  const std::int64_t size =
      std::accumulate(trimmed.begin(), trimmed.end(), std::int64_t{1}, std::multiplies<>());
  if (into_) {
    check_capacity(*into_, items_ * size, *array_.node);
    reservation_.resize(reservation_.bytes() + items_ * size * width_of(array_.type));
  }
  trim_items(trimmed, size);
  if (!into_) {
    for (std::size_t c = 0; c < buffers_.size(); ++c)
      buffers_[c].cut(static_cast<std::size_t>(items_ * size) * size_of(array_.type.scalars[c]));
    reservation_.resize(items_ * size * width_of(array_.type));
  }
  return array_of(std::move(extents));
}

// Into the memory given for the result, or in place: no element moves to a higher address, and each is read
// before its place is written.
void ResultCollector::trim_items(const std::vector<std::int64_t>& trimmed, std::int64_t size) {
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
