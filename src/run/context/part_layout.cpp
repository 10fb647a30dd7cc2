#include "run/context/part_layout.h"

#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "ir/extents.h"

namespace anabranch::runtime {

using plan::PlanExtent;

namespace {

std::shared_ptr<const std::int64_t> shared(std::vector<std::int64_t> numbers) {
  auto owner = std::make_shared<const std::vector<std::int64_t>>(std::move(numbers));
  return {owner, owner->data()};
}

std::vector<std::int64_t> offsets_of(const PartShape::Result& part, std::int64_t items) {
  if (part.extents.size() == 1 && std::ssize(part.extents[0]) == items) {
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(items) + 1);
    std::partial_sum(part.extents[0].begin(), part.extents[0].end(), offsets.begin() + 1);
    return offsets;
  }
  std::vector<std::int64_t> offsets;
  offsets.reserve(static_cast<std::size_t>(items) + 1);
  offsets.push_back(0);
  for (std::int64_t i = 0; i < items; ++i)
    offsets.push_back(offsets.back() + ir::elements_of_item(part.extents, i));
  return offsets;
}

}  // namespace

ArrayInfo info_of(const plan::PlanArray& array, const std::vector<std::int64_t>& uniforms) {
  ArrayInfo info;
  info.scalars = array.type.scalars;
  for (const PlanExtent& extent : array.extents) {
    std::optional<std::int64_t>& known = info.extents.emplace_back();
    if (extent.kind == PlanExtent::Kind::constant) known = extent.value;
    if (extent.kind == PlanExtent::Kind::uniform) known = uniforms[static_cast<std::size_t>(extent.index)];
  }
  return info;
}

void set_shapes(ArrayChunk& array, const ArrayInfo& info, std::int64_t items, const PartShape::Result& part) {
  if (info.regular()) return;
  array.offsets = shared(offsets_of(part, items));
  if (info.ragged()) return;
  array.extents.resize(info.extents.size());
  for (std::size_t d = 0; d < info.extents.size(); ++d) {
    if (info.extents[d]) continue;
    std::vector<std::int64_t> extents = part.extents[d];
    if (extents.size() == 1) extents.assign(static_cast<std::size_t>(items), extents[0]);
    array.extents[d] = shared(std::move(extents));
  }
}

}  // namespace anabranch::runtime
