#include "cache/kernel_cache.h"

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "cache/entry.h"

namespace anabranch::cache {
namespace {

/// Longer than any writer takes: it was killed.
constexpr std::int64_t abandoned_after = 3600;

bool is_entry(const std::string& name) { return entry_name_at(name) == name.size() && !name.empty(); }

/// All other files in the folder are not the cache's and are left alone.
bool is_ours(const std::string& name) {
  return is_entry(name) || (entry_name_at(name) > 0 && name.ends_with(unfinished));
}

std::vector<PrivateFolder::File> our_files(const PrivateFolder& folder) {
  auto files = folder.files();
  std::erase_if(files, [](const auto& file) { return !is_ours(file.name); });
  return files;
}

std::int64_t bytes_of(const std::vector<PrivateFolder::File>& files) {
  std::int64_t out = 0;
  for (const auto& file : files) out += file.bytes;
  return out;
}

/// Removes what killed writers left, and, where that leaves more than `most` bytes, the least recently used
/// entries until no more than `wanted` are left. Returns the bytes that are left.
std::int64_t evict(const PrivateFolder& folder, std::int64_t most, std::int64_t wanted) {
  auto files = our_files(folder);
  std::int64_t left = bytes_of(files);
  const auto drop = [&](const PrivateFolder::File& file) {
    folder.remove(file.name);
    left -= file.bytes;
    return true;
  };
  const std::int64_t now = std::time(nullptr);
  std::erase_if(files, [&](const auto& file) {
    return !is_entry(file.name) && now - file.used > abandoned_after && drop(file);
  });
  if (left <= most) return left;
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.used < b.used; });
  for (auto oldest = files.begin(); oldest != files.end() && left > wanted; ++oldest) drop(*oldest);
  return left;
}

struct OfProcess {
  std::mutex mutex;
  std::shared_ptr<KernelCache> cache;
};

/// Never destroyed: kernels may be compiled until the process is gone.
OfProcess& of_process() {
  static auto* instance = new OfProcess;
  return *instance;
}

}  // namespace

std::optional<std::string> KernelCache::find(const std::string& key) const {
  if (off()) return std::nullopt;
  std::optional<std::string> bytes = PrivateFolder(settings_.folder).read(entry_name(key));
  if (!bytes) return std::nullopt;
  return decode_entry(std::move(*bytes), key);
}

void KernelCache::store(const std::string& key, const std::string& image) {
  if (off()) return;
  const PrivateFolder folder(settings_.folder);
  const std::string entry = encode_entry(key, image);
  const auto bytes = static_cast<std::int64_t>(entry.size());
  if (!folder.why_not().empty() || bytes > settings_.bound) return;
  make_room(folder, bytes);
  static_cast<void>(folder.write(entry_name(key), entry));
}

void KernelCache::make_room(const PrivateFolder& folder, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  // Evicts more than necessary, so that not every later entry has to make room again.
  if (!held_ || *held_ + bytes > settings_.bound)
    held_ = evict(folder, settings_.bound - bytes, settings_.bound / 8 * 7 - bytes);
  *held_ += bytes;
}

Inventory KernelCache::inventory() const {
  Inventory out;
  out.folder = settings_.folder;
  out.why_not = settings_.why_not;
  out.bound = settings_.bound;
  if (off()) return out;
  const PrivateFolder folder(settings_.folder);
  out.why_not = folder.why_not();
  if (!out.why_not.empty()) return out;
  const auto files = our_files(folder);
  out.bytes = bytes_of(files);
  out.entries =
      std::count_if(files.begin(), files.end(), [](const auto& file) { return is_entry(file.name); });
  const std::string trial = entry_name("a trial") + std::string(unfinished);
  out.why_not_stored = folder.write(trial, std::string(4096, '\0'));
  folder.remove(trial);
  return out;
}

std::shared_ptr<KernelCache> kernel_cache() {
  OfProcess& process = of_process();
  const std::lock_guard lock(process.mutex);
  if (!process.cache) process.cache = std::make_shared<KernelCache>(settings_from_environment());
  return process.cache;
}

void set_kernel_cache(std::shared_ptr<KernelCache> cache) {
  OfProcess& process = of_process();
  const std::lock_guard lock(process.mutex);
  process.cache = std::move(cache);
}

}  // namespace anabranch::cache
