#include "run/memory/residence.h"

#include <algorithm>
#include <utility>

#include <anabranch/device_array.h>

namespace anabranch::detail {

namespace {

/// Without a residence, which would have itself.
ArrayData elements_of(const ArrayData& array) {
  ArrayData out = array;
  out.residence = nullptr;
  return out;
}

}  // namespace

Residence::Residence(const ArrayData& host) : host_(elements_of(host)), copies_(host.scalars.size()) {}

std::shared_ptr<Residence::Copy> Residence::copy(std::size_t component) const {
  const std::lock_guard lock(mutex_);
  return copies_[component];
}

void Residence::keep(std::size_t component, std::shared_ptr<Copy> copy) {
  const std::lock_guard lock(mutex_);
  if (!copies_[component]) copies_[component] = std::move(copy);
}

void Residence::keep_only(std::vector<std::shared_ptr<Copy>> copies) {
  const std::lock_guard lock(mutex_);
  copies_ = std::move(copies);
  only_there_ = true;
}

bool Residence::is_only_there() const {
  const std::lock_guard lock(mutex_);
  return only_there_;
}

bool Residence::is_there() const {
  const std::lock_guard lock(mutex_);
  return std::all_of(copies_.begin(), copies_.end(), [](const auto& copy) { return copy != nullptr; });
}

void Residence::bring_home() {
  const std::lock_guard lock(mutex_);
  if (!only_there_) return;
  for (std::size_t c = 0; c < copies_.size(); ++c) {
    const std::int64_t bytes = host_.size() * static_cast<std::int64_t>(size_of(host_.scalars[c]));
    if (bytes > 0) copies_[c]->download(host_.buffers[c].get(), bytes);
  }
  only_there_ = false;
}

std::shared_ptr<ArrayData> with_residence(const std::shared_ptr<ArrayData>& array) {
  if (!array) throw ProgramError("DeviceArray: an empty handle was given");
  auto out = std::make_shared<ArrayData>(*array);
  out->residence = std::make_shared<Residence>(*array);
  return out;
}

void bring_home(const ArrayData& array) {
  if (array.residence) array.residence->bring_home();
}

std::shared_ptr<ArrayData> host_view(const ArrayData& array) {
  bring_home(array);
  auto out = std::make_shared<ArrayData>(elements_of(array));
  out->writable = false;
  return out;
}

bool is_on_device(const ArrayData& array) { return array.residence && array.residence->is_there(); }

}  // namespace anabranch::detail
