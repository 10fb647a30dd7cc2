#include "run/context/item_list.h"

#include <algorithm>
#include <functional>

namespace anabranch::runtime {

HostArray vector(const ir::Scalars& scalars, const std::vector<const void*>& components,
                 std::int64_t elements) {
  auto array = std::make_shared<detail::ArrayData>();
  array->scalars = scalars;
  array->extents = {elements};
  for (const void* component : components)
    array->buffers.emplace_back(std::shared_ptr<void>(), const_cast<void*>(component));
  return array;
}

HostArray scalar(std::int64_t number) {
  HostArray array = detail::allocate_array(ir::Scalars{ScalarType::int64}, {});
  *static_cast<std::int64_t*>(array->buffers[0].get()) = number;
  return array;
}

ItemList::ItemList(const ir::ArrayType& type)
    : type_(type), data_(type.scalars.size()), extents_(static_cast<std::size_t>(type.rank)) {
  for (const ScalarType s : type.scalars) width_ += static_cast<std::int64_t>(size_of(s));
  for (auto& component : data_) component.reserve(64);  // an address also where there is no element
}

std::int64_t ItemList::bytes() const { return elements_ * width_ + items() * 8 * (type_.rank + 1); }

std::int64_t ItemList::append(const std::vector<const void*>& components, const ir::ItemExtents& extents,
                              std::int64_t begin, std::int64_t end, std::int64_t first) {
  std::int64_t added = 0;
  for (std::int64_t i = begin; i < end; ++i) {
    begins_.push_back(elements_ + added);
    for (std::size_t d = 0; d < extents_.size(); ++d)
      extents_[d].push_back(ir::extent_of_item(extents[d], i));
    added += ir::elements_of_item(extents, i);
  }
  for (std::size_t c = 0; c < data_.size(); ++c) {
    const auto width = static_cast<std::int64_t>(size_of(type_.scalars[c]));
    const auto* const from = static_cast<const std::byte*>(components[c]) + first * width;
    data_[c].insert(data_[c].end(), from, from + added * width);
  }
  elements_ += added;
  return first + added;
}

bool ItemList::holds(const detail::ArrayData& array) const {
  const auto lies_in = [](const void* address, const std::vector<std::byte>& data) {
    return std::greater_equal<>()(address, static_cast<const void*>(data.data())) &&
           std::less<>()(address, static_cast<const void*>(data.data() + data.size()));
  };
  return std::any_of(array.buffers.begin(), array.buffers.end(), [&](const auto& buffer) {
    return std::any_of(data_.begin(), data_.end(),
                       [&](const auto& data) { return lies_in(buffer.get(), data); });
  });
}

void ItemList::clear() {
  for (auto& component : data_) component.clear();
  begins_.clear();
  for (auto& each : extents_) each.clear();
  elements_ = 0;
}

std::vector<const void*> ItemList::components() const {
  std::vector<const void*> addresses;
  for (const auto& component : data_) addresses.push_back(component.data());
  return addresses;
}

std::vector<HostArray> ItemList::arguments() const {
  std::vector<HostArray> arguments{scalar(items()), vector(type_.scalars, components(), elements_),
                                   vector({ScalarType::int64}, {begins_.data()}, items())};
  for (const auto& each : extents_) arguments.push_back(vector({ScalarType::int64}, {each.data()}, items()));
  return arguments;
}

}  // namespace anabranch::runtime
