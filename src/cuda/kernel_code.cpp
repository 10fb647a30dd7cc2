#include "cuda/kernel_code.h"

#include <algorithm>
#include <future>

#include "system/start_async.h"

namespace anabranch::cuda {

KernelCode::KernelCode(std::shared_ptr<Device> device, const kernel::Kernel& kernel)
    : device_(std::move(device)),
      kernel_(kernel),
      in_order_(is_in_order(kernel)),
      loaded_(static_cast<std::size_t>(entry_count(kernel))) {}

bool KernelCode::is_loaded(int entry) {
  const std::lock_guard lock(mutex_);
  return loaded_[static_cast<std::size_t>(entry)] != nullptr;
}

Function KernelCode::function(int entry) {
  const auto e = static_cast<std::size_t>(entry);
  {
    const std::lock_guard lock(mutex_);
    if (loaded_[e]) return loaded_[e]->entries[0];
  }
  // The device compiles each text only once.
  auto made = device_->load(generate(kernel_, entry), kernel_.name);
  const std::lock_guard lock(mutex_);
  loaded_[e] = std::move(made);
  return loaded_[e]->entries[0];
}

int KernelCode::blocks_at_a_time(int entry) {
  const std::lock_guard lock(mutex_);
  const auto& loaded = loaded_[static_cast<std::size_t>(entry)];
  return loaded ? loaded->blocks_at_a_time[0] : 0;
}

bool KernelCode::lacks(const std::vector<int>& entries) {
  return !std::all_of(entries.begin(), entries.end(), [this](int entry) { return is_loaded(entry); });
}

void KernelCode::prepare(const std::vector<int>& entries) {
  std::vector<int> missing;
  for (const int entry : entries)
    if (!is_loaded(entry)) missing.push_back(entry);
  std::vector<std::future<Function>> others;
  for (std::size_t i = 1; i < missing.size(); ++i)
    others.push_back(system::start_async([this, entry = missing[i]] { return function(entry); }));
  if (!missing.empty()) function(missing[0]);
  for (auto& other : others) other.get();
}

}  // namespace anabranch::cuda
