#include "run/sinks/tabulate_sink.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/extents.h"

namespace anabranch::runtime {

namespace {

constexpr std::int64_t items_of_stretch = 1 << 13;
constexpr std::int64_t bytes_of_stretch = std::int64_t{4} << 20;

}  // namespace

// Memory that is given for items which are trimmed need only hold the trimmed ones.
TabulateSink::TabulateSink(const SinkWork& work)
    : Collector(work, work.into && work.array.form == ir::Form::regular) {
  open_.extents.resize(work.array.extents.size());
}

std::vector<void*> TabulateSink::room(std::int64_t elements) {
  const std::int64_t bytes = (this->elements() - closed_elements_) * width_of(array_.type);
  if (open_.items >= items_of_stretch || bytes >= bytes_of_stretch) close();
  return Collector::room(elements);
}

void TabulateSink::commit(std::int64_t items, const PartShape::Result& part) {
  keep(part.elements);
  if (items > 0) add_extents(items, part.extents);
  items_ += items;
}

void TabulateSink::add_extents(std::int64_t items, const std::vector<std::vector<std::int64_t>>& extents) {
  const std::int64_t before = open_.items;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    auto& mine = open_.extents[d];
    const auto& theirs = extents[d];
    const bool one =
        std::all_of(theirs.begin(), theirs.end(), [&](std::int64_t e) { return e == theirs[0]; });
    if (before == 0 && one) {
      mine = {theirs[0]};
      continue;
    }
    if (one && mine.size() == 1 && mine[0] == theirs[0]) continue;
    if (mine.size() == 1 && before != 1) mine.assign(static_cast<std::size_t>(before), mine[0]);
    if (theirs.size() == 1)
      mine.insert(mine.end(), static_cast<std::size_t>(items), theirs[0]);
    else
      mine.insert(mine.end(), theirs.begin(), theirs.end());
  }
  open_.items += items;
}

bool TabulateSink::is_trimmed(const Stretch& stretch) const {
  for (std::size_t d = 0; d < smallest_.size(); ++d)
    for (const std::int64_t extent : stretch.extents[d])
      if (extent != smallest_[d]) return false;
  return true;
}

void TabulateSink::close() {
  if (open_.items == 0) return;
  std::vector<std::int64_t> smallest = smallest_;
  for (std::size_t d = 0; d < open_.extents.size(); ++d) {
    const std::int64_t least = *std::min_element(open_.extents[d].begin(), open_.extents[d].end());
    if (d < smallest_.size())
      smallest[d] = std::min(smallest[d], least);
    else
      smallest.push_back(least);
  }
  Stretch closed{open_.items, {}};
  for (const std::int64_t extent : smallest) closed.extents.push_back({extent});
  closed_.reserve(closed_.size() + 1);
  // From here on nothing fails.
  smallest_.swap(smallest);
  const std::int64_t size = ir::product_of(smallest_), open_from = closed_elements_;
  std::int64_t items = 0;
  for (const Stretch& stretch : closed_) items += stretch.items;
  if (closed_elements_ > 2 * items * size) {  // most of what is held will not stay
    trim_closed(nullptr);
    closed_.erase(closed_.begin() + 1, closed_.end());
    closed_.front().items = items;
    for (std::size_t d = 0; d < smallest_.size(); ++d) closed_.front().extents[d].front() = smallest_[d];
    closed_elements_ = items * size;
  }
  if (open_from != closed_elements_ || !is_trimmed(open_)) trim(open_, open_from, closed_elements_, nullptr);
  closed_elements_ += open_.items * size;
  if (closed_elements_ < elements()) cut(closed_elements_);
  if (!closed_.empty() && is_trimmed(closed_.back()))
    closed_.back().items += open_.items;
  else
    closed_.push_back(std::move(closed));
  open_.items = 0;
  for (auto& each : open_.extents) each.clear();
}

/// All closed stretches, into the smallest shape.
void TabulateSink::trim_closed(const HostArray& into) {
  const std::int64_t size = ir::product_of(smallest_);
  std::int64_t from = 0, to = 0;
  for (const Stretch& stretch : closed_) {
    if (into || from != to || !is_trimmed(stretch)) trim(stretch, from, to, into);
    from += stretch.items * ir::elements_of_item(stretch.extents, 0);
    to += stretch.items * size;
  }
}

HostArray TabulateSink::finish() {
  close();
  std::vector<std::int64_t> extents{items_};
  smallest_.resize(open_.extents.size(), 0);
  extents.insert(extents.end(), smallest_.begin(), smallest_.end());
  const bool same = std::all_of(closed_.begin(), closed_.end(),
                                [this](const Stretch& stretch) { return is_trimmed(stretch); });
  const std::int64_t elements = items_ * ir::product_of(smallest_), bytes = elements * width_of(array_.type);
  if (into_ && !directly_) {
    check_capacity(*into_, elements, *array_.node);
    context_.resize(reservation_, reservation_.bytes() + bytes);
    trim_closed(into_);
    buffers_.clear();
    reservation_.resize(bytes);
  } else if (!same) {
    trim_closed(nullptr);
    cut(elements);
  }
  if (!into_) reservation_.resize(bytes);
  return array_of(std::move(extents));
}

// In place no element moves to a higher address, and each is read before its place is written.
void TabulateSink::trim(const Stretch& stretch, std::int64_t from_element, std::int64_t to_element,
                        const HostArray& into) {
  const std::size_t rank = smallest_.size();
  const std::int64_t row = rank == 0 ? 1 : smallest_.back();
  const std::int64_t rows = row == 0 ? 0 : ir::product_of(smallest_) / row;
  std::vector<std::int64_t> ix(rank, 0);
  for (std::size_t c = 0; c < buffers_.size(); ++c) {
    const std::size_t width = size_of(array_.type.scalars[c]);
    const auto* from = static_cast<const unsigned char*>(buffers_[c].data()) +
                       static_cast<std::size_t>(from_element) * width;
    auto* to = static_cast<unsigned char*>(into ? into->buffers[c].get() : buffers_[c].data()) +
               static_cast<std::size_t>(to_element) * width;
    for (std::int64_t item = 0; item < stretch.items; ++item) {
      for (std::int64_t r = 0; r < rows; ++r) {
        std::int64_t position = 0, rest = r;
        for (std::size_t d = rank == 0 ? 0 : rank - 1; d-- > 0;) {
          ix[d] = rest % smallest_[d];
          rest /= smallest_[d];
        }
        for (std::size_t d = 0; d < rank; ++d)
          position = position * ir::extent_of_item(stretch.extents[d], item) + ix[d];
        std::memmove(to, from + static_cast<std::size_t>(position) * width,
                     static_cast<std::size_t>(row) * width);
        to += static_cast<std::size_t>(row) * width;
      }
      from += static_cast<std::size_t>(ir::elements_of_item(stretch.extents, item)) * width;
    }
  }
}

}  // namespace anabranch::runtime
